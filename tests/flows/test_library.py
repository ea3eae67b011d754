"""The library in the whole window, with its workers and the real inspector."""

import threading

import pytest

from tests.helpers.desk import Desk
from tests.helpers.gguf_files import llama_parameters, write_llama
from tests.helpers.hub_server import HubServer, Repository
from ui.library.page import LibraryPage
from ui.library.rows import TransferStatus

pytestmark = pytest.mark.flow


@pytest.fixture
def desk(qtbot, isolated_home, monkeypatch, tmp_path):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    desk = Desk(qtbot, isolated_home, is_immediate=False, has_model=False)
    desk.application.start()
    desk.wait(lambda: desk.is_open)
    yield desk
    desk.close()


@pytest.fixture
def server(tmp_path):
    model = write_llama(tmp_path / "made.gguf", llama_parameters(), four_bit=True).read_bytes()
    hub = HubServer({"makers/tiny": Repository({"tiny-Q4_1.gguf": model})})
    yield hub
    hub.close()


def page_of(desk):
    return desk.window.findChild(LibraryPage)


def titles(desk):
    return [row.title for row in page_of(desk).shelf.rows]


def test_many_models_grow_into_the_list(desk, tmp_path):
    for number in range(30):
        folder = tmp_path / "shelf" / f"{number}"
        folder.mkdir(parents=True)
        write_llama(folder / f"tiny {number:02}.gguf", llama_parameters(), four_bit=True)
    desk.window.show_library()
    page_of(desk).folder_added.emit(str(tmp_path / "shelf"))
    desk.wait(lambda: len(titles(desk)) == 30)
    desk.wait(lambda: all(row.sheet is not None for row in page_of(desk).shelf.rows), 120_000)
    assert titles(desk)[0] == "tiny 00"
    assert "30 models" in page_of(desk).shelf.count_words


def test_fetch_stop_go_on_and_load(desk, server):
    desk.application.services.settings.set("hub_endpoint", server.endpoint)
    desk.window.show_library()
    page = page_of(desk)
    panel = page.downloads
    page.show_downloads()
    panel.field.setText("makers/tiny")
    panel.look_up_button.click()
    desk.wait(lambda: panel._model.rowCount() == 1, 120_000)
    server.gate = threading.Event()
    panel.download_button.click()
    desk.wait(lambda: panel.transfers.views[0].row.status is TransferStatus.RUNNING)
    view = panel.transfers.views[0]
    assert 0 < view.row.done_bytes < view.row.total_bytes
    view.stop_button.click()
    assert view.row.status is TransferStatus.STOPPED
    server.gate.set()
    server.gate = None
    view.resume_button.click()
    desk.wait(lambda: view.row.status is TransferStatus.DONE)
    assert any(range_ for range_ in server.ranges)
    desk.wait(lambda: titles(desk) == ["tiny-Q4_1"])
    desk.wait(page.details.load_button.isEnabled)
    page.details.load_button.click()
    desk.play()
    place = desk.paths.models / "makers" / "tiny" / "tiny-Q4_1.gguf"
    assert desk.application.controllers.model.info.path == str(place)


def test_closing_in_the_middle_ends_the_workers(desk, server):
    desk.application.services.settings.set("hub_endpoint", server.endpoint)
    desk.window.show_library()
    panel = page_of(desk).downloads
    panel.field.setText("makers/tiny")
    panel.look_up_button.click()
    desk.wait(lambda: panel._model.rowCount() == 1, 120_000)
    server.gate = threading.Event()
    panel.download_button.click()
    desk.wait(lambda: panel.transfers.views[0].row.status is TransferStatus.RUNNING)
    threading.Timer(0.5, server.gate.set).start()
    assert desk.application.close()
    assert desk.paths.downloads.exists()
