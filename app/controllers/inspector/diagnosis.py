"""What held an answer up, on two cards: of the latest answer, and of the one that is looked at."""

from dataclasses import replace

from PySide6.QtCore import QObject, Slot

from app.controllers.chat import ChatController
from app.controllers.inspector.inspected import InspectedAnswer
from app.controllers.inspector.remedies import Remedies
from app.controllers.inspector.trials import can_try
from app.conversations import ChatMessage
from engine.api import AnswerReport
from ui.chat.rows import MessageStatus
from ui.diagnosis.card import CardState, DiagnosisCard, state_of, waiting_state


class DiagnosisController(QObject):
    """Keeps the cards at what is known, live and afterwards; the second one may come later."""

    def __init__(
        self,
        live: DiagnosisCard,
        chat: ChatController,
        inspected: InspectedAnswer,
        remedies: Remedies,
    ) -> None:
        super().__init__(inspected)
        self._live = live
        self._chosen: DiagnosisCard | None = None
        self._chat = chat
        self._inspected = inspected
        self._remedies = remedies
        inspected.changed.connect(self._refresh)
        inspected.reported.connect(self._on_reported)
        inspected.kept.connect(self._on_kept)
        remedies.changed.connect(self._refresh)
        live.try_requested.connect(self._on_live_try)
        live.undo_requested.connect(self._on_live_undo)
        live.details_requested.connect(self._on_details)

    def add_chosen(self, card: DiagnosisCard) -> None:
        """Show what held the answer up that is looked at, too."""
        self._chosen = card
        card.try_requested.connect(self._on_chosen_try)
        card.undo_requested.connect(self._on_chosen_undo)
        self._refresh()

    @Slot(AnswerReport)
    def _on_reported(self, _report: AnswerReport) -> None:
        self._refresh()

    @Slot(int)
    def _on_kept(self, message_id: int) -> None:
        latest = self._chat.open_chat.last_answer
        if latest is not None and latest.message_id == message_id:
            self._live.set_state(self._state(latest))

    @Slot()
    def _refresh(self) -> None:
        self._live.set_state(self._state(self._chat.open_chat.last_answer))
        if self._chosen is not None:
            self._chosen.set_state(self._state(self._inspected.message))

    def _state(self, message: ChatMessage | None) -> CardState:
        if message is None:
            return CardState()
        report = self._inspected.report_of(message.message_id)
        is_live = message.status is MessageStatus.STREAMING
        if report is None or (is_live and report.is_complete):  # that is an earlier attempt's
            return waiting_state() if is_live else CardState()
        trial = self._remedies.trial_of(message.message_id)
        shown = report.diagnosis.remedies
        tried = None if trial is None or trial.message_id != message.message_id else trial.remedy
        can = [can_try(remedy) and remedy != tried for remedy in shown]
        state = state_of(report.diagnosis, can, is_live=not report.is_complete)
        if trial is None:
            return state
        outcome, can_undo = self._remedies.outcome(trial), self._remedies.can_undo(trial)
        return replace(state, outcome=outcome, can_undo=can_undo)

    # ------------------------------------------------------------------ what was pressed

    @Slot(int)
    def _on_live_try(self, number: int) -> None:
        self._try(self._chat.open_chat.last_answer, number)

    @Slot(int)
    def _on_chosen_try(self, number: int) -> None:
        self._try(self._inspected.message, number)

    @Slot()
    def _on_live_undo(self) -> None:
        self._undo(self._chat.open_chat.last_answer)

    @Slot()
    def _on_chosen_undo(self) -> None:
        self._undo(self._inspected.message)

    @Slot()
    def _on_details(self) -> None:
        if (latest := self._chat.open_chat.last_answer) is not None:
            self._inspected.open(latest.message_id)

    def _try(self, message: ChatMessage | None, number: int) -> None:
        if message is None:
            return
        report = self._inspected.report_of(message.message_id)
        if report is not None:
            self._remedies.apply(report, number, message)

    def _undo(self, message: ChatMessage | None) -> None:
        if message is not None:
            self._remedies.undo(message.message_id)
