"""An answer on the page: Markdown, what it waits for, how it ended, and what can be done."""

from collections.abc import Sequence
from functools import cached_property
from typing import TypeVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QWidget
from typing_extensions import override

from engine.api import FinishReason, LeftOut
from ui.chat.message_item import ACTIONS_HEIGHT, MessageItem
from ui.chat.quiet_line import QuietLine
from ui.chat.rows import MessageRow, MessageStatus, Reasoning
from ui.chat.states import FailureCard, ProgressLine
from ui.chat.stats_line import (
    describe,
    describe_reuse,
    describe_stages,
    left_out_words,
    reason_words,
    stages,
)
from ui.chat.thought_block import ThoughtBlock
from ui.i18n import tr
from ui.icons import Icon
from ui.richtext.markdown_view import MarkdownView
from ui.theme import ThemeSource, set_look
from ui.widgets.stage_bar import StageBar
from ui.widgets.text_button import TextButton

_BAR_REACH = 5  # a bar so thin is hard to hit
LabelT = TypeVar("LabelT", bound=QLabel)
_CONTINUABLE = {FinishReason.CANCELLED, FinishReason.MAX_TOKENS}


class AssistantItem(MessageItem):
    """Full width; grows while it streams."""

    tint_toggled = Signal()
    inspect = Signal(int)

    def __init__(
        self, look: ThemeSource, row: MessageRow, parent: QWidget, *, is_patient: bool = False
    ) -> None:
        """``is_patient``: the text of a whole answer waits for ``build``."""
        super().__init__(look, row, parent)
        self.body = MarkdownView(look, self)
        self.body.height_changed.connect(self.height_changed)
        self.body.selection_changed.connect(self.selection_changed)
        self.body.link_clicked.connect(self.link_clicked)
        self.body.painted.connect(self._report_paint)
        self.thought: ThoughtBlock | None = None  # made for the first reasoning
        self._has_guessed = bool(row.guessed)
        self._show_row(row)
        if row.status is MessageStatus.STREAMING:
            self.body.append(row.text)
        else:
            self.body.set_text(row.text, is_patient=is_patient)

    @cached_property
    def note(self) -> QLabel:
        """What of the conversation the answer does not see."""
        return self._small_label(QLabel(self))

    @cached_property
    def progress(self) -> ProgressLine:
        """What it waits for."""
        line = ProgressLine(self.look, self)
        line.hide()
        return line

    @cached_property
    def failure(self) -> FailureCard:
        """How it failed."""
        card = FailureCard(self.look, self)
        card.retry.clicked.connect(self._ask_regenerate)
        card.hide()
        return card

    @cached_property
    def _bar(self) -> StageBar:
        bar = StageBar(self.look, self)
        bar.clicked.connect(self._ask_inspect)
        bar.hide()
        return bar

    @cached_property
    def stats(self) -> QuietLine:
        """Its figures, or why it ended."""
        line = self._small_label(QuietLine(self))
        line.clicked.connect(self._ask_inspect)
        return line

    @cached_property
    def _inspect(self) -> TextButton:
        button = self._button(tr("Where the time went"), Icon.STAGES)
        button.clicked.connect(self._ask_inspect)
        return button

    @cached_property
    def _regenerate(self) -> TextButton:
        button = self._button(tr("Regenerate"), Icon.REFRESH)
        button.clicked.connect(self._ask_regenerate)
        return button

    @cached_property
    def _continue(self) -> TextButton:
        button = self._button(tr("Continue"), Icon.PLAY)
        button.clicked.connect(self._ask_continue)
        return button

    @cached_property
    def _guessed(self) -> TextButton:
        button = self._button(tr("Show what was guessed ahead"), Icon.GUESSED)
        button.setToolTip(
            tr(
                "Tints the words that were guessed ahead and found right. Known of answers "
                "written since the chat was opened."
            )
        )
        button.setCheckable(True)
        button.clicked.connect(self.tint_toggled)
        return button

    def _is_shown(self, part: str) -> bool:
        """Whether a part that is made when it is needed is there and shown."""
        made = self.__dict__.get(part)
        return isinstance(made, QWidget) and not made.isHidden()

    @property
    @override
    def is_building(self) -> bool:
        return self.body.is_building

    @override
    def build(self) -> None:
        self.body.build()

    @override
    def set_row(self, row: MessageRow) -> None:
        is_other = row.version != self.row.version or row.text != self.row.text
        self._show_row(row)
        if is_other:
            self.body.set_text(row.text)
        self.height_changed.emit()

    def finish(self, row: MessageRow, shown: str) -> None:
        """End the stream whose text so far is ``shown``."""
        self._show_row(row)
        if row.text.startswith(shown):
            self.body.append(row.text[len(shown) :])
            self.body.finish()
        else:
            self.body.set_text(row.text)
        self.height_changed.emit()

    def append(self, text: str) -> None:
        """Add streamed text, to be painted by ``refresh``; waiting ends with the first of it."""
        self._hide_progress()
        self.body.append(text, is_quiet=True)

    def refresh(self) -> None:
        """Paint what was added, where the page now has it."""
        self.body.refresh()

    def show_reasoning(self, reasoning: Reasoning, *, is_live: bool) -> None:
        """Show what the model says to itself; waiting ends with the first of it."""
        self._hide_progress()
        self._thought_block().show_reasoning(reasoning, is_live=is_live)

    def tint(self, text: str, guessed: Sequence[tuple[int, int]], *, is_tinted: bool) -> None:
        """Tint ``guessed`` ranges of ``text``, which is shown, or say only that there are any."""
        if not (guessed or self._has_guessed):
            return
        self._has_guessed = bool(guessed)
        if guessed:
            self._guessed.setChecked(is_tinted)
        self.body.tint(text, guessed if is_tinted else ())
        self.refresh_actions()

    def show_left_out(self, left_out: LeftOut) -> None:
        """Say above the answer what of the conversation it does not see."""
        self._set_note(left_out)
        self.height_changed.emit()

    def show_progress(self, text: str, share: float | None) -> None:
        """Show what the answer waits for."""
        self.progress.show_state(text, share)
        if self.progress.isHidden():
            self.progress.show()
        self.height_changed.emit()

    @override
    def has_selection(self) -> bool:
        thought = self.thought
        return self.body.has_selection() or (thought is not None and thought.has_selection())

    @override
    def tab_stops(self) -> list[QWidget]:
        return [
            *(() if self.thought is None else self.thought.tab_stops()),
            *self.body.tab_stops(),
            *([self.failure.retry] if self._is_shown("failure") else ()),
            *super().tab_stops(),
        ]

    @override
    def shown_actions(self) -> Sequence[TextButton]:
        row = self.row
        if row.status is MessageStatus.STREAMING:
            return ()
        first = [self._copy, self._regenerate, *([self._edit] if row.text else ())]
        for button in first[1:]:
            button.setEnabled(not self._is_busy)
        can_continue = row.status is MessageStatus.PARTIAL or row.reason in _CONTINUABLE
        more = [self._continue] if can_continue else []
        for button in more:
            button.setEnabled(not self._is_busy)
        more += [self._guessed] if self._has_guessed else []
        more += [self._inspect] if row.stats is not None else []
        return (*self.version_actions(), *first, *more)

    @override
    def height_for(self, width: int) -> int:
        look = self.look
        top = 0
        if self._is_shown("note"):
            height = self.note.heightForWidth(width)
            self.note.setGeometry(0, 0, width, height)
            top = height + look.px(8)
        if self.thought is not None and not self.thought.isHidden():
            height = self.thought.height_for(width)
            self.thought.setGeometry(0, top, width, height)
            top += height + look.px(4)
        body = self.body.height_for(width)
        old = self.body.geometry()
        if (old.x(), old.y(), old.width()) == (0, top, width) and old.height() <= body:
            self.body.grow(body)
        else:
            self.body.setGeometry(0, top, width, body)
        y = top + body
        if self._is_shown("progress"):
            y += look.px(8) if y else 0
            self.progress.setGeometry(0, y, width, self.progress.line_height())
            y += self.progress.line_height()
        if self._is_shown("failure"):
            y += look.px(12) if y else 0
            height = self.failure.height_for(width)
            self.failure.setGeometry(0, y, width, height)
            y += height
        if self._is_shown("_bar"):
            y += look.px(16)
            hint, reach = self._bar.sizeHint(), look.px(_BAR_REACH)
            high = hint.height() + 2 * reach
            self._bar.setGeometry(0, y - reach, min(width, hint.width()), high)
            y += hint.height()
        if self._is_shown("stats"):
            y += look.px(6)
            height = self.stats.heightForWidth(width)
            self.stats.setGeometry(0, y, width, height)
            y += height
        self.place_actions(-look.px(6), y + look.px(2))
        return y + look.px(ACTIONS_HEIGHT + 14)

    def _show_row(self, row: MessageRow) -> None:
        self.row = row
        self._show_stats(row)
        self._set_note(row.left_out)
        is_live = row.status is MessageStatus.STREAMING and not row.text
        if row.reasoning is not None or self.thought is not None:
            self._thought_block().show_reasoning(row.reasoning, is_live=is_live)
        if row.failure is not None or self._is_shown("failure"):
            self.failure.set_sentence(row.failure or "")
            self.failure.setVisible(row.failure is not None)
        if row.status is not MessageStatus.STREAMING:
            self._hide_progress()
        self.refresh_actions()

    def _show_stats(self, row: MessageRow) -> None:
        stats = row.stats
        words = reuse = ""
        if stats is not None:
            self._bar.set_stages(stages(stats.timeline), describe_stages(stats.timeline))
            words = describe(stats)
            reuse = describe_reuse(stats.timeline)
        elif row.reason is not None and row.failure is None:  # the card says it
            words = reason_words(row.reason)
        if row.status is MessageStatus.PARTIAL:
            words = tr("Cut off when the app closed")
        if stats is not None or self._is_shown("_bar"):
            self._bar.setVisible(stats is not None)
        if words or self._is_shown("stats"):
            self.stats.setText(words)
            self.stats.setVisible(bool(words))
            self.stats.setToolTip(reuse)
            self.stats.setAccessibleDescription(reuse)
            self.stats.set_clickable(is_clickable=stats is not None)

    def _hide_progress(self) -> None:
        if self._is_shown("progress"):
            self.progress.hide()

    def _thought_block(self) -> ThoughtBlock:
        if self.thought is None:
            self.thought = ThoughtBlock(self.look, self)
            self.thought.height_changed.connect(self.height_changed)
            self.thought.selection_changed.connect(self.selection_changed)
            self.thought.painted.connect(self._report_paint)
        return self.thought

    @property
    def is_reasoning_open(self) -> bool:
        """Whether the text of the reasoning is shown."""
        return self.thought is not None and self.thought.is_open

    def open_reasoning(self) -> None:
        """Show the text of the reasoning, if there is one."""
        if self.thought is not None:
            self.thought.set_open(is_open=True)

    def _set_note(self, left_out: LeftOut | None) -> None:
        if left_out is not None or self._is_shown("note"):
            self.note.setText("" if left_out is None else left_out_words(left_out))
            self.note.setVisible(left_out is not None)

    def _small_label(self, label: LabelT) -> LabelT:
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_look(label, "small")
        label.hide()
        return label

    def _report_paint(self) -> None:
        self.painted.emit(self.row.message_id)

    def _ask_inspect(self) -> None:
        if self.row.stats is not None:
            self.inspect.emit(self.row.message_id)

    def _ask_regenerate(self) -> None:
        self.regenerate.emit(self.row.message_id)

    def _ask_continue(self) -> None:
        self.continue_answer.emit(self.row.message_id)
