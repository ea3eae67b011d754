"""Chips: painted by one widget, walked by keys, and only as far as they are seen."""

import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QRegion
from PySide6.QtTest import QTest

from tests.helpers.inspected_tokens import ANSWER, plain, some_tokens
from ui.inspector.tokens.chips import TokenChips
from ui.inspector.tokens.tint import TintBy
from ui.theme import DARK, ThemeSource


@pytest.fixture
def chips(qtbot):
    made = TokenChips(ThemeSource())
    qtbot.addWidget(made)
    made.resize(260, 100)
    tokens = some_tokens()
    made.set_tokens(tokens, range(len(tokens)))
    return made


def test_a_click_chooses(chips):
    chosen = []
    chips.chosen.connect(chosen.append)
    place = chips.rect_of(4).center().toPoint()
    QTest.mouseClick(chips, Qt.MouseButton.LeftButton, pos=place)
    assert chosen == [4]
    assert chips.chosen_place == 4
    assert "25.0%" in chips.accessibleName()
    QTest.mouseClick(chips, Qt.MouseButton.LeftButton, pos=QPoint(259, 1))
    assert chosen == [4]


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ([Qt.Key.Key_Right], 0),
        ([Qt.Key.Key_Right, Qt.Key.Key_Right], 1),
        ([Qt.Key.Key_End], 5),
        ([Qt.Key.Key_End, Qt.Key.Key_Right], 5),
        ([Qt.Key.Key_End, Qt.Key.Key_Left], 4),
        ([Qt.Key.Key_End, Qt.Key.Key_Home], 0),
        ([Qt.Key.Key_Home, Qt.Key.Key_Down], 3),
        ([Qt.Key.Key_End, Qt.Key.Key_PageUp], 1),
        ([Qt.Key.Key_End, Qt.Key.Key_Escape], -1),
    ],
)
def test_keys_walk(chips, keys, place):
    for key in keys:
        QTest.keyClick(chips, key)
    assert chips.chosen_place == place


def test_what_is_hidden_cannot_be_chosen(chips):
    tokens = some_tokens()
    chips.set_tokens(tokens, [3, 4, 5])
    QTest.keyClick(chips, Qt.Key.Key_Home)
    assert chips.chosen_place == 3
    chips.choose(1)
    assert chips.chosen_place == -1
    chips.set_tokens(tokens, [])
    QTest.keyClick(chips, Qt.Key.Key_Home)
    assert chips.chosen_place == -1
    assert chips.rect_of(0).isEmpty()


def test_the_chosen_token_stays_chosen_when_others_hide(chips):
    tokens = some_tokens()
    chips.set_tokens(tokens, range(6))
    chips.choose(4)
    chips.set_tokens(tokens, [3, 4, 5])
    assert chips.chosen_place == 4
    chips.set_tokens(some_tokens(), range(6))
    assert chips.chosen_place == -1


def test_the_pointer_reads(chips, qtbot):
    pointed = []
    chips.pointed.connect(pointed.append)
    chips.show()
    QTest.mouseMove(chips, chips.rect_of(1).center().toPoint())
    qtbot.waitUntil(lambda: pointed == [1])
    QTest.mouseMove(chips, QPoint(258, 2))
    qtbot.waitUntil(lambda: pointed == [1, -1])


def test_the_tint_and_the_scheme_are_seen(qtbot):
    themes = ThemeSource()
    chips = TokenChips(themes)
    qtbot.addWidget(chips)
    chips.resize(300, 80)
    tokens = some_tokens()
    chips.set_tokens(tokens, range(6))

    def seen(place):
        corner = chips.rect_of(place).topLeft() + QPointF(4, 3)
        return chips.grab().toImage().pixelColor(corner.toPoint())

    first, last = seen(3), seen(5)
    assert first != last
    chips.set_tint(TintBy.ENTROPY)
    assert seen(3) == first.__class__(seen(3))
    assert seen(5) != last
    height = chips.height()
    themes.set(DARK, 2.0)
    assert chips.height() > height
    assert seen(3).lightness() < 128


def test_only_lines_that_are_exposed_are_painted(qtbot, monkeypatch):
    chips = TokenChips(ThemeSource())
    qtbot.addWidget(chips)
    chips.resize(300, 80)
    tokens = tuple(plain(b" word%d" % n, ANSWER) for n in range(6000))
    chips.set_tokens(tokens, range(len(tokens)))
    qtbot.waitUntil(lambda: chips.is_complete)
    assert chips.height() > 10_000
    painted = []
    paint = TokenChips._paint_chip

    def note(self, painter, metrics, chip):
        painted.append(chip)
        paint(self, painter, metrics, chip)

    monkeypatch.setattr(TokenChips, "_paint_chip", note)
    window = QRect(0, 5000, 300, 200)
    chips.grab(window)
    assert 0 < len(painted) < 80
    assert all(
        chips.rect_of(n).intersects(window.toRectF().adjusted(0, -30, 0, 30)) for n in painted
    )
    assert QRegion(window).contains(chips.rect_of(painted[20]).center().toPoint())


def test_many_chips_come_in_turns(qtbot):
    themes = ThemeSource()
    chips = TokenChips(themes)
    qtbot.addWidget(chips)
    chips.resize(300, 80)
    tokens = tuple(plain(b" word%d" % n, ANSWER) for n in range(4000))
    grown = []
    chips.grown.connect(lambda: grown.append(chips.rect_of(3999).isEmpty()))
    chips.set_tokens(tokens, range(len(tokens)))
    chips.choose(3999)
    assert chips.chosen_place == -1
    qtbot.waitUntil(lambda: chips.is_complete)
    assert grown[0]
    assert not grown[-1]
    chips.choose(3999)
    themes.set(DARK, 1.5)
    assert chips.chosen_place == -1
    qtbot.waitUntil(lambda: chips.is_complete)
    assert chips.chosen_place == 3999
    chips.set_tokens(tokens, range(3990, 4000))
    assert chips.chosen_place == 3999


def test_the_focus_is_seen(chips, qtbot):
    chips.show()
    chips.activateWindow()
    qtbot.waitUntil(chips.isActiveWindow)
    chips.clearFocus()
    chips.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(chips.hasFocus)
    assert chips.chosen_place == 0
    before = chips.grab().toImage()
    chips.clearFocus()
    assert chips.grab().toImage() != before
