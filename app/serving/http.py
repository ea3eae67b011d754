"""The HTTP server: loopback alone, a key for everybody, no pages of browsers.

Each connection has a thread; whoever answers is reached through ``Backend``, and its news comes
through a queue. A client that goes away ends its answer, even while the prompt is read.
"""

import hmac
import json
import logging
import queue
import secrets
import select
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol
from urllib.parse import urlsplit

from typing_extensions import override

from app.serving.asked import Asked, AskedError, read_asked
from app.serving.replies import Done, News, Piece, Refused, Wording, error_words, event, models

ADDRESS = "127.0.0.1"
MAX_BODY = 32 * 2**20
READ_TIMEOUT_S = 30.0
LOOK_S = 0.5  # how often a silent client is looked after
_LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
_CHAT, _TEXT, _MODELS = "/v1/chat/completions", "/v1/completions", "/v1/models"
logger = logging.getLogger(__name__)


class Reply:
    """One answer on its way: filled by the backend, emptied by the connection's thread."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.news: queue.SimpleQueue[News] = queue.SimpleQueue()


class Backend(Protocol):
    """Who answers. Called in the threads of connections; each call returns at once."""

    def model_name(self) -> str | None:
        """The model that answers now."""
        ...

    def begin(self, reply: Reply) -> None:
        """Answer: pieces, then one end, come into ``reply.news``."""
        ...

    def give_up(self, reply: Reply) -> None:
        """Nobody waits for the rest."""
        ...


class LocalHttpServer(ThreadingHTTPServer):
    """Listens from the constructor on, which raises OSError where the port is taken."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, port: int, key: str, backend: Backend) -> None:
        self.key = key
        self.backend = backend
        super().__init__((ADDRESS, port), Handler)
        self._thread = threading.Thread(
            target=self.serve_forever, name="local-server", daemon=True
        )
        self._thread.start()

    @property
    def host(self) -> str:
        """The address that it listens at."""
        return ADDRESS

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def end(self) -> None:
        """Take no more requests. Blocks for up to half a second."""
        self.shutdown()
        self.server_close()
        self._thread.join()

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.debug("A connection ended early: %s", sys.exception())


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "Tokentide"
    sys_version = ""
    timeout = READ_TIMEOUT_S
    server: LocalHttpServer

    def do_GET(self) -> None:
        """Answer GET."""
        self._respond(self._tell_models)

    def do_POST(self) -> None:
        """Answer POST."""
        self._respond(self._answer_body)

    def _respond(self, respond: Callable[[], None]) -> None:
        try:
            self._check()
            respond()
        except AskedError as error:
            self._refuse(error)

    def _tell_models(self) -> None:
        if self._path != _MODELS:
            raise AskedError(f"There is nothing at {self._path}.", status=404)
        self._send(200, models(self.server.backend.model_name()))

    def _answer_body(self) -> None:
        body = self._body()
        if self._path not in {_CHAT, _TEXT}:
            raise AskedError(f"There is nothing at {self._path}.", status=404)
        self._answer(Reply(read_asked(body, is_chat=self._path == _CHAT)))

    @property
    def _path(self) -> str:
        return urlsplit(self.path).path.rstrip("/")

    def _check(self) -> None:
        """Let nobody in but programs of this computer that know the key."""
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        origin = self.headers.get("Origin")
        if host not in _LOCAL or origin is not None:
            raise AskedError("Only programs on this computer are answered.", status=403)
        given = self.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        if not hmac.compare_digest(given.encode(), self.server.key.encode()):
            raise AskedError("The key is missing or wrong.", status=401)

    def _body(self) -> bytes:
        if self.headers.get_content_type() != "application/json":
            raise AskedError("The body must be application/json.", status=415)
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise AskedError("The body's length is missing.", status=411)
        if int(length) > MAX_BODY:
            raise AskedError(f"The body is larger than {MAX_BODY // 2**20} MiB.", status=413)
        return self.rfile.read(int(length))

    # ------------------------------------------------------------------ answers

    def _answer(self, reply: Reply) -> None:
        backend = self.server.backend
        wording = Wording(
            reply.asked, f"answer-{secrets.token_hex(12)}", backend.model_name() or ""
        )
        backend.begin(reply)
        try:
            if reply.asked.is_streamed:
                self._stream(reply, wording)
            else:
                self._gather(reply, wording)
        except OSError:
            self.close_connection = True
            logger.debug("The client went away")
            backend.give_up(reply)

    def _gather(self, reply: Reply, wording: Wording) -> None:
        text: list[str] = []
        thought: list[str] = []
        while True:
            match self._next(reply):
                case Piece(words, reasoning):
                    text.append(words)
                    thought.append(reasoning)
                case Done() as done:
                    self._send(200, wording.whole("".join(text), "".join(thought), done))
                    return
                case Refused() as refused:
                    raise refused.error

    def _stream(self, reply: Reply, wording: Wording) -> None:
        news = self._next(reply)
        if isinstance(news, Refused):  # before anything is said there can be a status
            raise news.error
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if reply.asked.is_chat:
            self.wfile.write(event(wording.chunk(None)))
        while isinstance(news, Piece):
            if news.text or news.reasoning:
                self.wfile.write(event(wording.chunk(news)))
            news = self._next(reply)
        if isinstance(news, Done):
            self.wfile.write(event(wording.chunk(None, news.reason)))
            if reply.asked.wants_usage:
                self.wfile.write(event(wording.usage_chunk(news.timeline)))
        else:
            self.wfile.write(event(error_words(news.error)))
        self.wfile.write(event("[DONE]"))

    def _next(self, reply: Reply) -> News:
        """Wait for news. Raises OSError when the client has gone."""
        while True:
            try:
                return reply.news.get(timeout=LOOK_S)
            except queue.Empty:
                if self._is_client_gone():
                    raise ConnectionAbortedError from None

    def _is_client_gone(self) -> bool:
        readable, _writable, _failed = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)

    # ------------------------------------------------------------------ what is said

    def _refuse(self, error: AskedError) -> None:
        self.close_connection = True  # its body may be unread
        self._send(error.status, error_words(error))

    def _send(self, status: int, value: Mapping[str, Any]) -> None:
        body = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: Any) -> None:
        logger.debug(format, *args)
