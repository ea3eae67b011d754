"""The local hub is one for huggingface_hub's own client as well, and both see the same."""

import random
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import HfApi, constants, hf_hub_download
from huggingface_hub.errors import (
    GatedRepoError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
)

from app.catalog.hub import Hub
from tests.helpers.hub_server import COMMIT, Fault, HubServer, Repository, sha256

pytestmark = pytest.mark.oracle
MODEL = random.Random(7).randbytes(300_000)


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    hub = HubServer(
        {
            "makers/tiny": Repository({"config.json": b"{}", "x.gguf": MODEL}),
            "makers/shy": Repository({"x.gguf": MODEL}, gated=True),
        }
    )
    # it would ask its default host for a list of programs, though a mirror is named
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    yield hub
    huggingface_hub.close_session()
    hub.close()


def test_both_list_the_same(server):
    info = HfApi(endpoint=server.endpoint, token=False).model_info(
        "makers/tiny", files_metadata=True
    )
    hub = Hub(server.endpoint)
    ours = hub.look_up("makers/tiny")
    hub.close()
    assert info.sha == ours.revision == COMMIT
    theirs = {
        s.rfilename: (s.size, s.lfs.sha256 if s.lfs else "", "" if s.lfs else s.blob_id)
        for s in info.siblings
    }
    assert theirs == {f.name: (f.num_bytes, f.sha256, f.blob_id) for f in ours.files}


def test_the_tree(server):
    api = HfApi(endpoint=server.endpoint, token=False)
    tree = {entry.path: entry for entry in api.list_repo_tree("makers/tiny")}
    assert tree["x.gguf"].lfs.sha256 == sha256(MODEL)


def test_their_client_downloads_and_resumes(server, tmp_path, logfail):
    logfail.expect("Trying to resume")
    block = 10 << 20  # what it writes at once
    content = MODEL * (12 * (1 << 20) // len(MODEL) + 1)
    server.repositories["makers/tiny"].files["big.gguf"] = content
    server.faults.append(Fault(drop_after=block + 1_000))
    path = hf_hub_download(
        "makers/tiny", "big.gguf", endpoint=server.endpoint, token=False, local_dir=tmp_path
    )
    assert Path(path).read_bytes() == content
    assert server.ranges == [None, f"bytes={block}-"]


def test_their_client_understands_the_refusals(server, tmp_path):
    api = HfApi(endpoint=server.endpoint, token=False)
    with pytest.raises(RepositoryNotFoundError):
        api.model_info("makers/none", token=server.token)
    for name, kind in (("makers/shy", GatedRepoError), ("makers/tiny", RemoteEntryNotFoundError)):
        file = "x.gguf" if name == "makers/shy" else "none"
        with pytest.raises(kind):
            hf_hub_download(name, file, endpoint=server.endpoint, token=False, local_dir=tmp_path)
