"""The chat page: messages above, composer below, or the empty state of a new conversation.

Knows rows and words; who sends, stores and computes is its controller's business.
"""

from collections.abc import Sequence

from PySide6.QtCore import QRect, Signal
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from engine.api import LeftOut
from ui.chat.composer import Composer
from ui.chat.empty_state import EmptyState
from ui.chat.message_list import MessageList
from ui.chat.rows import MessageRow, Reasoning
from ui.chat.token_count import ContextUse
from ui.i18n import tr
from ui.theme import TEXT_COLUMN_MAX, ThemeSource

_BOTTOM = 10
_SAFE_LINKS = ("http://", "https://", "mailto:")


class ChatPage(QWidget):
    """``first_painted`` carries a message id and ``time.perf_counter_ns()``.

    ``text_painted`` carries a message id, when the newest token that was painted had been chosen,
    and the same clock now; at most once a frame.
    """

    send_requested = Signal(str)
    stop_requested = Signal()
    draft_changed = Signal(str)
    count_requested = Signal(str)
    regenerate_requested = Signal(int)
    edit_requested = Signal(int, str)
    continue_requested = Signal(int)
    version_requested = Signal(int, int)
    link_requested = Signal(str)
    inspect_requested = Signal(int)
    first_painted = Signal(int, object)
    text_painted = Signal(int, object, object)
    model_wanted = Signal()
    library_wanted = Signal()

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._edited_id: int | None = None
        self._draft_before_edit = ""
        self.setBackgroundRole(QPalette.ColorRole.Window)
        self.setAutoFillBackground(True)
        self.messages = MessageList(look, self)
        self.empty_state = EmptyState(look, self)
        self.composer = Composer(look, self)
        self.setFocusProxy(self.composer.input)  # whoever hands the page the focus means it
        self._connect_messages()
        self.empty_state.example_chosen.connect(self.send_requested)
        self.empty_state.model_wanted.connect(self.model_wanted)
        self.empty_state.library_wanted.connect(self.library_wanted)
        composer = self.composer
        composer.submitted.connect(self._submit)
        composer.stop_requested.connect(self.stop_requested)
        composer.draft_changed.connect(self.draft_changed)
        composer.count_requested.connect(self.count_requested)
        composer.edit_wanted.connect(self._edit_last)
        composer.edit_cancelled.connect(self._cancel_edit)
        composer.input.height_changed.connect(self._place)
        look.changed.connect(self._place)
        self._show_emptiness()

    def _connect_messages(self) -> None:
        messages = self.messages
        messages.regenerate_requested.connect(self.regenerate_requested)
        messages.continue_requested.connect(self.continue_requested)
        messages.version_requested.connect(self.version_requested)
        messages.first_painted.connect(self.first_painted)
        messages.text_painted.connect(self.text_painted)
        messages.inspect_requested.connect(self.inspect_requested)
        messages.link_requested.connect(self._pass_link)
        messages.edit_requested.connect(self._begin_edit)

    @property
    def edited_id(self) -> int | None:
        """The message that is being edited; None: a new one is written."""
        return self._edited_id

    # ------------------------------------------------------------------ what the controller calls

    def show_conversation(self, rows: Sequence[MessageRow]) -> None:
        """Show another conversation at its end; an edit under way is dropped."""
        self._end_edit()
        self.messages.set_rows(rows)
        self._show_emptiness()

    def append_message(self, row: MessageRow) -> None:
        """Add a message at the end and go there."""
        self.messages.append(row)
        self._show_emptiness()

    def replace_message(self, row: MessageRow) -> None:
        """Show another state or version of a message."""
        self.messages.replace(row)

    def append_text(
        self,
        message_id: int,
        text: str,
        guessed: Sequence[tuple[int, int]] = (),
        chosen_ns: int = 0,
    ) -> None:
        """Add streamed text, of which ranges were guessed ahead; cheap to call for every token.

        ``chosen_ns``: when its last token was chosen, by ``time.perf_counter_ns()``.
        """
        self.messages.append_text(message_id, text, guessed, chosen_ns)

    def set_reasoning(self, message_id: int, reasoning: Reasoning) -> None:
        """Show what the model has said to itself so far; cheap to call for every token."""
        self.messages.set_reasoning(message_id, reasoning)

    def toggle_tint(self) -> None:
        """Tint what was guessed ahead in the answers, or no longer."""
        self.messages.toggle_tint()

    def set_waiting(self, message_id: int, text: str) -> None:
        """Say what a pending answer waits for ("Queued", "Waiting for the model to load")."""
        self.messages.set_progress(message_id, text, None)

    def set_prefill(
        self, message_id: int, done: int, total: int, seconds_left: float | None
    ) -> None:
        """Show how much of the prompt (tokens) has been read."""
        text = tr(
            "Reading the prompt\u2026 {done} of {total} tokens",
            done=f"{done:,}",
            total=f"{total:,}",
        )
        if seconds_left is not None and seconds_left >= 0.5:
            text += " \u00b7 " + tr("~{seconds} s left", seconds=f"{seconds_left:,.0f}")
        self.messages.set_progress(message_id, text, done / total if total else 0.0)

    def set_left_out(self, message_id: int, left_out: LeftOut) -> None:
        """Say above a pending answer what of the conversation it does not see."""
        self.messages.set_left_out(message_id, left_out)

    def finish_message(self, row: MessageRow) -> None:
        """End a streamed answer: its final text, figures and state."""
        self.messages.finish(row)

    def set_generating(self, is_generating: bool) -> None:  # noqa: FBT001 - a state, set as one
        """While an answer is computed Send is Stop, and no second answer can be asked for."""
        self.composer.set_generating(is_generating=is_generating)
        self.messages.set_busy(is_busy=is_generating)

    def set_composer_enabled(self, enabled: bool, placeholder: str = "") -> None:  # noqa: FBT001 - as above
        """Allow writing; an empty placeholder is the usual one."""
        self.composer.set_enabled(is_enabled=enabled, placeholder=placeholder)

    def set_draft(self, text: str) -> None:
        """Show the draft of the conversation."""
        self._end_edit()
        self.composer.set_text(text)

    def set_token_count(self, count: int | None, use: ContextUse) -> None:
        """Show the length of the draft (None: estimate it) against the context."""
        self.composer.set_count(count, use)

    def focus_composer(self) -> None:
        """Put the keyboard into the text field."""
        self.composer.input.setFocus()

    def set_empty_state(self, model_name: str) -> None:
        """Name the model on the page of a new conversation; empty: none is loaded."""
        self.empty_state.set_model(model_name)

    # ------------------------------------------------------------------ reactions

    def _submit(self, text: str) -> None:
        if self._edited_id is not None:
            edited = self._edited_id
            self._end_edit()
            self.composer.set_text(self._draft_before_edit)
            self.edit_requested.emit(edited, text)
        else:
            self.composer.set_text("")
            self.draft_changed.emit("")
            self.send_requested.emit(text)

    def _edit_last(self) -> None:
        for entry in reversed(list(self.messages.entries)):
            if entry.row.role == "user":
                self._begin_edit(entry.row.message_id)
                return

    def _begin_edit(self, message_id: int) -> None:
        entry = self.messages.entries.find(message_id)
        if entry is None:
            return
        if self._edited_id is None:
            self.composer.flush_draft()
            self._draft_before_edit = self.composer.text()
        self._edited_id = message_id
        self.composer.set_editing(is_editing=True)
        self.composer.set_text(entry.text)
        self._place()
        self.focus_composer()

    def _cancel_edit(self) -> None:
        self._end_edit()
        self.composer.set_text(self._draft_before_edit)
        self.focus_composer()

    def _end_edit(self) -> None:
        self._edited_id = None
        self.composer.set_editing(is_editing=False)
        self._place()

    def _pass_link(self, address: str) -> None:
        if address.lower().startswith(_SAFE_LINKS):
            self.link_requested.emit(address)

    # ------------------------------------------------------------------ layout

    def _show_emptiness(self) -> None:
        is_empty = not len(self.messages.entries)
        self.empty_state.setVisible(is_empty)
        self.messages.setVisible(not is_empty)

    def _place(self) -> None:
        look, composer = self._look, self.composer
        edge = composer.side_margin
        room = self.width() - 2 * look.px(24)
        column = min(look.px(TEXT_COLUMN_MAX), room) + 2 * edge
        height = composer.sizeHint().height()
        top = self.height() - height - look.px(_BOTTOM)
        composer.setGeometry((self.width() - column) // 2, top, column, height)
        # nothing covers the list: what it has painted can then be moved as it is
        above = QRect(0, 0, self.width(), max(0, top))
        self.messages.setGeometry(above)
        self.empty_state.setGeometry(above)
        composer.raise_()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()
