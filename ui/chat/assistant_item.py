"""An answer on the page: Markdown, what it waits for, how it ended, and what can be done."""

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from typing_extensions import override

from engine.api import FinishReason, LeftOut
from ui.chat.message_item import ACTIONS_HEIGHT, MessageItem
from ui.chat.quiet_line import QuietLine
from ui.chat.rows import MessageRow, MessageStatus, Reasoning
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
from ui.icons import Icon, icon_pixmap
from ui.richtext.markdown_view import MarkdownView
from ui.theme import BASE_FONT_PX, RADIUS_CARD, ThemeSource, set_look
from ui.widgets.stage_bar import StageBar
from ui.widgets.text_button import TextButton

_BAR_REACH = 5  # a bar so thin is hard to hit
LabelT = TypeVar("LabelT", bound=QLabel)
_CONTINUABLE = {FinishReason.CANCELLED, FinishReason.MAX_TOKENS}


class ProgressLine(QWidget):
    """What a pending answer waits for, with a bar where the share is known."""

    def __init__(self, look: ThemeSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._text = ""
        self._share: float | None = None

    def show_state(self, text: str, share: float | None) -> None:
        """Show ``text``, and ``share`` (0 to 1) as a bar."""
        self._text, self._share = text, share
        self.setAccessibleName(text)
        self.update()

    def line_height(self) -> int:
        """Height of the line, bar included."""
        return self._look.px(32 if self._share is not None else 22)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(look.font(13))
        painter.setPen(look.color("muted"))
        line = look.px(22)
        painter.drawText(
            QRectF(0, 0, self.width(), line), Qt.AlignmentFlag.AlignVCenter, self._text
        )
        if self._share is not None:
            width, thick = min(look.px(260), self.width()), look.px(4)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(look.color("track"))
            painter.drawRoundedRect(QRectF(0, line + 3, width, thick), thick / 2, thick / 2)
            painter.setBrush(look.color("stage_prefill"))
            done = max(thick, width * min(1.0, self._share))
            painter.drawRoundedRect(QRectF(0, line + 3, done, thick), thick / 2, thick / 2)
        painter.end()


class FailureCard(QWidget):
    """A failure inside the message, with the way on."""

    def __init__(self, look: ThemeSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._sentence = ""
        self._text_rect = QRectF()
        self.retry = QPushButton(tr("Try again"), self)

    def set_sentence(self, sentence: str) -> None:
        """Show the failure's one sentence."""
        self._sentence = sentence
        self.setAccessibleName(sentence)
        self.update()

    def height_for(self, width: int) -> int:
        """Place the sentence and the button; the height needed."""
        look = self._look
        pad, icon = look.px(12), look.px(24)
        button = self.retry.sizeHint()
        room = width - 3 * pad - icon - button.width()
        metrics = QFontMetrics(look.font(BASE_FONT_PX))
        flags = int(Qt.TextFlag.TextWordWrap.value)
        bounds = metrics.boundingRect(0, 0, room, 10_000, flags, self._sentence)
        height = max(bounds.height(), button.height()) + 2 * pad
        self._text_rect = QRectF(pad + icon, pad, room, height - 2 * pad)
        y = (height - button.height()) // 2
        self.retry.setGeometry(width - pad - button.width(), y, button.width(), button.height())
        return height

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        look = self._look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(look.color("danger"), 1))
        painter.setBrush(look.color("surface"))
        radius = look.px(RADIUS_CARD)
        frame = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(frame, radius, radius)
        side = look.px(16)
        pixmap = icon_pixmap(Icon.WARNING, look.color("danger"), side, self.devicePixelRatioF())
        painter.drawPixmap(look.px(12), round((self.height() - side) / 2), pixmap)
        painter.setFont(look.font(BASE_FONT_PX))
        painter.setPen(look.color("text"))
        flags = Qt.TextFlag.TextWordWrap.value | Qt.AlignmentFlag.AlignVCenter.value
        painter.drawText(self._text_rect, flags, self._sentence)
        painter.end()


class AssistantItem(MessageItem):
    """Full width; grows while it streams."""

    tint_toggled = Signal()
    inspect = Signal(int)

    def __init__(self, look: ThemeSource, row: MessageRow, parent: QWidget) -> None:
        super().__init__(look, row, parent)
        self.body = MarkdownView(look, self)
        self.body.height_changed.connect(self.height_changed)
        self.body.selection_changed.connect(self.selection_changed)
        self.body.link_clicked.connect(self.link_clicked)
        self.body.painted.connect(self._report_paint)
        self.note = self._small_label(QLabel(self))
        self.thought: ThoughtBlock | None = None  # made for the first reasoning
        self.progress = ProgressLine(look, self)
        self.progress.hide()
        self.failure = FailureCard(look, self)
        self.failure.retry.clicked.connect(self._ask_regenerate)
        self.failure.hide()
        self._bar = StageBar(look, self)
        self._bar.hide()
        self.stats = self._small_label(QuietLine(self))
        for part in (self._bar, self.stats):
            part.clicked.connect(self._ask_inspect)
        self._inspect = self._button(tr("Where the time went"), Icon.STAGES)
        self._inspect.clicked.connect(self._ask_inspect)
        self._regenerate = self._button(tr("Regenerate"), Icon.REFRESH)
        self._regenerate.clicked.connect(self._ask_regenerate)
        self._continue = self._button(tr("Continue"), Icon.PLAY)
        self._continue.clicked.connect(self._ask_continue)
        self._guessed = self._button(tr("Show what was guessed ahead"), Icon.GUESSED)
        self._guessed.setToolTip(
            tr(
                "Tints the words that were guessed ahead and found right. Known of answers "
                "written since the chat was opened."
            )
        )
        self._guessed.setCheckable(True)
        self._guessed.clicked.connect(self.tint_toggled)
        self._has_guessed = bool(row.guessed)
        self._show_row(row)
        if row.status is MessageStatus.STREAMING:
            self.body.append(row.text)
        else:
            self.body.set_text(row.text)

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
        """Add streamed text; waiting ends with the first of it."""
        if not self.progress.isHidden():
            self.progress.hide()
        self.body.append(text)

    def show_reasoning(self, reasoning: Reasoning, *, is_live: bool) -> None:
        """Show what the model says to itself; waiting ends with the first of it."""
        self.progress.hide()
        self._thought_block().show_reasoning(reasoning, is_live=is_live)

    def tint(self, text: str, guessed: Sequence[tuple[int, int]], *, is_tinted: bool) -> None:
        """Tint ``guessed`` ranges of ``text``, which is shown, or say only that there are any."""
        self._has_guessed = bool(guessed)
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
            self.failure.retry,
            *super().tab_stops(),
        ]

    @override
    def shown_actions(self) -> Sequence[TextButton]:
        row = self.row
        if row.status is MessageStatus.STREAMING:
            return ()
        for button in (self._regenerate, self._continue):
            button.setEnabled(not self._is_busy)
        can_continue = row.status is MessageStatus.PARTIAL or row.reason in _CONTINUABLE
        more = [self._continue] if can_continue else []
        more += [self._guessed] if self._has_guessed else []
        more += [self._inspect] if row.stats is not None else []
        return (*self.version_actions(), self._copy, self._regenerate, *more)

    @override
    def height_for(self, width: int) -> int:
        look = self.look
        top = 0
        if not self.note.isHidden():
            height = self.note.heightForWidth(width)
            self.note.setGeometry(0, 0, width, height)
            top = height + look.px(8)
        if self.thought is not None and not self.thought.isHidden():
            height = self.thought.height_for(width)
            self.thought.setGeometry(0, top, width, height)
            top += height + look.px(4)
        body = self.body.height_for(width)
        self.body.setGeometry(0, top, width, body)
        y = top + body
        if not self.progress.isHidden():
            y += look.px(8) if y else 0
            self.progress.setGeometry(0, y, width, self.progress.line_height())
            y += self.progress.line_height()
        if not self.failure.isHidden():
            y += look.px(12) if y else 0
            height = self.failure.height_for(width)
            self.failure.setGeometry(0, y, width, height)
            y += height
        if not self._bar.isHidden():
            y += look.px(16)
            hint, reach = self._bar.sizeHint(), look.px(_BAR_REACH)
            high = hint.height() + 2 * reach
            self._bar.setGeometry(0, y - reach, min(width, hint.width()), high)
            y += hint.height()
        if not self.stats.isHidden():
            y += look.px(6)
            height = self.stats.heightForWidth(width)
            self.stats.setGeometry(0, y, width, height)
            y += height
        self.place_actions(-look.px(6), y + look.px(2))
        return y + look.px(ACTIONS_HEIGHT + 14)

    def _show_row(self, row: MessageRow) -> None:
        self.row = row
        stats = row.stats
        self._bar.setVisible(stats is not None)
        words = reuse = ""
        if stats is not None:
            self._bar.set_stages(stages(stats.timeline), describe_stages(stats.timeline))
            words = describe(stats)
            reuse = describe_reuse(stats.timeline)
        elif row.reason is not None and row.failure is None:  # the card says it
            words = reason_words(row.reason)
        if row.status is MessageStatus.PARTIAL:
            words = tr("Cut off when the app closed")
        self.stats.setText(words)
        self.stats.setVisible(bool(words))
        self.stats.setToolTip(reuse)
        self.stats.setAccessibleDescription(reuse)
        self.stats.set_clickable(is_clickable=stats is not None)
        self._set_note(row.left_out)
        is_live = row.status is MessageStatus.STREAMING and not row.text
        if row.reasoning is not None or self.thought is not None:
            self._thought_block().show_reasoning(row.reasoning, is_live=is_live)
        self.failure.set_sentence(row.failure or "")
        self.failure.setVisible(row.failure is not None)
        if row.status is not MessageStatus.STREAMING:
            self.progress.hide()
        self.refresh_actions()

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
