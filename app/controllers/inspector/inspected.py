"""Which answer the inspector looks at, and what the engine reported of it."""

from PySide6.QtCore import QObject, Signal, Slot

from app.bridge import EngineBridge
from app.controllers.chat import ChatController
from app.conversations import ChatMessage
from engine.api import AnswerReport

KEPT = 64


class InspectedAnswer(QObject):
    """The open chat's latest answer, or the one that was chosen in it.

    ``changed``: another answer, or a newer state of it. ``reported``: there is a report of it, or a
    newer one. ``kept``: the same of any answer, by its message.
    """

    changed = Signal()
    reported = Signal(AnswerReport)
    kept = Signal(int)
    opened = Signal()  # a person asked for it: the inspector is wanted on the screen

    def __init__(self, chat: ChatController, bridge: EngineBridge) -> None:
        super().__init__(chat)
        self._chat = chat
        self._chosen: int | None = None
        self._reports: dict[int, AnswerReport] = {}
        bridge.answer_explained.connect(self._on_explained)
        chat.current_changed.connect(self._on_current_changed)
        chat.path_changed.connect(self._on_path_changed)
        chat.answer_begun.connect(self._on_answer_begun)

    @property
    def message(self) -> ChatMessage | None:
        """The answer; None while the chat has none."""
        chat = self._chat.open_chat
        if self._chosen is not None and chat.is_shown(self._chosen):
            return chat.tree[self._chosen]
        return chat.last_answer

    @property
    def is_latest(self) -> bool:
        """Whether the chat's latest answer is looked at, whichever it is."""
        return self._chosen is None or not self._chat.open_chat.is_shown(self._chosen)

    @property
    def report(self) -> AnswerReport | None:
        """What was observed of it, as far as that is known here."""
        message = self.message
        return None if message is None else self.report_of(message.message_id)

    def report_of(self, message_id: int) -> AnswerReport | None:
        """What was observed of any answer, as far as that is known here."""
        return self._reports.get(message_id)

    @property
    def others(self) -> tuple[ChatMessage, ...]:
        """The chat's other answers that have ended, versions among them, the latest first."""
        shown = self.message
        every = self._chat.open_chat.tree.messages.values()
        ended = [message for message in every if message.timeline is not None]
        return tuple(message for message in reversed(ended) if message is not shown)

    @Slot(int)
    def open(self, message_id: int) -> None:
        """Look at an answer of the open chat; the latest one then gives way to the next."""
        latest = self._chat.open_chat.last_answer
        is_latest = latest is not None and latest.message_id == message_id
        self.choose(None if is_latest else message_id)
        self.opened.emit()

    def choose(self, message_id: int | None) -> None:
        """Look at an answer of the open chat; None: always the latest."""
        self._chosen = message_id
        self._tell()

    @Slot(AnswerReport)
    def _on_explained(self, report: AnswerReport) -> None:
        message_id = message_id_of(report.request_id)
        if message_id is not None:
            self.take(message_id, report)

    def take(self, message_id: int, report: AnswerReport) -> None:
        """Keep the newest report of an answer for a while, and tell if that is looked at."""
        self._reports.pop(message_id, None)
        self._reports[message_id] = report
        while len(self._reports) > KEPT:
            del self._reports[next(iter(self._reports))]
        message = self.message
        if message is not None and message.message_id == message_id:
            self.reported.emit(report)
        self.kept.emit(message_id)

    @Slot(object)
    def _on_current_changed(self, _conversation_id: int | None) -> None:
        self._chosen = None
        self._tell()

    @Slot()
    def _on_path_changed(self) -> None:
        self._tell()

    @Slot()
    def _on_answer_begun(self) -> None:
        self._chosen = None  # a new answer is what one wants to see
        self._tell()

    def _tell(self) -> None:
        self.changed.emit()


def message_id_of(request_id: str) -> int | None:
    """The message that a request answers; None for those of experiments."""
    name, _dot, _number = request_id.partition(".")
    return int(name) if name.isdecimal() else None
