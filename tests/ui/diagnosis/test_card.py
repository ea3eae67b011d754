"""The card, filled only while it is seen."""

import pytest
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from engine.api import Diagnosis, DiagnosisKind, Evidence, Remedy, Sentence
from ui.diagnosis.card import CardState, DiagnosisCard, state_of, waiting_state
from ui.theme import ThemeSource

DIAGNOSIS = Diagnosis(
    DiagnosisKind.DECODE_BOUND,
    Sentence.READING,
    {"share": 0.87},
    Evidence("reading_share", 0.87, "share"),
    (Remedy("weights", "int4", 1.5, 100), Remedy("power", None, 1.1, 10)),
    0.9,
)


@pytest.fixture
def page(qtbot):
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(300, 500)
    QVBoxLayout(made)
    return made


@pytest.fixture
def card(page):
    made = DiagnosisCard(ThemeSource(), page)
    page.layout().addWidget(made)
    return made


def shown(card):
    return [label.text() for label in card.findChildren(QLabel) if label.isVisible()]


def buttons(card):
    return [button for button in card.findChildren(QPushButton) if button.isVisible()]


def test_kind_sentence_number_and_remedies_are_shown(card, page):
    page.show()
    card.set_state(state_of(DIAGNOSIS, (True, False)))
    texts = shown(card)
    assert texts[0] == "Decode-bound"
    assert texts[1].startswith("Each token waits for memory")
    assert "87%" in texts
    assert "INT4 weights\n~1.50 times as fast" in texts
    assert [button.accessibleName() for button in buttons(card)] == ["Try it: INT4 weights"]
    assert card.accessibleName() == "Decode-bound"
    assert "~1.50 times as fast" in card.accessibleDescription()


def test_a_button_says_which_remedy_is_wanted(card, page, qtbot):
    page.show()
    card.set_state(state_of(DIAGNOSIS, (False, True)))
    with qtbot.waitSignal(card.try_requested) as signal:
        buttons(card)[0].click()
    assert signal.args == [1]


def test_what_came_of_one_can_be_undone(card, page, qtbot):
    page.show()
    card.set_state(CardState("Decode-bound", "So.", outcome="It helped.", can_undo=True))
    assert "It helped." in shown(card)
    (undo,) = buttons(card)
    with qtbot.waitSignal(card.undo_requested):
        undo.click()


def test_a_hidden_card_builds_nothing_until_it_is_seen(card, page, monkeypatch):
    built = []
    monkeypatch.setattr(card._sentence, "setText", built.append)
    for share in range(50):
        card.set_state(CardState("Decode-bound", f"{share}%."))
    assert built == []
    page.show()
    assert built == ["49%."]


def test_the_same_state_again_changes_nothing(card, page, monkeypatch):
    page.show()
    card.set_state(waiting_state())
    built = []
    monkeypatch.setattr(card._sentence, "setText", built.append)
    card.set_state(waiting_state())
    assert built == []


def test_a_link_leads_on_where_there_is_more_to_see(page, qtbot):
    card = DiagnosisCard(ThemeSource(), page, has_details=True)
    page.layout().addWidget(card)
    page.show()
    card.set_state(waiting_state())
    (details,) = buttons(card)
    assert details.text() == "Where the time went"
    with qtbot.waitSignal(card.details_requested):
        details.click()


def test_without_a_diagnosis_there_is_no_card(card, page):
    page.show()
    card.set_state(waiting_state())
    assert card.isVisible()
    card.set_state(CardState())
    assert not card.isVisible()


def test_while_it_goes_on_the_heading_says_so():
    assert state_of(DIAGNOSIS, (True, True), is_live=True).title == "Decode-bound (so far)"
