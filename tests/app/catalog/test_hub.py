"""What the hub holds, and what its refusals mean."""

import json
import logging

import pytest

from app.catalog import errors
from app.catalog.hub import Hub
from app.catalog.remote import RemoteFile
from tests.app.catalog.conftest import MODEL
from tests.helpers.hub_server import COMMIT, Fault, blob_id, sha256


@pytest.fixture
def hub(server):
    hub = Hub(server.endpoint)
    yield hub
    hub.close()


def read(hub, name, first=0, repository="makers/tiny"):
    file = RemoteFile(name, len(MODEL))
    with hub.open(repository, COMMIT, file, first) as stream:
        return stream.first, b"".join(stream.blocks)


def test_a_listing_has_sizes_and_checksums(hub):
    found = hub.look_up("makers/tiny")
    assert found.revision == COMMIT
    assert found.license == "apache-2.0"
    assert not found.is_gated
    files = {file.name: file for file in found.files}
    assert files["tiny-Q4_K_M.gguf"].sha256 == sha256(MODEL)
    assert files["tiny-Q4_K_M.gguf"].num_bytes == len(MODEL)
    assert files["config.json"] == RemoteFile("config.json", 2, blob_id=blob_id(b"{}"))


def test_a_file_is_read_from_any_byte_through_the_redirect(hub, server):
    assert read(hub, "tiny-Q4_K_M.gguf") == (0, MODEL)
    assert read(hub, "tiny-Q4_K_M.gguf", 1_000) == (1_000, MODEL[1_000:])
    assert server.ranges == [None, "bytes=1000-"]


def test_a_server_that_starts_over_says_so(hub, server):
    server.faults.append(Fault(is_rangeless=True))
    assert read(hub, "tiny-Q4_K_M.gguf", 1_000) == (0, MODEL)


@pytest.mark.parametrize("repository", ["makers/none", "makers/secret"])
def test_what_cannot_be_seen_is_missing(hub, repository):
    with pytest.raises(errors.HubMissingError, match=repository):
        hub.look_up(repository)


def test_a_missing_file(hub):
    with pytest.raises(errors.HubMissingError, match=r"tiny/none\.gguf"):
        read(hub, "none.gguf")


def test_gated_until_the_token_is_there(hub, server):
    assert hub.look_up("makers/shy").is_gated
    with pytest.raises(errors.HubGatedError, match="accept their terms"):
        read(hub, "tiny-Q4_K_M.gguf", repository="makers/shy")
    known = Hub(server.endpoint, server.token)
    assert read(known, "tiny-Q4_K_M.gguf", repository="makers/shy") == (0, MODEL)
    assert known.look_up("makers/secret").revision == COMMIT
    known.close()


def test_a_wrong_token_is_refused_in_words(server):
    hub = Hub(server.endpoint, "hf_wrong")
    with pytest.raises(errors.HubMissingError):
        hub.look_up("makers/secret")
    server.faults.append(Fault(status=403))
    with pytest.raises(errors.HubDeniedError, match="access token"):
        read(hub, "tiny-Q4_K_M.gguf")
    hub.close()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"Retry-After": "7"}, 7), ({"RateLimit": '"api";r=0;t=55'}, 55), ({}, 0)],
)
def test_too_many_requests(hub, server, headers, seconds):
    server.faults.append(Fault(status=429, headers=headers))
    with pytest.raises(errors.HubBusyError) as caught:
        read(hub, "tiny-Q4_K_M.gguf")
    assert caught.value.details["seconds"] == seconds


def test_a_fault_of_the_server(hub, server):
    server.faults.append(Fault(status=503))
    with pytest.raises(errors.HubFaultError, match="503"):
        read(hub, "tiny-Q4_K_M.gguf")


def test_a_line_that_breaks(hub, server):
    server.faults.append(Fault(drop_after=1_000))
    with pytest.raises(errors.HubUnreachableError, match="broke off"):
        read(hub, "tiny-Q4_K_M.gguf")


@pytest.mark.usefixtures("server")
def test_no_server_at_all():
    hub = Hub("http://127.0.0.1:9")
    with pytest.raises(errors.HubUnreachableError, match="no connection"):
        hub.look_up("makers/tiny")
    hub.close()


@pytest.mark.parametrize(
    "endpoint", ["ftp://mirror", "mirror", "http://", "http://[", "file:///x"]
)
def test_an_address_that_is_none(endpoint):
    hub = Hub(endpoint)
    with pytest.raises(errors.HubUnreachableError, match="address is not valid"):
        hub.look_up("makers/tiny")
    hub.close()


@pytest.mark.parametrize(
    "listing",
    [
        b"<html>",
        b"[]",
        b"{}",
        b'{"sha": "1", "siblings": [{"rfilename": "a"}]}',
        b'{"sha": "1", "siblings": [{"rfilename": "a", "size": -1}]}',
        b'{"sha": "1", "siblings": 7}',
        json.dumps({"sha": "1", "siblings": [["a"]]}).encode(),
        b"[" * 100_000,
    ],
)
def test_an_answer_that_is_no_listing(hub, server, listing):
    server.listing = listing
    with pytest.raises(errors.HubFaultError, match="not a hub"):
        hub.look_up("makers/tiny")


def test_the_token_reaches_the_hub_and_no_log(server, caplog):
    caplog.set_level(logging.DEBUG)
    hub = Hub(server.endpoint, "hf_secret")
    hub.look_up("makers/tiny")
    read(hub, "tiny-Q4_K_M.gguf")
    hub.close()
    sent = [(request[1].startswith("/cdn/"), request[3]) for request in server.requests]
    assert sent == [(False, "Bearer hf_secret")] * 2 + [(True, None)]
    assert "hf_secret" not in caplog.text


def test_the_token_is_not_sent_in_the_open():
    hub = Hub("http://mirror.example", "hf_secret")
    assert hub._headers() == {}
    hub.close()
    hub = Hub("https://mirror.example", "hf_secret")
    assert hub._headers() == {"Authorization": "Bearer hf_secret"}
    hub.close()
