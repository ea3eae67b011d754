"""Links open only after the whole address was shown, and only web addresses."""

import pytest
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox


@pytest.fixture
def opened(monkeypatch):
    urls = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: urls.append(url.toString()))
    return urls


def box_of(desk):
    boxes = desk.page.findChildren(QMessageBox)
    return boxes[-1] if boxes else None


def test_a_link_is_shown_whole_before_anything_opens(desk, opened):
    desk.page.link_requested.emit("https://example.org/tide?x=1")
    box = box_of(desk)
    assert "https://example.org/tide?x=1" in box.informativeText()
    assert opened == []
    box.reject()


def test_open_and_cancel(desk, opened):
    for standard, expected in (
        (QMessageBox.StandardButton.Cancel, []),
        (QMessageBox.StandardButton.Open, ["https://example.org/a"]),
    ):
        desk.page.link_requested.emit("https://example.org/a")
        box_of(desk).button(standard).click()
        desk.qtbot.wait(1)
        assert opened == expected


@pytest.mark.parametrize("address", ["file:///etc/passwd", "javascript:alert(1)", "smb://x/y"])
def test_other_addresses_are_not_even_offered(desk, opened, address):
    desk.page.link_requested.emit(address)
    assert box_of(desk) is None
    assert opened == []
