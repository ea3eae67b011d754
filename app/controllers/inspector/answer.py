"""Fills the Answer view with the answer that is looked at, while it is on the screen."""

from collections.abc import Mapping

from PySide6.QtCore import QObject, Slot

from app.bridge import EngineBridge
from app.controllers.inspector.inspected import InspectedAnswer
from app.conversations import ChatMessage, title_from
from engine.api import AnswerReport, TraceExported, TraceFormat
from ui.chat.rows import MessageStatus
from ui.i18n import tr
from ui.inspector.answer.comparing import Looked, comparison
from ui.inspector.answer.view import AnswerView
from ui.inspector.page import InspectorPage
from ui.widgets.units import rate_quantity

NAME = "answer"


class AnswerInspector(QObject):
    """Passes reports on; a hidden view costs nothing."""

    def __init__(
        self,
        view: AnswerView,
        page: InspectorPage,
        inspected: InspectedAnswer,
        bridge: EngineBridge,
    ) -> None:
        super().__init__(view)
        self._view = view
        self._page = page
        self._inspected = inspected
        self._bridge = bridge
        self._exported = ""  # the path that an export is under way to
        self._other: int | None = None  # the message that is compared with
        self._named: dict[int, tuple[ChatMessage, str]] = {}  # the others, each in a row
        page.shown_changed.connect(self._on_shown)
        inspected.changed.connect(self._on_changed)
        inspected.reported.connect(self._on_reported)
        bridge.trace_exported.connect(self._on_exported)
        view.latest_wanted.connect(self._on_latest_wanted)
        view.export.wanted.connect(self._on_export)
        view.compared.chosen.connect(self._on_other)

    @Slot(str)
    def _on_shown(self, _name: str) -> None:
        self._show()

    @Slot()
    def _on_changed(self) -> None:
        self._view.export.show_outcome("", is_problem=False)
        self._show()

    @Slot(AnswerReport)
    def _on_reported(self, _report: AnswerReport) -> None:
        self._show()

    @Slot()
    def _on_latest_wanted(self) -> None:
        self._inspected.choose(None)

    def _show(self) -> None:
        if self._page.shown != NAME:
            return
        message, report = self._inspected.message, self._inspected.report
        if message is not None:
            words = _words_of(message)
            self._view.set_answer(words, is_latest=self._inspected.is_latest)
        if report is not None:
            self._view.show_report(report)
        elif message is not None and message.timeline is not None:
            self._view.show_timeline(message.timeline)
        else:
            self._view.show_nothing()
        self._show_compared()

    def _show_compared(self) -> None:
        message = self._inspected.message
        others = {other.message_id: other for other in self._inspected.others}
        if self._other not in others:
            self._other = None
        self._view.set_others(self._rows(others), self._other)
        mine = None if message is None else self._looked(message)
        theirs = None if self._other is None else self._looked(others[self._other])
        both = None if mine is None or theirs is None else comparison(mine, theirs)
        self._view.compared.show_comparison(both)

    def _rows(self, others: Mapping[int, ChatMessage]) -> list[tuple[int, str]]:
        """Others by their words, which are made once of each state of an answer."""
        named = self._named
        self._named = {
            key: named[key]
            if key in named and named[key][0] is message
            else (message, _row_of(message))
            for key, message in others.items()
        }
        return [(key, words) for key, (_message, words) in self._named.items()]

    def _looked(self, message: ChatMessage) -> Looked | None:
        """What is known of an answer; of one under way the report grows, and the message does not."""
        report = self._inspected.report_of(message.message_id)
        line = message.timeline if report is None else report.timeline
        return None if line is None else Looked(line, report)

    @Slot(object)
    def _on_other(self, message_id: int | None) -> None:
        self._other = message_id
        self._show()

    @Slot(str, TraceFormat)
    def _on_export(self, path: str, form: TraceFormat) -> None:
        if (report := self._inspected.report) is not None:
            self._exported = path
            self._bridge.export_trace(report, path, form)

    @Slot(TraceExported)
    def _on_exported(self, event: TraceExported) -> None:
        if event.path != self._exported:
            return
        self._exported = ""
        if event.problem:
            words = tr(
                "The trace could not be written to {path}; choose another file.", path=event.path
            )
            self._view.export.show_outcome(words, is_problem=True)
        else:
            words = tr("Saved as {path}.", path=event.path)
            self._view.export.show_outcome(words, is_problem=False)


def _row_of(message: ChatMessage) -> str:
    """An answer in a list: its speed, and how it begins."""
    line = message.timeline
    rate = None if line is None else line.decode_tokens_per_s
    words = _words_of(message)
    return words if rate is None else f"{rate_quantity(rate)} \u00b7 {words}"


def _words_of(message: ChatMessage) -> str:
    """An answer by its first words."""
    if not (title := title_from(message.content)):
        if message.status is MessageStatus.STREAMING:
            return tr("The answer in the making")
        return tr("An answer without words")
    return tr("\u201c{words}\u201d", words=title)
