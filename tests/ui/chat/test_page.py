import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton

from ui.chat.page import ChatPage
from ui.chat.rows import MessageRow, MessageStatus
from ui.theme import ThemeSource


@pytest.fixture
def page(qtbot):
    page = ChatPage(ThemeSource())
    qtbot.addWidget(page)
    page.resize(800, 700)
    page.show()
    return page


ROWS = [MessageRow(1, "user", "First"), MessageRow(2, "assistant", "Answer")]


def test_sending_clears_box_and_draft(qtbot, page):
    qtbot.keyClicks(page.composer.input, "Hello")
    with qtbot.waitSignals([page.send_requested, page.draft_changed]):
        qtbot.keyClick(page.composer.input, Qt.Key.Key_Return)
    assert page.composer.text() == ""


def test_an_empty_conversation_offers_examples(qtbot, page):
    page.show_conversation([])
    page.set_empty_state("SmolLM2")
    assert page.empty_state.isVisible()
    assert not page.messages.isVisible()
    with qtbot.waitSignal(page.send_requested) as signal:
        qtbot.mouseClick(page.empty_state._examples[0], Qt.MouseButton.LeftButton)
    assert signal.args[0].startswith("Explain")
    page.show_conversation(ROWS)
    assert not page.empty_state.isVisible()


def test_up_recalls_the_last_message_and_enter_replaces_it(qtbot, page):
    page.show_conversation(ROWS)
    qtbot.keyClick(page.composer.input, Qt.Key.Key_Up)
    assert page.composer.text() == "First"
    qtbot.keyClicks(page.composer.input, "!")
    with qtbot.waitSignal(page.edit_requested) as signal:
        qtbot.keyClick(page.composer.input, Qt.Key.Key_Return)
    assert signal.args == [1, "First!"]
    assert page.composer.text() == ""


def test_escape_leaves_an_edit_and_brings_the_draft_back(qtbot, page):
    page.show_conversation(ROWS)
    page.set_draft("half a thought")
    page.messages.edit_requested.emit(1)
    assert page.composer.text() == "First"
    qtbot.keyClick(page.composer.input, Qt.Key.Key_Escape)
    assert page.composer.text() == "half a thought"
    with qtbot.waitSignal(page.send_requested):
        qtbot.keyClick(page.composer.input, Qt.Key.Key_Return)


def test_prefill_is_said_in_tokens_and_seconds(page):
    page.show_conversation(ROWS)
    page.append_message(MessageRow(3, "assistant", "", status=MessageStatus.STREAMING))
    page.set_prefill(3, 1_024, 2_397, 2.2)
    entry = page.messages.entries.find(3)
    assert entry.progress[0] == ("Reading the prompt\u2026 1,024 of 2,397 tokens \u00b7 ~2 s left")
    page.set_prefill(3, 0, 0, None)
    page.set_waiting(3, "Queued")
    assert entry.progress == ("Queued", None)


@pytest.mark.parametrize(
    ("address", "is_passed"),
    [
        ("https://example.org", True),
        ("mailto:a@example.org", True),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)", False),
        ("smb://host/share", False),
    ],
)
def test_only_web_and_mail_addresses_are_passed_on(page, address, is_passed):
    passed = []
    page.link_requested.connect(passed.append)
    page.messages.link_requested.emit(address)
    assert bool(passed) is is_passed


def test_generating_turns_send_into_stop(qtbot, page):
    page.set_generating(True)
    with qtbot.waitSignal(page.stop_requested):
        qtbot.keyClick(page.composer.input, Qt.Key.Key_Escape)
    page.set_generating(False)
    assert not page.composer.send.is_stop


def test_every_control_has_a_name(page):
    page.show_conversation(ROWS)
    for button in page.findChildren(QAbstractButton):
        assert button.accessibleName() or button.text(), button
    assert page.composer.input.accessibleName()


def test_other_conversations_end_an_edit(qtbot, page):
    page.show_conversation(ROWS)
    page.messages.edit_requested.emit(1)
    page.show_conversation([MessageRow(9, "user", "Other")])
    page.set_draft("other draft")
    with qtbot.waitSignal(page.send_requested):
        qtbot.keyClick(page.composer.input, Qt.Key.Key_Return)


def test_without_a_model_the_empty_page_offers_to_choose_one(qtbot, page):
    page.show_conversation([])
    assert page.empty_state._pick.isVisible()
    with qtbot.waitSignal(page.model_wanted):
        qtbot.mouseClick(page.empty_state._pick, Qt.MouseButton.LeftButton)
    with qtbot.waitSignal(page.library_wanted):
        qtbot.mouseClick(page.empty_state._find, Qt.MouseButton.LeftButton)
    page.set_empty_state("SmolLM2")
    assert not page.empty_state._pick.isVisible()
    assert not page.empty_state._find.isVisible()
