"""Has the model looked into at the length of the answer that is looked at."""

from PySide6.QtCore import QObject, Slot

from app.bridge import EngineBridge
from app.controllers.inspector.inspected import InspectedAnswer
from app.controllers.model import ModelController
from engine.api import ModelProfiled
from ui.inspector.answer.profile import ProfileSection


class ModelProfileController(QObject):
    """One profile at a time; it belongs to the answer it was asked for."""

    def __init__(
        self,
        section: ProfileSection,
        inspected: InspectedAnswer,
        model: ModelController,
        bridge: EngineBridge,
    ) -> None:
        super().__init__(section)
        self._section = section
        self._inspected = inspected
        self._model = model
        self._bridge = bridge
        self._ticket: int | None = None
        self._message_id: int | None = None
        section.wanted.connect(self._on_wanted)
        inspected.changed.connect(self._on_inspected)
        model.changed.connect(self._show_possible)
        bridge.model_profiled.connect(self._on_profiled)
        self._on_inspected()
        self._show_possible()

    @Slot()
    def _show_possible(self) -> None:
        self._section.set_possible(
            is_possible=self._model.info is not None and self._ticket is None
        )

    @Slot()
    def _on_inspected(self) -> None:
        message = self._inspected.message
        message_id = None if message is None else message.message_id
        if message_id != self._message_id:
            self._message_id = message_id
            self._ticket = None  # what still comes is another answer's
            self._section.clear()
            self._show_possible()

    @Slot()
    def _on_wanted(self) -> None:
        message = self._inspected.message
        if message is None or message.timeline is None or self._model.info is None:
            return
        line = message.timeline
        prompt = max(1, line.num_prompt_tokens)
        self._ticket = self._bridge.profile(prompt + line.num_output_tokens, prompt)
        self._section.show_running()

    @Slot(ModelProfiled)
    def _on_profiled(self, event: ModelProfiled) -> None:
        if event.ticket != self._ticket:
            return
        self._ticket = None
        if event.profile is None:
            self._section.show_problem()
        else:
            self._section.show_profile(event.profile)
        self._show_possible()
