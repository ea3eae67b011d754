"""Lets other programs on this computer ask the loaded model, while the settings want that.

Lives in the GUI thread, as the bridge does. What the server's threads ask arrives by queued signals.
"""

import logging
import secrets
import threading
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.controllers.answers import Answers
from app.controllers.failures import words_for
from app.controllers.model import ModelController
from app.controllers.services import Services
from app.controllers.settings import SettingsController
from app.serving.replies import Done, Piece, Refused
from engine.api import Finished, GenerationRequest, RequestFailed, TokensProduced
from ui.i18n import tr
from ui.settings.panel import SettingsPanel

if TYPE_CHECKING:
    from app.serving.http import LocalHttpServer, Reply

END_TIMEOUT_S = 2.0
KEY_BYTES = 18
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """How the server shall run."""

    port: int
    key: str


class LocalServer(QObject):
    """Off unless switched on. A chat in the window goes before its answers.

    ``answers`` hears how many there are.
    """

    notice = Signal(str)
    _begun = Signal(object)  # a Reply
    _given_up = Signal(object)

    def __init__(
        self,
        panel: SettingsPanel,
        changes: SettingsController,
        model: ModelController,
        answers: Answers,
        services: Services,
    ) -> None:
        super().__init__(panel)
        self._changes = changes
        self._settings = services.settings
        self._model = model
        self._answers = answers
        self._bridge = bridge = services.bridge
        self._server: LocalHttpServer | None = None
        self._running: _Wanted | None = None
        self._ending: list[threading.Thread] = []
        self._name: str | None = None  # read by the server's threads
        self._replies: dict[str, Reply] = {}
        self._count = 0
        queued = Qt.ConnectionType.QueuedConnection
        self._begun.connect(self._on_begun, queued)
        self._given_up.connect(self._on_given_up, queued)
        bridge.tokens_produced.connect(self._on_tokens)
        bridge.finished.connect(self._on_finished)
        bridge.failed.connect(self._on_failed)
        model.changed.connect(self._on_model_changed)
        panel.changed.connect(self._on_setting)
        changes.changed.connect(self.refresh)

    @property
    def port(self) -> int | None:
        """Where it listens; None: it does not."""
        return None if self._server is None else self._server.port

    # ------------------------------------------------------------------ life

    @Slot()
    def refresh(self) -> None:
        """Run as the settings say by now."""
        settings = self._settings
        wanted = None
        if settings.flag("serve"):
            wanted = _Wanted(settings.whole("serve_port") or 0, settings.text("serve_key"))
        if wanted == self._running:
            return
        self._end()
        self._running = wanted
        if wanted is None:
            return
        if not wanted.key:
            # which comes back here, with the key
            self._changes.change("serve_key", secrets.token_urlsafe(KEY_BYTES))
            self.refresh()
            return
        from app.serving.http import LocalHttpServer  # noqa: PLC0415 - most starts serve nobody

        try:
            self._server = LocalHttpServer(wanted.port, wanted.key, self)
        except OSError as error:
            reason = error.strerror or str(error)
            self.notice.emit(
                tr(
                    "Other programs cannot be served at port {port} ({reason}). Choose another "
                    "port in the settings.",
                    port=wanted.port,
                    reason=reason,
                )
            )
            return
        logger.info("Serving at port %d", self._server.port)

    @Slot(str)
    def _on_setting(self, key: str) -> None:
        """Follow a change, and say where other programs reach the model, and with which key."""
        self.refresh()
        is_meant = key in {"serve", "serve_port", "serve_key"}
        if is_meant and self._server is not None and self._running is not None:
            address = f"http://{self._server.host}:{self._server.port}/v1"
            self.notice.emit(
                tr(
                    "Other programs on this computer reach the model at {address} with the key "
                    "{key}",
                    address=address,
                    key=self._running.key,
                )
            )

    @Slot()
    def close(self) -> None:
        """End with the window."""
        self._end()
        for thread in self._ending:
            thread.join(END_TIMEOUT_S)
        self._ending.clear()

    def _end(self) -> None:
        server, self._server, self._running = self._server, None, None
        for request_id, reply in list(self._replies.items()):
            self._bridge.cancel(request_id)
            reply.news.put(Refused("The server was switched off.", "model_not_loaded"))
        self._replies.clear()
        self._answers.set_served(0)
        if server is not None:
            ending = threading.Thread(target=server.end, name="local-server-end", daemon=True)
            ending.start()  # it waits for the server's thread
            self._ending = [thread for thread in self._ending if thread.is_alive()] + [ending]

    # ------------------------------------------------------------------ from the server's threads

    def model_name(self) -> str | None:
        """The model that answers now."""
        return self._name

    def begin(self, reply: "Reply") -> None:
        """Answer a client."""
        self._begun.emit(reply)

    def give_up(self, reply: "Reply") -> None:
        """A client has gone."""
        self._given_up.emit(reply)

    # ------------------------------------------------------------------ in the GUI thread

    @Slot(object)
    def _on_begun(self, reply: "Reply") -> None:
        if self._server is None:
            reply.news.put(Refused("The server was switched off.", "model_not_loaded"))
            return
        self._count += 1
        request_id = f"served.{self._count}"
        self._replies[request_id] = reply
        self._answers.set_served(len(self._replies))
        self._bridge.submit(
            GenerationRequest(
                request_id,
                sent_ns=perf_counter_ns(),
                params=reply.asked.params(self._settings.sampling_params()),
                messages=reply.asked.messages,
                prompt=reply.asked.prompt,
            )
        )

    @Slot(object)
    def _on_given_up(self, reply: "Reply") -> None:
        for request_id, known in list(self._replies.items()):
            if known is reply:
                self._take(request_id)
                self._bridge.cancel(request_id)

    def _take(self, request_id: str) -> "Reply | None":
        reply = self._replies.pop(request_id, None)
        if reply is not None:
            self._answers.set_served(len(self._replies))
        return reply

    @Slot(TokensProduced)
    def _on_tokens(self, event: TokensProduced) -> None:
        if (reply := self._replies.get(event.request_id)) is not None:
            reply.news.put(Piece(event.text, event.reasoning))

    @Slot(Finished)
    def _on_finished(self, event: Finished) -> None:
        if (reply := self._take(event.request_id)) is not None:
            reply.news.put(Done(event.reason, event.timeline))

    @Slot(RequestFailed)
    def _on_failed(self, event: RequestFailed) -> None:
        if (reply := self._take(event.request_id)) is not None:
            reply.news.put(Refused(words_for(event.failure), event.failure.code))

    @Slot()
    def _on_model_changed(self) -> None:
        self._name = self._model.name or None
        self.refresh()  # the first model of a run is asked for once the window stands
