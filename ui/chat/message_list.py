"""The scrolling column of messages.

Only messages within one screen of the view have widgets; the others are heights. The view either
follows the end or is anchored to the message at its top, so that nothing that is measured, built
or streamed elsewhere moves what is being read.
"""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter_ns

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPalette, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QWidget
from typing_extensions import override

from engine.api import LeftOut
from ui.chat.building import Section, build_near, drop_far, soon
from ui.chat.entries import Entries, Entry
from ui.chat.items import (
    answer_in,
    chain_tab_stops,
    drop_item,
    is_end_in,
    make_item,
    show_unshown,
    tint,
)
from ui.chat.message_item import MessageItem
from ui.chat.rows import MessageRow, Reasoning
from ui.i18n import tr
from ui.theme import TEXT_COLUMN_MAX, ThemeSource
from ui.widgets.ringed_area import RingedArea
from ui.widgets.round_button import RoundButton
from ui.widgets.throttle import FRAME_MS, Throttle

_MARGIN = 28
_SIDE_MARGIN = 24
_KEEP_SCREENS = 2


class MessageList(RingedArea):
    """Shows rows; items' wishes are passed on as signals."""

    regenerate_requested = Signal(int)
    edit_requested = Signal(int)
    continue_requested = Signal(int)
    version_requested = Signal(int, int)
    link_requested = Signal(str)
    inspect_requested = Signal(int)
    first_painted = Signal(int, object)
    text_painted = Signal(int, object, object)  # message id, when its newest token was chosen, now

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(look, parent)
        self._look = look
        self._entries = Entries()
        self._follows = True
        self._placing = Section()
        self._is_busy = False
        self._is_tinted = False
        self._are_tabs_chained = False
        self._fresh: dict[int, Entry] = {}  # what has grown since it was shown
        self._last_value = 0
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(tr("Conversation"))
        self.viewport().setBackgroundRole(QPalette.ColorRole.Window)
        self._canvas = QWidget(self.viewport())
        self._canvas.setBackgroundRole(QPalette.ColorRole.Window)
        self._canvas.setAutoFillBackground(True)  # opaque: what was painted moves along with it
        self._canvas.setAttribute(Qt.WidgetAttribute.WA_StaticContents)
        self._to_end = RoundButton(look, tr("To the end"), self)
        self._to_end.clicked.connect(self.go_to_end)
        self._to_end.hide()
        self._shower = Throttle("show-streamed-text", self._show_streamed, FRAME_MS, self)
        self._layout_timer = soon("message-layout", self._lay_out, self)
        self._build_timer = soon("message-build", self._build_more, self)
        self.verticalScrollBar().valueChanged.connect(self._scrolled)
        look.changed.connect(self._rebuild)

    # ------------------------------------------------------------------ content

    @property
    def entries(self) -> Entries:
        """What is shown, for reading."""
        return self._entries

    @property
    def follows_end(self) -> bool:
        """Whether the view stays at the end as text comes."""
        return self._follows

    def set_rows(self, rows: Sequence[MessageRow]) -> None:
        """Show another conversation, at its end."""
        self._shower.cancel()
        self._fresh.clear()
        drop_far(self._entries, range(0), drops_used=True)
        self._entries.set_rows(rows)
        self._follows = True
        self._lay_out()

    def append(self, row: MessageRow) -> None:
        """Add a message at the end and go there."""
        self._entries.append(row)
        self._follows = True
        self._lay_out()

    def replace(self, row: MessageRow) -> None:
        """Show another state or version of a message."""
        entry = self._entries.find(row.message_id)
        if entry is None:
            return
        was_streaming = entry.is_streaming
        entry.unshown.clear()
        entry.set_row(row)
        entry.is_painted = False
        if entry.item is not None and (was_streaming or entry.is_streaming):
            drop_item(entry)
        elif entry.item is not None:
            entry.item.set_row(row)
            self._are_tabs_chained = False
            tint(entry, is_tinted=self._is_tinted)
        self._changed(entry)

    def append_text(
        self,
        message_id: int,
        text: str,
        guessed: Sequence[tuple[int, int]] = (),
        chosen_ns: int = 0,
    ) -> None:
        """Buffer streamed text; it is shown at most thirty times a second."""
        entry = self._entries.find(message_id)
        if entry is not None:
            entry.add(text, guessed, chosen_ns)
            self._fresh[message_id] = entry
            self._shower.call()

    def set_reasoning(self, message_id: int, reasoning: Reasoning) -> None:
        """Show what the model has said to itself so far, at most thirty times a second."""
        entry = self._entries.find(message_id)
        if entry is not None:
            entry.set_reasoning(reasoning)
            self._fresh[message_id] = entry
            self._shower.call()

    def toggle_tint(self) -> None:
        """Tint what was guessed ahead in all answers, or no longer."""
        self._is_tinted = not self._is_tinted
        for entry in self._entries:
            tint(entry, is_tinted=self._is_tinted)

    def set_progress(self, message_id: int, text: str, share: float | None) -> None:
        """Show what a pending answer waits for."""
        entry = self._entries.find(message_id)
        if entry is None or entry.has_fresh_text:
            return
        entry.progress = (text, share)
        if (answer := answer_in(entry)) is not None:
            answer.show_progress(text, share)

    def set_left_out(self, message_id: int, left_out: LeftOut) -> None:
        """Say above a pending answer what of the conversation it does not see."""
        entry = self._entries.find(message_id)
        if entry is None:
            return
        entry.row = replace(entry.row, left_out=left_out)
        if (answer := answer_in(entry)) is not None:
            answer.show_left_out(left_out)
        self._changed(entry)

    def finish(self, row: MessageRow) -> None:
        """End a streamed answer; its text is the row's."""
        self._show_streamed()
        entry = self._entries.find(row.message_id)
        if entry is None:
            return
        shown = entry.text
        entry.set_row(row)
        entry.progress = None
        if (answer := answer_in(entry)) is not None:
            answer.finish(row, shown)
            tint(entry, is_tinted=self._is_tinted)
            self._are_tabs_chained = False
        self._changed(entry)

    def set_busy(self, *, is_busy: bool) -> None:
        """Disable what would start a second answer."""
        self._is_busy = is_busy
        for entry in self._entries:
            if entry.item is not None:
                entry.item.set_busy(is_busy=is_busy)

    def go_to_end(self) -> None:
        """Follow the end from now on."""
        self._follows = True
        self._lay_out()

    def _changed(self, entry: Entry) -> None:
        entry.measured_width = 0
        self._lay_out()

    def _show_streamed(self) -> None:
        fresh, self._fresh = list(self._fresh.values()), {}
        grown = [entry for entry in fresh if show_unshown(entry, is_tinted=self._is_tinted)]
        if not grown:
            return
        # everything is moved before the new text is painted, so that the old need not be
        self._measure_and_place()
        for answer in filter(None, map(answer_in, grown)):
            answer.refresh()
        self._build_timer.start()

    # ------------------------------------------------------------------ layout

    def _column(self) -> QRect:
        # centred on the page, so that a scroll bar does not shift it against the composer
        width = self.width()
        column = min(self._look.px(TEXT_COLUMN_MAX), width - 2 * self._look.px(_SIDE_MARGIN))
        return QRect((width - column) // 2, 0, max(80, column), 0)

    def _lay_out(self) -> None:
        if not self._placing.is_running:
            self._measure_and_place()
            self._build_more()

    def _measure_and_place(self) -> None:
        """Bring heights up to date while the view stays where it is, or at the end."""
        if self._placing.is_running:
            return
        self._layout_timer.stop()
        with self._placing:
            bar = self.verticalScrollBar()
            anchor, offset = self._anchor()
            self._entries.measure(
                self._column().width(), self._look.zoom, keeps_estimates=not self._follows
            )
            margin = self._look.px(_MARGIN)
            height = self._entries.total_height + 2 * margin
            page = self.viewport().height()
            bar.setRange(0, max(0, height - page))
            bar.setPageStep(page)
            bar.setSingleStep(self._look.px(40))
            if self._follows:
                bar.setValue(bar.maximum())
            elif anchor is not None:
                bar.setValue(self._entries.top(anchor) + margin + offset)
            self._last_value = bar.value()
            self._place()

    def _anchor(self) -> tuple[int | None, int]:
        """The message at the top of the view, and how far the view begins below its top."""
        if not len(self._entries):
            return None, 0
        y = self.verticalScrollBar().value() - self._look.px(_MARGIN)
        index = self._entries.at(max(0, y))
        return index, y - self._entries.top(index)

    def _place(self) -> None:
        column = self._column()
        margin = self._look.px(_MARGIN)
        value = self.verticalScrollBar().value()
        height = self._entries.total_height + 2 * margin
        self._canvas.setGeometry(0, -value, self.viewport().width(), height)
        for index, entry in enumerate(self._entries):
            if entry.item is not None:
                top = self._entries.top(index) + margin
                entry.item.setGeometry(column.x(), top, column.width(), entry.height)
                entry.item.set_last(is_last=index == len(self._entries) - 1)
        self._place_to_end()

    def _place_to_end(self) -> None:
        bar = self.verticalScrollBar()
        is_far = not self._follows and bar.maximum() - bar.value() > self._look.px(24)
        self._to_end.setVisible(is_far)
        if is_far:
            self._to_end.stand_in(self.viewport().width(), self.height())

    # ------------------------------------------------------------------ items on demand

    def _wanted(self, screens: int) -> range:
        page = max(1, self.viewport().height())
        value = self.verticalScrollBar().value() - self._look.px(_MARGIN)
        return self._entries.between(value - screens * page, value + (screens + 1) * page)

    def _build_more(self) -> None:
        """Go on with what is missing nearest to the view, as much as fits in one slice."""
        if not self.isVisible() or not len(self._entries):
            return
        drop_far(self._entries, self._wanted(_KEEP_SCREENS))
        visible = self._wanted(0)
        middle = (visible.start + visible.stop - 1) / 2
        with self._placing:
            is_more = build_near(self._entries, self._wanted(1), middle, self._make)
        if is_more:
            self._measure_and_place()
            self._build_timer.start()  # what is missing next depends on the heights just learnt
        elif not self._are_tabs_chained:
            chain_tab_stops(self, self._entries, self._to_end)
            self._are_tabs_chained = True

    def _make(self, entry: Entry) -> None:
        item = make_item(self._look, entry, self._canvas, is_tinted=self._is_tinted)
        item.regenerate.connect(self.regenerate_requested)
        item.edit.connect(self.edit_requested)
        item.continue_answer.connect(self.continue_requested)
        item.show_version.connect(self.version_requested)
        item.link_clicked.connect(self.link_requested)
        item.height_changed.connect(self._item_changed)
        item.selection_changed.connect(self._selection_changed)
        item.painted.connect(self._item_painted)
        if (answer := answer_in(entry)) is not None:
            answer.tint_toggled.connect(self.toggle_tint)
            answer.inspect.connect(self.inspect_requested)
        item.set_busy(is_busy=self._is_busy)
        item.show()
        self._are_tabs_chained = False

    def _rebuild(self) -> None:
        drop_far(self._entries, range(0), drops_used=True)
        for entry in self._entries:
            entry.measured_width = 0
        self._lay_out()

    # ------------------------------------------------------------------ reactions

    def _item_changed(self) -> None:
        item = self.sender()
        entry = self._entries.find(item.row.message_id) if isinstance(item, MessageItem) else None
        if entry is not None and entry.item is item:
            entry.measured_width = 0
        if not self._placing.is_running:
            self._layout_timer.start()

    def _item_painted(self, message_id: int) -> None:
        entry = self._entries.find(message_id)
        if entry is None:
            return
        is_seen = is_end_in(entry, self._canvas.y(), self.viewport().height())
        if is_seen and (chosen_ns := entry.take_paint()):
            self.text_painted.emit(message_id, chosen_ns, perf_counter_ns())
        if not entry.is_streaming or entry.is_painted:
            return
        # what a continued answer began with is not news
        if entry.has_fresh_text:
            entry.is_painted = True
            self.first_painted.emit(message_id, perf_counter_ns())

    def _selection_changed(self) -> None:
        item = self.sender()
        if isinstance(item, MessageItem) and item.has_selection():
            self._follows = False

    def _scrolled(self, value: int) -> None:
        if self._placing.is_running:
            return
        if value < self._last_value:
            self._follows = False
        if value >= self.verticalScrollBar().maximum() - 1:
            self._follows = True
        self._last_value = value
        self._canvas.move(0, -value)
        self._place_to_end()
        self._build_timer.start()

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._canvas.setAutoFillBackground(not self.shows_ring)

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._canvas.setAutoFillBackground(True)

    @override
    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """The canvas is moved by ``_scrolled``."""

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        self._lay_out()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        bar = self.verticalScrollBar()
        if event.key() == Qt.Key.Key_Home:
            bar.setValue(0)
        elif event.key() == Qt.Key.Key_End:
            bar.setValue(bar.maximum())
        else:
            super().keyPressEvent(event)
