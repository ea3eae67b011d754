"""Reports of answers on disk: written when an answer ends, read when an old one is looked at."""

import logging
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.controllers.inspector.inspected import InspectedAnswer, message_id_of
from app.controllers.services import Services
from engine.api import AnswerReport
from ui.chat.rows import MessageStatus

logger = logging.getLogger(__name__)


class KeptReports(QObject):
    """An answer whose report is not there stays without one; nothing is said of it."""

    def __init__(self, inspected: InspectedAnswer, services: Services) -> None:
        super().__init__(inspected)
        self._inspected = inspected
        self._store = services.store
        self._tasks = services.tasks
        self._looked_for: set[int] = set()  # under way, or not there
        services.bridge.answer_explained.connect(self._on_explained)
        inspected.changed.connect(self._on_changed)

    @Slot(AnswerReport)
    def _on_explained(self, report: AnswerReport) -> None:
        message_id = message_id_of(report.request_id)
        if message_id is not None and report.is_complete:
            save = partial(self._store.save_report, message_id, report)
            self._tasks.run(save, on_error=self._on_not_saved)

    @Slot()
    def _on_changed(self) -> None:
        message = self._inspected.message
        if message is None or message.timeline is None:
            return
        message_id = message.message_id
        is_known = self._inspected.report_of(message_id) is not None
        if is_known or message_id in self._looked_for:
            return
        if message.status is not MessageStatus.STREAMING:
            self._looked_for.add(message_id)
            load = partial(self._store.report, message_id)
            done = partial(self._on_loaded, message_id)
            self._tasks.run(load, done, self._on_not_loaded)

    def _on_loaded(self, message_id: int, report: AnswerReport | None) -> None:
        # what the engine reported meanwhile is newer
        if report is not None and self._inspected.report_of(message_id) is None:
            self._looked_for.discard(message_id)
            self._inspected.take(message_id, report)

    def _on_not_saved(self, error: Exception) -> None:
        logger.info("A report was not saved: %s", error)

    def _on_not_loaded(self, error: Exception) -> None:
        logger.info("A report was not loaded: %s", error)
