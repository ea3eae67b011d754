"""The tree of messages, and titles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.conversations import TITLE_LENGTH, ChatMessage, MessageTree, title_from


def message(message_id, parent_id):
    role = "user" if parent_id is None or parent_id % 2 == 0 else "assistant"
    return ChatMessage(message_id, 1, parent_id, role, f"text {message_id}")


@pytest.fixture
def tree():
    # 1 - 2 - 3 - 4
    #       - 5 - 6
    pairs = [(1, None), (2, 1), (3, 2), (4, 3), (5, 2), (6, 5)]
    return MessageTree(message(*pair) for pair in pairs)


def test_a_path_goes_from_the_first_message_to_the_leaf(tree):
    assert [m.message_id for m in tree.path(6)] == [1, 2, 5, 6]
    assert tree.path(None) == ()
    assert tree.path(99) == ()


def test_versions_are_siblings_in_order(tree):
    assert tree.versions(5) == (3, 5)
    assert tree.versions(1) == (1,)


def test_the_newest_leaf_follows_the_newest_branch(tree):
    assert tree.newest_leaf(1) == 6
    assert tree.newest_leaf(3) == 4


def test_adding_again_replaces_and_keeps_the_place(tree):
    tree.add(ChatMessage(3, 1, 2, "user", "new words"))
    assert tree[3].content == "new words"
    assert tree.versions(5) == (3, 5)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        ("  \n\n Why is the sky blue? \nTell me.", "Why is the sky blue?"),
        ("word " * 20, "word word word word word word word word…"),
        ("为什么" * 30, ("为什么" * 30)[:TITLE_LENGTH] + "…"),
    ],
)
def test_titles(text, title):
    assert title_from(text) == title


@given(st.text())
def test_a_title_is_one_short_line(text):
    title = title_from(text)
    assert len(title) <= TITLE_LENGTH + 1
    assert len(title.splitlines()) <= 1
