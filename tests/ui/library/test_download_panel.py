"""The download panel: look-up, offers, fetches."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QListView, QPushButton

from engine.api import Fit
from ui.library.download_panel import DownloadPanel
from ui.library.rows import OfferRow, TransferRow, TransferStatus
from ui.theme import ThemeSource

OFFERS = (
    OfferRow(0, "tiny-Q2_K", 1 << 30, 1, "Q2_K", Fit.FITS),
    OfferRow(1, "tiny-Q4_K_M", 2 << 30, 1, "Q4_K_M", Fit.FITS, is_recommended=True),
    OfferRow(2, "tiny-F16", 8 << 30, 2, "F16", Fit.TOO_LARGE),
)


@pytest.fixture
def panel(qtbot):
    panel = DownloadPanel(ThemeSource())
    qtbot.addWidget(panel)
    panel.resize(360, 700)
    panel.show()
    panel.activateWindow()  # keys reach the window that is active
    qtbot.waitUntil(panel.isActiveWindow)
    return panel


def heard(signal):
    calls = []
    signal.connect(lambda *args: calls.append(args))
    return calls


def view_of(panel):
    return panel.findChild(QListView, "offers")


def words(panel):
    return " ".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())


def test_nothing_is_asked_before_the_button(panel, qtbot):
    asked = heard(panel.look_up_requested)
    qtbot.keyClicks(panel.field, "makers/tiny")
    assert asked == []
    assert "Nothing is sent before you press “Look up”." in panel.message
    qtbot.mouseClick(panel.look_up_button, Qt.MouseButton.LeftButton)
    assert asked == [("makers/tiny",)]
    panel.set_busy()
    qtbot.keyClick(panel.field, Qt.Key.Key_Return)
    assert len(asked) == 1
    assert panel.message == "Asking the hub…"


def test_a_problem_stands_under_the_field(panel):
    panel.set_busy()
    panel.set_problem("The hub cannot be reached.")
    assert panel.message == "The hub cannot be reached."
    assert panel.look_up_button.isEnabled()
    assert not view_of(panel).isVisible()


def test_the_recommended_one_is_chosen(panel, qtbot):
    told = heard(panel.download_requested)
    panel.set_folder("/модели")
    panel.set_offers(OFFERS, "Licence: mit.")
    text = words(panel)
    assert "Licence: mit." in text
    assert "Saved in /модели" in text
    assert view_of(panel).currentIndex().data() == "tiny-Q4_K_M"
    spoken = view_of(panel).currentIndex().data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "tiny-Q4_K_M, Recommended, Q4_K_M · 2 GiB, ~ Fits"
    qtbot.mouseClick(panel.download_button, Qt.MouseButton.LeftButton)
    view_of(panel).setCurrentIndex(view_of(panel).model().index(2))
    view_of(panel).setFocus()
    qtbot.keyClick(view_of(panel), Qt.Key.Key_Return)
    assert told == [(1,), (2,)]


def test_what_is_here_is_not_fetched_again(panel):
    told = heard(panel.download_requested)
    panel.set_offers([OfferRow(0, "tiny", 10, 3, is_here=True)], "")
    assert not panel.download_button.isEnabled()
    panel._download()
    assert told == []
    assert view_of(panel).model().index(0).data(Qt.ItemDataRole.AccessibleTextRole) == (
        "tiny, 10 B · 3 files · on this computer"
    )


@pytest.mark.parametrize(
    ("row", "text", "buttons"),
    [
        (
            TransferRow(1, "T", TransferStatus.RUNNING, 1 << 20, 4 << 20, 1 << 20, 3.2),
            "1 MiB of 4 MiB · 1 MiB/s · ~3 s left",
            ["Stop"],
        ),
        (TransferRow(1, "T", TransferStatus.RUNNING, 0, 4 << 20), "0 B of 4 MiB", ["Stop"]),
        (
            TransferRow(1, "T", TransferStatus.RUNNING, 0, 1 << 40, 1 << 20, 9_000),
            "0 B of 1 TiB · 1 MiB/s · ~2.5 h left",
            ["Stop"],
        ),
        (
            TransferRow(1, "T", TransferStatus.WAITING, 0, 10),
            "0 B of 10 B · The connection broke off; going on in a moment",
            ["Stop"],
        ),
        (
            TransferRow(1, "T", TransferStatus.STOPPED, 5, 10),
            "5 B of 10 B · Stopped; what has arrived is kept",
            ["Go on", "Discard"],
        ),
        (
            TransferRow(1, "T", TransferStatus.FAILED, 5, 10, problem="The disk is full."),
            "The disk is full.",
            ["Go on", "Discard"],
        ),
        (
            TransferRow(1, "T", TransferStatus.DONE, 10, 10),
            "10 B · Arrived whole, checksum right",
            ["Close"],
        ),
    ],
)
def test_a_fetch_in_words(panel, row, text, buttons):
    panel.set_transfers([row])
    (view,) = panel.transfers.views
    labels = [label.text() for label in view.findChildren(QLabel)]
    assert labels == ["T", text]
    assert [b.text() for b in view.findChildren(QPushButton) if b.isVisible()] == buttons


def test_the_buttons_of_a_fetch(panel, qtbot):
    told = {
        name: heard(getattr(panel.transfers, name))
        for name in ("stop_requested", "resume_requested", "discard_requested")
    }
    panel.set_transfers([TransferRow(7, "T", TransferStatus.QUEUED, 0, 10)])
    (view,) = panel.transfers.views
    qtbot.mouseClick(view.stop_button, Qt.MouseButton.LeftButton)
    panel.set_transfers([TransferRow(7, "T", TransferStatus.STOPPED, 0, 10)])
    assert panel.transfers.views == (view,)
    qtbot.mouseClick(view.resume_button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(view.discard_button, Qt.MouseButton.LeftButton)
    assert told == {name: [(7,)] for name in told}
    panel.set_transfers([])
    assert panel.transfers.views == ()
    assert not panel.transfers.isVisible()
