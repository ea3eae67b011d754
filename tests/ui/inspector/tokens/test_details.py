"""One token in detail, and going on from another choice."""

import pytest

from tests.helpers.inspected_tokens import some_tokens
from ui.inspector.tokens.branching import Branch
from ui.inspector.tokens.details import TokenDetails
from ui.theme import ThemeSource


@pytest.fixture
def details(qtbot):
    made = TokenDetails(ThemeSource())
    qtbot.addWidget(made)
    qtbot.addWidget(made.footer)
    made.set_tokens(some_tokens(), "Yes, sir")
    return made


def test_without_a_token_it_says_how_to_choose_one(details):
    assert "arrow keys" in details.text
    assert details.footer.isHidden()


def test_a_token_of_the_prompt(details):
    details.show_token(0)
    assert details.text == (
        "<|s|>, special\nid 5 · bytes 3C 7C 73 7C 3E · at byte 0 · chat template"
    )
    assert details.footer.isHidden()
    assert details.choices.isHidden()


def test_a_token_of_the_answer(details):
    details.show_token(4)
    assert "“,”" in details.text
    assert "Probability 25.0% · entropy 3.00 bits" in details.text
    assert not details.choices.isHidden()
    assert not details.go_on.isEnabled()


def test_going_on_from_a_choice(details):
    wanted = []
    details.branch_wanted.connect(wanted.append)
    details.show_token(3)
    details.choices._pick(1)
    assert details.go_on.text() == "Continue from here with this"
    details.go_on.click()
    details.show_token(4)
    details.choices._pick(0)
    assert details.go_on.text() == "End the answer here"
    details.choices.taken.emit()
    assert wanted == [Branch("No", ends=False), Branch("Yes", ends=True)]


def test_why_a_choice_cannot_be_taken(details):
    wanted = []
    details.branch_wanted.connect(wanted.append)
    details.show_token(5)
    details.choices._pick(0)
    assert "part of a character" in details.text
    assert not details.go_on.isEnabled()
    details.choices.taken.emit()
    details.set_busy("Wait.")
    details.show_token(3)
    details.choices._pick(0)
    assert details.text.endswith("Wait.")
    details.choices.taken.emit()
    assert wanted == []
    details.set_busy("")
    assert details.go_on.isEnabled()
