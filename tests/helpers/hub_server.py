"""A hub on this machine that speaks the protocol of the real one, with faults on demand.

``HubServer`` serves repositories from memory: api/models (with blobs), the tree, and resolve with
HEAD, GET, Range, ETag, X-Repo-Commit, X-Linked-ETag and -Size. Large files are redirected to a
second path, as to a content network. ``faults`` are played one per request for content.
"""

import hashlib
import json
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from typing_extensions import override

COMMIT = "c0ffee" + "0" * 34
LARGE = 1_000  # files from here on are kept with Git LFS


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one request for content.

    ``drop_after``: bytes after which the line is cut. ``status``: answered instead of content.
    ``is_rangeless``: the whole file comes whatever was asked for. ``content``: other bytes.
    """

    drop_after: int | None = None
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    is_rangeless: bool = False
    content: bytes | None = None


@dataclass
class Repository:
    """Files by name; ``gated`` ones answer 403 to whoever has not the token."""

    files: dict[str, bytes]
    gated: bool = False
    private: bool = False
    license: str = "apache-2.0"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class HubServer:
    """Serves until ``close``. ``requests``: (method, path, Range, Authorization) of each."""

    def __init__(self, repositories: dict[str, Repository], token: str = "hf_letmein") -> None:
        self.repositories = repositories
        self.token = token
        self.faults: deque[Fault | None] = deque()
        self.requests: list[tuple[str, str, str | None, str | None]] = []
        self.listing: bytes | None = None
        self.gate: threading.Event | None = None
        server = self

        class Handler(_Handler):
            hub = server

        self._hub, self._network = (_Running(Handler, name) for name in ("hub", "network"))

    @property
    def endpoint(self) -> str:
        return self._hub.address

    @property
    def network(self) -> str:
        """Where large files come from: another origin, which must not see the token."""
        return self._network.address

    @property
    def ranges(self) -> list[str | None]:
        """The Range of each request for content."""
        return [r[2] for r in self.requests if r[0] == "GET" and r[1].startswith("/cdn/")]

    def close(self) -> None:
        if self.gate is not None:
            self.gate.set()
        self._hub.close()
        self._network.close()


class _Running:
    """A server on a thread of its own."""

    def __init__(self, handler: type[BaseHTTPRequestHandler], name: str) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = False
        self._server.block_on_close = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, name=name
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        address = urlsplit(self.path)
        path = unquote(address.path)
        headers = self.headers
        self.hub.requests.append(
            (self.command, path, headers.get("Range"), headers.get("Authorization"))
        )
        if path.startswith("/api/models/"):
            self._api(path.removeprefix("/api/models/"), parse_qs(address.query))
        elif path.startswith("/cdn/"):
            self._content(path.removeprefix("/cdn/"))
        else:
            self._resolve(path)

    # ------------------------------------------------------------------ what there is

    def _api(self, path: str, query: dict[str, list[str]]) -> None:
        name, _, rest = path.partition("/revision/")
        if "/tree/" in path:
            name, _, rest = path.partition("/tree/")
        repository = self._find(name)
        if repository is None:
            return
        if rest not in {"", "main", COMMIT}:
            self._refuse(404, "RevisionNotFound")
        elif "/tree/" in path:
            self._json([_tree_entry(n, c) for n, c in repository.files.items()])
        else:
            self._json(_model_info(name, repository, has_blobs="blobs" in query))

    def _find(self, name: str) -> Repository | None:
        repository = self.hub.repositories.get(name)
        is_known = self.headers.get("Authorization") == f"Bearer {self.hub.token}"
        if repository is None or (repository.private and not is_known):
            # strangers are not told whether there is such a repository
            self._refuse(404 if is_known else 401, "RepoNotFound")
            return None
        return repository

    def _resolve(self, path: str) -> None:
        name, _, rest = path.strip("/").partition("/resolve/")
        revision, _, file = rest.partition("/")
        repository = self._find(name)
        if repository is None:
            return
        is_known = self.headers.get("Authorization") == f"Bearer {self.hub.token}"
        if repository.gated and not is_known:
            self._refuse(403, "GatedRepo")
            return
        content = repository.files.get(file)
        if content is None or revision not in {"main", COMMIT}:
            self._refuse(404, "EntryNotFound")
            return
        headers = {"X-Repo-Commit": COMMIT}
        if len(content) < LARGE:
            headers["ETag"] = f'"{blob_id(content)}"'
            self._body(content, headers)
            return
        headers["X-Linked-ETag"] = f'"{sha256(content)}"'
        headers["X-Linked-Size"] = str(len(content))
        headers["Location"] = f"{self.hub.network}/cdn/{name}/{file}"
        self._head(302, headers, 0)

    # ------------------------------------------------------------------ bytes

    def _content(self, path: str) -> None:
        fault = self.hub.faults.popleft() if self.hub.faults else None
        owner, name, file = path.split("/", 2)
        content = self.hub.repositories[f"{owner}/{name}"].files[file]
        if fault is None:
            self._body(content, {"ETag": f'"{sha256(content)}"'})
        elif fault.status is not None:
            self._head(fault.status, fault.headers, 0)
        else:
            self._body(fault.content or content, {}, fault)

    def _body(self, content: bytes, headers: dict[str, str], fault: Fault | None = None) -> None:
        wanted = self.headers.get("Range", "")
        first, status = 0, 200
        if wanted.startswith("bytes=") and not (fault and fault.is_rangeless):
            first, status = int(wanted.removeprefix("bytes=").partition("-")[0]), 206
            if first >= len(content):
                self._head(416, {"Content-Range": f"bytes */{len(content)}"}, 0)
                return
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        rest = content[first:]
        self._head(status, headers, len(rest))
        if self.command == "HEAD":
            return
        if fault is not None and fault.drop_after is not None:
            self.wfile.write(rest[: fault.drop_after])
            self.close_connection = True
            return
        self._write(rest)

    def _write(self, rest: bytes) -> None:
        """All of it; or half, and the rest when the gate opens."""
        try:
            if self.hub.gate is not None:
                self.wfile.write(rest[: len(rest) // 2])
                self.hub.gate.wait(20)
                rest = rest[len(rest) // 2 :]
            self.wfile.write(rest)
        except OSError:
            self.close_connection = True  # the client went away

    def _json(self, value: Any) -> None:
        body = json.dumps(value).encode() if self.hub.listing is None else self.hub.listing
        self._head(200, {"Content-Type": "application/json"}, len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, status: int, code: str) -> None:
        self._head(status, {"X-Error-Code": code, "X-Error-Message": code}, 0)

    def _head(self, status: int, headers: dict[str, str], length: int) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()


def _model_info(name: str, repository: Repository, *, has_blobs: bool) -> dict[str, Any]:
    siblings = [
        _sibling(file, content) if has_blobs else {"rfilename": file}
        for file, content in repository.files.items()
    ]
    return {
        "id": name,
        "modelId": name,
        "sha": COMMIT,
        "gated": "auto" if repository.gated else False,
        "private": repository.private,
        "cardData": {"license": repository.license},
        "siblings": siblings,
    }


def _sibling(name: str, content: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": blob_id(content)}
    if len(content) >= LARGE:
        lfs = {"sha256": sha256(content), "size": len(content), "pointerSize": 134}
        entry |= {"blobId": blob_id(sha256(content).encode()), "lfs": lfs}
    return entry


def _tree_entry(name: str, content: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": "file",
        "oid": blob_id(content),
        "size": len(content),
        "path": name,
    }
    if len(content) >= LARGE:
        entry["lfs"] = {"oid": sha256(content), "size": len(content), "pointerSize": 134}
    return entry
