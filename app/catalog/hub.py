"""Ask the hub what a repository holds, and read its files from any byte on.

Of huggingface_hub this takes the default address and the form of addresses; the requests are made
here, through the transport it brings (httpx2). Its own client would do, but it sends a
description of the surroundings with every request, asks the default host for a list even where a
mirror is set, works only while the process-wide offline switch is off, and cannot be stopped in
the middle of a file. So that switch stays on for everything else in the process, a download that
the user started goes past it, and only what is asked for is sent. Tests hold the local server
they use to huggingface_hub's own client, so both speak the same protocol.

The token is sent to the hub alone: never after a redirect to another host, and never over a
connection that is not encrypted, save to this machine.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import constants, hf_hub_url
from typing_extensions import override

from app.catalog import errors
from app.catalog.remote import (
    BAD_ADDRESS,
    BROKEN_OFF,
    NO_ANSWER,
    NO_CONNECTION,
    NOT_A_HUB,
    RemoteFile,
    RemoteHub,
    RemoteRepository,
    Stream,
)
from engine.errors import EngineError

_MAX_LIST_BYTES = 32 << 20
_MAX_FILES = 20_000
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_MISSING = frozenset({"RepoNotFound", "RevisionNotFound", "EntryNotFound"})
_RESET = re.compile(r";\s*t\s*=\s*(\d{1,6})")
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
# a read that waits longer is begun again where it stopped; Stop is heard in between
_TIMEOUT = httpx2.Timeout(20.0, read=20.0)
_STREAM_TIMEOUT = httpx2.Timeout(10.0, read=5.0)


class Hub(RemoteHub):
    """One hub or mirror. Made, used and closed by one thread; connects when asked something."""

    def __init__(self, endpoint: str = "", token: str = "") -> None:
        """``endpoint``: empty for huggingface_hub's own default."""
        self._endpoint = (endpoint.strip() or constants.ENDPOINT).rstrip("/")
        self._token = token.strip()
        self._client = httpx2.Client(
            headers={"User-Agent": "tokentide", "Accept-Encoding": "identity"},
            follow_redirects=True,
            timeout=_TIMEOUT,
        )

    @override
    def look_up(self, repository: str) -> RemoteRepository:
        """List a repository's files with their sizes. Raises an EngineError of app.catalog."""
        url = f"{self._endpoint}/api/models/{repository}/revision/{constants.DEFAULT_REVISION}"
        with (
            _told(),
            self._client.stream(
                "GET", url, params={"blobs": "true"}, headers=self._headers()
            ) as response,
        ):
            self._check(response, repository)
            body = _read_limited(response)
        try:
            return _repository(repository, json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise errors.fault(NOT_A_HUB) from None

    @contextmanager
    @override
    def open(
        self, repository: str, revision: str, file: RemoteFile, first: int = 0
    ) -> Iterator[Stream]:
        """Read a file from byte ``first`` on. Raises an EngineError of app.catalog."""
        url = hf_hub_url(repository, file.name, revision=revision, endpoint=self._endpoint)
        headers = self._headers()
        if first:
            headers["Range"] = f"bytes={first}-"
        with (
            _told(),
            self._client.stream("GET", url, headers=headers, timeout=_STREAM_TIMEOUT) as response,
        ):
            self._check(response, f"{repository}/{file.name}")
            begins = _first_byte(response)
            if begins not in {0, first}:
                raise errors.fault(NOT_A_HUB)
            yield Stream(begins, response.iter_raw())

    @override
    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def _headers(self) -> dict[str, str]:
        parts = _split(self._endpoint)
        if parts is None:
            raise errors.unreachable(BAD_ADDRESS)
        is_private = parts.scheme == "https" or parts.hostname in _LOOPBACK
        return {"Authorization": f"Bearer {self._token}"} if self._token and is_private else {}

    def _check(self, response: httpx2.Response, name: str) -> None:
        """Raise what a status other than success means."""
        if response.is_success:
            return
        status, code = response.status_code, response.headers.get("X-Error-Code", "")
        if code == "GatedRepo":
            raise errors.gated(name)
        # to strangers the hub says 401 of what does not exist
        is_unseen = status == 401 and not self._token
        if code in _MISSING or status in {404, 410} or is_unseen:
            raise errors.missing(name)
        if status in {401, 403}:
            raise errors.denied(name)
        if status == 429:
            raise errors.busy(_seconds(response))
        raise errors.fault(f"status {status}")


def _split(endpoint: str) -> Any:
    """The parts of an address of the web; None for anything else."""
    try:
        parts = urlsplit(endpoint)
        is_usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.query
    except ValueError:
        return None
    return parts if is_usable else None


@contextmanager
def _told() -> Iterator[None]:
    """Turn what the transport raises into a failure with a sentence."""
    try:
        yield
    except EngineError:
        raise
    except httpx2.TimeoutException:
        raise errors.unreachable(NO_ANSWER) from None
    except (httpx2.ConnectError, httpx2.ProxyError):
        raise errors.unreachable(NO_CONNECTION) from None
    except (httpx2.UnsupportedProtocol, httpx2.InvalidURL):
        raise errors.unreachable(BAD_ADDRESS) from None
    except (httpx2.NetworkError, httpx2.RemoteProtocolError):
        raise errors.unreachable(BROKEN_OFF) from None
    except httpx2.HTTPError:
        raise errors.fault(NOT_A_HUB) from None


def _read_limited(response: httpx2.Response) -> bytes:
    body = bytearray()
    for block in response.iter_raw():
        body += block
        if len(body) > _MAX_LIST_BYTES:
            raise errors.fault(NOT_A_HUB)
    return bytes(body)


def _repository(name: str, answer: Any) -> RemoteRepository:
    card = answer.get("cardData")
    named = card.get("license") if isinstance(card, dict) else None
    return RemoteRepository(
        name=name,
        revision=str(answer["sha"])[:64],
        files=tuple(_file(sibling) for sibling in answer["siblings"][:_MAX_FILES]),
        is_gated=bool(answer.get("gated")),
        license=named[:60] if isinstance(named, str) else "",
    )


def _file(sibling: Any) -> RemoteFile:
    large = sibling.get("lfs") or {}
    size = large.get("size", sibling.get("size"))
    if type(size) is not int or size < 0:
        raise ValueError("a file without a size")
    return RemoteFile(
        name=str(sibling["rfilename"]),
        num_bytes=size,
        sha256=str(large.get("sha256", "")).lower(),
        blob_id="" if large else str(sibling.get("blobId") or ""),
    )


def _first_byte(response: httpx2.Response) -> int:
    """The byte the body begins with."""
    if response.status_code != 206:
        return 0
    match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    return -1 if match is None else int(match[1])


def _seconds(response: httpx2.Response) -> int:
    """How long to wait after too many requests; 0 where the server does not say."""
    after = response.headers.get("Retry-After", "").strip()
    if after.isdecimal() and len(after) < 7:
        return int(after)
    found = _RESET.search(response.headers.get("RateLimit", ""))
    return int(found[1]) if found else 0
