"""A hub on this machine with one repository, and no proxy between."""

import random

import pytest

from tests.helpers.hub_server import HubServer, Repository

MODEL = random.Random(7).randbytes(300_000)


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    files = {
        "README.md": b"---\nlicense: mit\n---\n",
        "config.json": b"{}",
        "tiny-Q4_K_M.gguf": MODEL,
        "tiny-Q8_0.gguf": MODEL + MODEL,
    }
    hub = HubServer(
        {
            "makers/tiny": Repository(files),
            "makers/shy": Repository(files, gated=True),
            "makers/secret": Repository(files, private=True),
        }
    )
    yield hub
    hub.close()
