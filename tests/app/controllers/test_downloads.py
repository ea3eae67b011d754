"""Fetching models with the panel, against a hub on this machine."""

import json
import random

import pytest

from app.catalog.download import Conditions, Download
from tests.helpers.hub_server import Fault, HubServer, Repository
from ui.library.page import LibraryPage
from ui.library.rows import TransferStatus

MODEL = random.Random(7).randbytes(100_000)


@pytest.fixture
def server(monkeypatch, tmp_path):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    files = {"tiny-Q4_K_M.gguf": MODEL, "tiny-Q8_0.gguf": MODEL + MODEL}
    hub = HubServer(
        {
            "makers/tiny": Repository(files),
            "makers/shy": Repository(files, gated=True),
            "makers/other": Repository({"pytorch_model.bin": MODEL}),
        }
    )
    yield hub
    hub.close()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    make = Download.__init__

    def init(self, job, conditions=None):
        make(self, job, conditions or Conditions(pauses=(0.0,), reserve_bytes=0))

    monkeypatch.setattr(Download, "__init__", init)


@pytest.fixture
def open_library(make_desk, server):
    def open_page():
        desk = make_desk(has_model=False)
        desk.application.services.settings.set("hub_endpoint", server.endpoint)
        desk.begin()
        desk.window.show_library()
        return desk

    return open_page


@pytest.fixture
def library(open_library):
    return open_library()


def panel_of(desk):
    return desk.window.findChild(LibraryPage).downloads


def look_up(desk, text):
    panel = panel_of(desk)
    panel.field.setText(text)
    panel.look_up_button.click()


def offers(desk):
    return panel_of(desk)._model._rows


def transfers(desk):
    return [view.row for view in panel_of(desk).transfers.views]


@pytest.mark.usefixtures("library")
def test_opening_the_page_asks_nothing(server):
    assert server.requests == []


def test_look_up_and_download(library, server):
    look_up(library, "makers/tiny")
    assert [row.title for row in offers(library)] == ["tiny-Q4_K_M", "tiny-Q8_0"]
    assert [row.is_recommended for row in offers(library)] == [True, False]
    assert [method for method, *_ in server.requests] == ["GET"]
    panel_of(library).download_button.click()
    (row,) = transfers(library)
    assert row.status is TransferStatus.DONE
    place = library.paths.models / "makers" / "tiny" / "tiny-Q4_K_M.gguf"
    assert place.read_bytes() == MODEL
    page = library.window.findChild(LibraryPage)
    assert [entry.title for entry in page.shelf.rows] == ["tiny-Q4_K_M"]
    assert json.loads(library.paths.downloads.read_text())["jobs"] == []
    look_up(library, "makers/tiny")
    assert [row.is_here for row in offers(library)] == [True, False]
    panel_of(library).transfers.discard_requested.emit(row.key)
    assert transfers(library) == []
    assert place.exists()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", "Write owner/name"),
        ("nonsense", "“nonsense” is not a repository"),
        ("makers/none", "The hub has no makers/none"),
        ("makers/other", "makers/other holds no GGUF or safetensors model."),
    ],
)
def test_problems_stand_in_the_panel(library, typed, words):
    look_up(library, typed)
    assert words in panel_of(library).message
    assert offers(library) == []
    assert panel_of(library).look_up_button.isEnabled()


def test_offline(library):
    library.application.services.settings.set("hub_endpoint", "http://127.0.0.1:9")
    look_up(library, "makers/tiny")
    assert "The hub cannot be reached (no connection)." in panel_of(library).message


def test_gated_and_then_with_a_token(library, server):
    look_up(library, "makers/shy")
    assert "accept their terms" in panel_of(library)._about.text()
    panel_of(library).download_button.click()
    (row,) = transfers(library)
    assert row.status is TransferStatus.FAILED
    assert "put an access token into the settings" in row.problem
    library.application.services.settings.set("hub_token", server.token)
    panel_of(library).transfers.resume_requested.emit(row.key)
    assert transfers(library)[0].status is TransferStatus.DONE


def test_a_break_is_gone_on_with_after_a_restart(library, open_library, server):
    server.faults += [Fault(drop_after=5_000), Fault(status=500), Fault(status=500)]
    look_up(library, "makers/tiny")
    panel_of(library).download_button.click()
    (row,) = transfers(library)
    assert row.status is TransferStatus.FAILED
    assert "What has arrived is kept." in row.problem
    library.close()
    num_requests = len(server.requests)
    desk = open_library()
    (row,) = transfers(desk)
    assert row.status is TransferStatus.STOPPED
    assert row.done_bytes == 5_000
    assert panel_of(desk).isVisibleTo(desk.window)
    assert len(server.requests) == num_requests
    panel_of(desk).transfers.resume_requested.emit(row.key)
    assert server.ranges[-1] == "bytes=5000-"
    assert transfers(desk)[0].status is TransferStatus.DONE


def test_discard_deletes_the_part(library, server):
    server.faults += [Fault(drop_after=5_000), Fault(status=500), Fault(status=500)]
    look_up(library, "makers/tiny")
    panel_of(library).download_button.click()
    folder = library.paths.models / "makers" / "tiny"
    assert len(list(folder.iterdir())) == 1
    panel_of(library).transfers.discard_requested.emit(transfers(library)[0].key)
    assert list(folder.iterdir()) == []
    assert transfers(library) == []


def test_another_folder(library, tmp_path):
    panel_of(library).folder_chosen.emit(str(tmp_path / "диск"))
    look_up(library, "makers/tiny")
    panel_of(library).download_button.click()
    assert (tmp_path / "диск" / "makers" / "tiny" / "tiny-Q4_K_M.gguf").exists()


def test_asking_twice_for_the_same_is_one_download(library, server):
    server.faults += [Fault(status=500)] * 2
    look_up(library, "makers/tiny")
    panel_of(library).download_button.click()
    panel_of(library).download_button.click()
    assert [row.status for row in transfers(library)] == [TransferStatus.DONE]
