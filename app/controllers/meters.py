"""The live meters follow the open conversation's latest answer, and the engine's gauges."""

from PySide6.QtCore import QObject, Slot

from app.bridge import EngineBridge
from app.controllers.answers import Answers
from app.controllers.chat import ChatController
from app.controllers.model import ModelController
from app.controllers.rows import num_context_tokens, num_turns
from app.conversations import ChatMessage
from engine.api import EngineStats, PrefillProgress, TokensProduced
from ui.i18n import tr
from ui.meters.live import LiveMeters


class MetersController(QObject):
    """Passes figures on; measures nothing itself."""

    def __init__(
        self,
        meters: LiveMeters,
        chat: ChatController,
        answers: Answers,
        model: ModelController,
        bridge: EngineBridge,
    ) -> None:
        super().__init__(meters)
        self._meters = meters
        self._chat = chat
        self._answers = answers
        self._model = model
        self._counted: frozenset[int] = frozenset()  # chats that were written for by the gauges
        bridge.stats_changed.connect(self._on_stats)
        model.changed.connect(self._on_model_changed)
        chat.current_changed.connect(self._on_current_changed)
        chat.path_changed.connect(self._on_path_changed)
        chat.answer_begun.connect(self._on_answer_begun)
        chat.first_painted.connect(self._on_first_painted)
        answers.prefilled.connect(self._on_prefilled)
        answers.text_arrived.connect(self._on_tokens)
        answers.ended.connect(self._on_measured)
        answers.measured.connect(self._on_measured)

    def _is_shown(self, message_id: int) -> bool:
        answer = self._chat.open_chat.last_answer
        return answer is not None and answer.message_id == message_id

    @Slot(EngineStats)
    def _on_stats(self, stats: EngineStats) -> None:
        # the next ones come after an answer's end: until then these go with the chats of now
        self._counted = self._answers.generating()
        self._tell_counted()
        self._meters.set_stats(stats)

    def _tell_counted(self) -> None:
        is_live = self._chat.open_chat.conversation_id in self._counted
        self._meters.set_counted(len(self._counted), is_live=is_live)

    @Slot()
    def _on_model_changed(self) -> None:
        self._meters.set_model(self._model.info)

    @Slot(object)
    def _on_current_changed(self, _conversation_id: int | None) -> None:
        self._tell_counted()
        answer = self._chat.open_chat.last_answer
        if self._chat.is_generating:
            self._meters.start_answer()
            self._show_first_token()
        else:
            self._meters.set_timeline(None if answer is None else answer.timeline)

    def _show_first_token(self) -> None:
        """One may have come to an answer that streams already."""
        conversation_id = self._chat.open_chat.conversation_id
        live = None if conversation_id is None else self._answers.live_in(conversation_id)
        if live is not None and (timeline := live.timeline) is not None:
            self._meters.set_first_token(timeline)

    @Slot()
    def _on_path_changed(self) -> None:
        path = self._chat.open_chat.path
        self._meters.set_chat_tokens(num_context_tokens(path), num_turns(path))

    @Slot()
    def _on_answer_begun(self) -> None:
        self._meters.start_answer()

    @Slot(int, PrefillProgress, object)
    def _on_prefilled(
        self, message_id: int, event: PrefillProgress, _seconds_left: float | None
    ) -> None:
        if self._is_shown(message_id) and event.computed < event.total:
            words = tr(
                "reading the prompt: {done} of {total} tokens",
                done=f"{event.computed:,}",
                total=f"{event.total:,}",
            )
            self._meters.set_pending(words)

    @Slot(object)
    def _on_first_painted(self, ttft_ns: int) -> None:
        self._meters.set_ttft(ttft_ns)

    @Slot(int, TokensProduced)
    def _on_tokens(self, message_id: int, event: TokensProduced) -> None:
        if not self._is_shown(message_id):
            return
        if event.timeline is not None:
            self._meters.set_first_token(event.timeline)
        self._meters.add_tokens(event)

    @Slot(ChatMessage)
    def _on_measured(self, message: ChatMessage) -> None:
        if self._is_shown(message.message_id):
            self._meters.set_timeline(message.timeline)
