"""Making, dropping and chaining the widgets of messages that come near the view."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from PySide6.QtWidgets import QApplication, QWidget

from ui.chat.entries import Entry
from ui.chat.message_item import ACTIONS_HEIGHT, MessageItem, UserItem
from ui.theme import ThemeSource

if TYPE_CHECKING:
    from ui.chat.assistant_item import AssistantItem

# an answer of more characters is tinted in steps of so many while it streams
TINT_STEP_FROM = 4_000
TINT_STEP = 256
BELOW_TEXT = ACTIONS_HEIGHT + 14  # room that a message keeps below its text


def make_item(
    look: ThemeSource, entry: Entry, parent: QWidget, *, is_tinted: bool = False
) -> MessageItem:
    """Give the entry its widget, in the state the entry is in; not shown yet.

    The text of a whole answer is left to ``build``.
    """
    entry.measured_width = 0
    if entry.row.role == "user":
        entry.item = UserItem(look, entry.current_row(), parent)
        return entry.item
    from ui.chat.assistant_item import AssistantItem  # noqa: PLC0415 - comes with all of Markdown

    entry.item = answer = AssistantItem(look, entry.current_row(), parent, is_patient=True)
    if entry.progress is not None and not entry.has_fresh_text:
        answer.show_progress(*entry.progress)
    if entry.is_reasoning_open:
        answer.open_reasoning()
    tint(entry, is_tinted=is_tinted)
    return answer


def answer_in(entry: Entry) -> "AssistantItem | None":
    """The entry's widget where it is an answer's."""
    if entry.item is None or entry.row.role == "user":
        return None
    return cast("AssistantItem", entry.item)  # as ``make_item`` made it


def drop_item(entry: Entry) -> None:
    """Take the entry's widget away; its height stays known."""
    if entry.item is not None:
        if (answer := answer_in(entry)) is not None:
            entry.is_reasoning_open = answer.is_reasoning_open
        entry.item.hide()
        entry.item.deleteLater()
        entry.item = None


def show_unshown(entry: Entry, *, is_tinted: bool) -> bool:
    """Show what has come of a streaming answer; False when nothing had."""
    if not entry.has_unshown:
        return False
    fresh = entry.take_unshown()
    entry.has_unshown_reasoning = False
    if (answer := answer_in(entry)) is not None:
        if entry.reasoning is not None:
            answer.show_reasoning(entry.reasoning, is_live=not entry.text)
        if fresh:
            answer.append(fresh)
            if len(entry.text) < TINT_STEP_FROM or _crosses_step(len(entry.text), len(fresh)):
                tint(entry, is_tinted=is_tinted)
    entry.measured_width = 0
    return True


def _crosses_step(length: int, num_fresh: int) -> bool:
    return length // TINT_STEP != (length - num_fresh) // TINT_STEP


def tint(entry: Entry, *, is_tinted: bool) -> None:
    """Tint what was guessed of an answer, or no longer."""
    if (answer := answer_in(entry)) is not None:
        answer.tint(entry.text, tuple(entry.guessed), is_tinted=is_tinted)


def is_in_use(entry: Entry) -> bool:
    """Whether the widget must stay wherever the view is: it grows, is marked or has the focus."""
    item = entry.item
    if item is None:
        return False
    focus = QApplication.focusWidget()
    has_focus = focus is not None and item.isAncestorOf(focus)
    return has_focus or entry.is_streaming or item.has_selection()


def is_end_in(entry: Entry, canvas_y: int, height: int) -> bool:
    """Whether the end of a message's text lies above the lower edge of a view so high.

    ``canvas_y``: where what carries the items lies in the view.
    """
    if entry.item is None:
        return False
    below = entry.item.look.px(BELOW_TEXT)
    return entry.item.geometry().bottom() + canvas_y - below <= height


def chain_tab_stops(first: QWidget, entries: Iterable[Entry], last: QWidget) -> None:
    """Let Tab follow the page, whatever the order in which items were made."""
    before = first
    for entry in entries:
        for stop in entry.item.tab_stops() if entry.item is not None else ():
            QWidget.setTabOrder(before, stop)
            before = stop
    QWidget.setTabOrder(before, last)
