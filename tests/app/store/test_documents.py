"""Conversations as files: all of them comes back, and nothing damaged is believed."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.conversations import ChatMessage, Conversation
from app.store.documents import ChatFileError, from_json, to_json, to_markdown
from app.store.store import Store
from engine.api import FinishReason
from ui.chat.rows import MessageStatus, Reasoning

CHAT = Conversation(7, "Tides", 0.0, active_leaf=4, system_prompt="Be brief.\nBe kind.")
MESSAGES = [
    ChatMessage(1, 7, None, "user", "Why?\n\n`a`"),
    ChatMessage(
        2,
        7,
        1,
        "assistant",
        "The **moon** 月.",
        reason=FinishReason.END_OF_TEXT,
        model="SmolLM2",
        reasoning=Reasoning("hm"),
    ),
    ChatMessage(3, 7, 1, "assistant", "cut", status=MessageStatus.PARTIAL, model="SmolLM2"),
    ChatMessage(4, 7, 2, "user", "And?"),
]


def test_every_version_comes_back():
    ((chat, messages),) = from_json(to_json([(CHAT, MESSAGES)]))
    assert (chat.title, chat.system_prompt, chat.active_leaf) == (
        "Tides",
        "Be brief.\nBe kind.",
        4,
    )
    assert messages == [replace(message, conversation_id=0) for message in MESSAGES]


def test_markdown_holds_what_is_shown():
    assert to_markdown(CHAT, MESSAGES) == (
        "# Tides\n\n> Be brief.\n> Be kind.\n\n**User**\n\nWhy?\n\n`a`\n\n"
        "**Assistant** (SmolLM2)\n\nThe **moon** 月.\n\n**User**\n\nAnd?\n"
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(format="other"),
        lambda d: d.update(version=2),
        lambda d: d.update(chats={}),
        lambda d: d["chats"].append(3),
        lambda d: d["chats"][0].update(messages=[]),
        lambda d: d["chats"][0].update(title=5),
        lambda d: d["chats"][0]["messages"].append("x"),
        lambda d: d["chats"][0]["messages"][0].update(id=True),
        lambda d: d["chats"][0]["messages"][0].pop("id"),
        lambda d: d["chats"][0]["messages"][0].update(parent=4),
        lambda d: d["chats"][0]["messages"][1].update(id=1),
        lambda d: d["chats"][0]["messages"][0].update(role="system"),
        lambda d: d["chats"][0]["messages"][0].update(role=[]),
        lambda d: d["chats"][0]["messages"][0].update(text="\ud800"),
        lambda d: d["chats"][0]["messages"][0].pop("text"),
    ],
)
def test_what_is_damaged_is_refused(change):
    document = json.loads(to_json([(CHAT, MESSAGES)]))
    change(document)
    with pytest.raises(ChatFileError):
        from_json(json.dumps(document))


@given(st.text(max_size=60) | st.just("[" * 100_000))
def test_any_other_text_is_refused(text):
    with pytest.raises(ChatFileError):
        from_json(text)


def test_a_leaf_that_is_nowhere_and_a_missing_title_are_made_good():
    document = json.loads(to_json([(CHAT, MESSAGES)]))
    document["chats"][0].update(shown=99, title="")
    ((chat, _messages),) = from_json(json.dumps(document))
    assert (chat.title, chat.active_leaf) == ("Why?", 4)


def test_a_store_takes_them_under_its_own_ids(tmp_path):
    store = Store(tmp_path / "chats.sqlite3", tmp_path / "backups")
    store.open()
    turn = store.add_turn(None, None, "mine", "m")
    first, second = store.add_conversations([(CHAT, MESSAGES), (CHAT, MESSAGES)])
    assert len({turn.conversation.conversation_id, first, second}) == 3
    conversation, messages = store.conversation(second)
    assert conversation.active_leaf == messages[-1].message_id
    assert [m.content for m in messages] == [m.content for m in MESSAGES]
    assert [m.parent_id for m in messages][1:3] == [messages[0].message_id] * 2
    assert store.search("moon") == [second, first] or set(store.search("moon")) == {first, second}
    store.close()
