"""Applies remedies by one click, takes them back, and measures what they brought."""

from dataclasses import replace

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.answers import Answers
from app.controllers.inspector.trials import (
    Trial,
    can_try,
    measure_of,
    measure_words,
    predicted_gain,
    rate_of,
)
from app.controllers.model import ModelController
from app.controllers.settings import SettingsController
from app.conversations import ChatMessage
from app.settings.declared import FIELDS
from app.settings.values import Settings
from engine.api import AnswerReport
from ui.diagnosis.words import measured_words, remedy_words
from ui.i18n import tr
from ui.settings.fields import SettingValue

KEPT = 32


class Remedies(QObject):
    """``changed``: a remedy was applied, taken back or measured."""

    changed = Signal()

    def __init__(
        self,
        settings: SettingsController,
        values: Settings,
        model: ModelController,
        answers: Answers,
    ) -> None:
        super().__init__(settings)
        self._settings = settings
        self._values = values
        self._model = model
        self._answers = answers
        self._trials: list[Trial] = []
        self._is_reload_due = False  # as soon as no answer is in the making
        answers.ended.connect(self._on_ended)
        answers.generating_changed.connect(self._on_generating_changed)
        model.changed.connect(self.changed)

    # ------------------------------------------------------------------ calls

    def apply(self, report: AnswerReport, number: int, message: ChatMessage) -> None:
        """Do what the remedy at ``number`` of an answer's diagnosis says."""
        diagnosis, line = report.diagnosis, report.timeline
        if not 0 <= number < len(diagnosis.remedies):
            return
        remedy = diagnosis.remedies[number]
        if not can_try(remedy):
            return
        measure = measure_of(diagnosis, remedy, line)
        trial = Trial(
            remedy,
            self._values[remedy.key],
            message.conversation_id,
            message.message_id,
            measure,
            rate_of(measure, line),
            predicted_gain(measure, diagnosis, remedy, line),
        )
        # what is not measured yet would be measured together with this
        self._trials = [t for t in self._trials if t.measured is not None][-KEPT + 1 :]
        self._trials.append(trial)
        self._set(remedy.key, remedy.value)

    def undo(self, message_id: int) -> None:
        """Take the remedy back that is told with an answer."""
        if (trial := self.trial_of(message_id)) is not None:
            self._trials.remove(trial)
            self._set(trial.remedy.key, trial.before)

    # ------------------------------------------------------------------ questions

    def trial_of(self, message_id: int) -> Trial | None:
        """What was tried because of an answer, or measured with it; the latest."""
        told = (t for t in reversed(self._trials) if message_id in {t.message_id, t.measured_id})
        return next(told, None)

    def can_undo(self, trial: Trial) -> bool:
        """Whether the setting is still what the remedy made it."""
        return self._values[trial.remedy.key] == trial.remedy.value

    def outcome(self, trial: Trial) -> str:
        """What was done, and what came of it."""
        name = remedy_words(trial.remedy)
        if trial.measured is not None:
            what = measure_words(trial.measure)
            result = measured_words(what, trial.predicted, trial.measured)
            return tr("{remedy}. {result}", remedy=name, result=result)
        if self._is_reload_due:
            return tr("Set: {remedy}. The model loads again after this answer.", remedy=name)
        if self._model.is_loading:
            return tr("Set: {remedy}. The model loads again…", remedy=name)
        if trial.rate is None:
            return tr("Set: {remedy}.", remedy=name)
        return tr("Set: {remedy}. The next answer in this chat is measured.", remedy=name)

    # ------------------------------------------------------------------ inside

    def _set(self, key: str, value: SettingValue) -> None:
        self._settings.change(key, value)
        if FIELDS[key].applies == "reload":
            self._is_reload_due = True
            self._reload_when_idle()
        self.changed.emit()

    def _reload_when_idle(self) -> None:
        """A reload ends what is in the making: it waits for that."""
        if self._is_reload_due and not self._answers.are_awaited:
            self._is_reload_due = False
            if self._settings.waiting is not None or self._model.is_loading:
                self._model.reload()

    @Slot()
    def _on_generating_changed(self) -> None:
        if self._is_reload_due:
            self._reload_when_idle()
            self.changed.emit()

    @Slot(ChatMessage)
    def _on_ended(self, message: ChatMessage) -> None:
        if message.timeline is None or self._settings.waiting is not None:
            return  # not computed with what was set
        measured = [self._measured(trial, message) for trial in self._trials]
        if measured != self._trials:
            self._trials = measured
            self.changed.emit()

    def _measured(self, trial: Trial, message: ChatMessage) -> Trial:
        line = message.timeline
        is_other = message.conversation_id != trial.conversation_id
        if trial.measured is not None or is_other or line is None or not trial.rate:
            return trial
        rate = rate_of(trial.measure, line)
        if rate is None or not self.can_undo(trial):
            return trial
        return replace(trial, measured_id=message.message_id, measured=rate / trial.rate)
