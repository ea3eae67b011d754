"""No test reaches the network: only loopback and local sockets connect."""

import socket
from typing import Any

import pytest

LOOPBACK = ("127.", "::1", "localhost")


class NetworkBlockedError(AssertionError):
    """A test tried to leave this machine."""


def block_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``connect`` and name look-ups fail for anything but this machine."""
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        _check(host)
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def _guarded(connect: Any) -> Any:
    def call(self: socket.socket, address: Any) -> Any:
        if self.family in {socket.AF_INET, socket.AF_INET6}:
            _check(address[0])
        return connect(self, address)

    return call


def _check(host: Any) -> None:
    if host and not str(host).startswith(LOOPBACK):
        message = f"a test tried to reach {host}"
        raise NetworkBlockedError(message)
