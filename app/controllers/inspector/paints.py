"""Tells the engine's inspector when tokens came to the screen."""

from PySide6.QtCore import QObject, QTimer, Slot

from app.bridge import EngineBridge
from app.controllers.answers import Answers
from app.conversations import ChatMessage
from ui.chat.page import ChatPage

SETTLED_MS = 400


class PaintNotes(QObject):
    """An answer's last paints come after its end: then its report is asked for once more."""

    def __init__(self, page: ChatPage, answers: Answers, bridge: EngineBridge) -> None:
        super().__init__(page)
        self._answers = answers
        self._bridge = bridge
        self._ended: set[str] = set()
        self._settled = QTimer(self)
        self._settled.setObjectName("paints-settled")
        self._settled.setSingleShot(True)
        self._settled.setInterval(SETTLED_MS)
        self._settled.timeout.connect(self._on_settled)
        page.text_painted.connect(self._on_painted)
        answers.ended.connect(self._on_ended)

    @Slot(int, object, object)
    def _on_painted(self, message_id: int, chosen_ns: int, painted_ns: int) -> None:
        if (request_id := self._answers.request_of(message_id)) is not None:
            self._bridge.note_paint(request_id, chosen_ns, painted_ns)

    @Slot(ChatMessage)
    def _on_ended(self, message: ChatMessage) -> None:
        if (request_id := self._answers.request_of(message.message_id)) is not None:
            self._ended.add(request_id)
            self._settled.start()

    @Slot()
    def _on_settled(self) -> None:
        for request_id in self._ended:
            self._bridge.explain(request_id)
        self._ended.clear()
