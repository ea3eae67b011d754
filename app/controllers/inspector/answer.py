"""Fills the Answer view with the answer that is looked at, while it is on the screen."""

from PySide6.QtCore import QObject, Slot

from app.controllers.inspector.inspected import InspectedAnswer
from engine.api import AnswerReport
from ui.inspector.answer.view import AnswerView
from ui.inspector.page import InspectorPage

NAME = "answer"


class AnswerInspector(QObject):
    """Passes reports on; a hidden view costs nothing."""

    def __init__(self, view: AnswerView, page: InspectorPage, inspected: InspectedAnswer) -> None:
        super().__init__(view)
        self._view = view
        self._page = page
        self._inspected = inspected
        page.shown_changed.connect(self._on_shown)
        inspected.changed.connect(self._show)
        inspected.reported.connect(self._on_reported)

    @Slot(str)
    def _on_shown(self, _name: str) -> None:
        self._show()

    @Slot(AnswerReport)
    def _on_reported(self, _report: AnswerReport) -> None:
        self._show()

    @Slot()
    def _show(self) -> None:
        if self._page.shown != NAME:
            return
        message, report = self._inspected.message, self._inspected.report
        if report is not None:
            self._view.show_report(report)
        elif message is not None and message.timeline is not None:
            self._view.show_timeline(message.timeline)
        else:
            self._view.show_nothing()
