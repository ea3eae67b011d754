"""The map: cells and bands, read with the pointer and the keys."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage

from engine.api import BlockState
from ui.inspector.cache.bands import Band
from ui.inspector.cache.block_map import BlockMap
from ui.inspector.cache.picture import Owner
from ui.theme import DARK, LIGHT

BANDS = (
    Band(3, Owner.OWN, BlockState.LIVE),
    Band(2, Owner.OTHER, BlockState.KEPT),
    Band(35, Owner.FREE, BlockState.FREE),
)


@pytest.fixture
def blocks(qtbot, themes):
    made = BlockMap(themes)
    qtbot.addWidget(made)
    made.resize(225, 60)
    made.set_bands(BANDS)
    made.show()
    return made


def test_few_blocks_are_cells_in_lines(blocks):
    lines = blocks.lines(225)
    assert (lines.a_line, lines.width, lines.number) == (20, 11, 2)
    assert blocks.num_blocks == 40
    assert blocks.heightForWidth(225) == 26


def test_many_blocks_are_bands_to_scale(blocks):
    blocks.set_bands([Band(12_000, Owner.FREE, BlockState.FREE)])
    lines = blocks.lines(240)
    assert (lines.a_line, lines.number) == (1_000, 12)
    assert lines.width == pytest.approx(0.24)
    assert blocks.heightForWidth(240) == 12 * 13


@pytest.mark.parametrize(
    ("x", "y", "band"),
    [(0, 1, 0), (32, 1, 0), (34, 1, 1), (54, 1, 1), (56, 1, 2), (5, 15, 2), (5, 11.5, None)],
)
def test_what_is_where(blocks, x, y, band):
    assert blocks.band_at(QPointF(x, y)) == band


def test_beside_the_blocks_is_nothing(blocks):
    assert blocks.band_at(QPointF(223, 1)) is None
    assert blocks.band_at(QPointF(5, 40)) is None
    assert blocks.band_at(QPointF(5, -1)) is None


def test_the_pointer_reads(qtbot, blocks):
    with qtbot.waitSignal(blocks.pointed) as told:
        qtbot.mouseMove(blocks, QPoint(40, 4))
    assert told.args == [1]
    with qtbot.waitSignal(blocks.pointed) as told:
        qtbot.mouseMove(blocks, QPoint(5, 45))
    assert told.args == [-1]


def test_the_arrow_keys_read_in_turn(qtbot, blocks):
    heard = []
    blocks.pointed.connect(heard.append)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_Escape):
        qtbot.keyClick(blocks, key)
    assert heard == [0, 1, 0, -1]


def test_what_is_read_follows_a_new_picture(qtbot, blocks):
    heard = []
    blocks.pointed.connect(heard.append)
    qtbot.keyClick(blocks, Qt.Key.Key_Left)
    blocks.set_bands(BANDS[:1])
    assert heard == [2, -1]
    qtbot.keyClick(blocks, Qt.Key.Key_Right)
    blocks.set_bands([Band(5, Owner.OWN, BlockState.LIVE)])
    assert heard[-2:] == [0, 0]  # whose it is may have changed


def _picture(blocks) -> QImage:
    blocks.hide()  # with the focus there would be a ring among the pixels
    return blocks.grab().toImage()


def test_owners_are_told_apart_without_colour(blocks):
    """No two owners look alike in grey, whichever their colours are."""
    seen = {}
    for owner in Owner:
        blocks.set_bands([Band(40, owner, BlockState.LIVE)])
        image = _picture(blocks).convertToFormat(QImage.Format.Format_Grayscale8)
        # the look of one cell, without its edges and the ring of the focus
        seen[owner] = tuple(
            image.pixelColor(x, y).value() for x in range(3, 9) for y in range(3, 9)
        )
    assert len(set(seen.values())) == len(Owner)
    patterned = {owner for owner, cell in seen.items() if max(cell) - min(cell) > 8}
    assert patterned == {Owner.SHARED, Owner.OTHER, Owner.EXPERIMENT, Owner.KEPT}


def test_kept_blocks_are_half_as_high(blocks):
    blocks.set_bands([Band(40, Owner.OWN, BlockState.KEPT)])
    image = _picture(blocks)
    assert image.pixelColor(5, 2) == QColor(LIGHT.stage_decode)
    assert image.pixelColor(5, 8) == QColor(LIGHT.track)


@pytest.mark.parametrize("before", [0, 20_000, 30_000])
def test_one_block_of_thousands_is_seen(blocks, before):
    free = [Band(count, Owner.FREE, BlockState.FREE) for count in (before, 60_000 - before)]
    own = Band(1, Owner.OWN, BlockState.LIVE)
    blocks.set_bands([band for band in (free[0], own, free[1]) if band.count])
    blocks.resize(225, 160)
    image = _picture(blocks)
    found = {
        x
        for x in range(image.width())
        for y in range(image.height())
        if image.pixelColor(x, y) == QColor(LIGHT.stage_decode)
    }
    assert len(found) >= 2


def test_it_follows_the_scheme_and_the_zoom(blocks, themes):
    before = blocks.heightForWidth(225)
    themes.set(DARK, 2.0)
    assert blocks.heightForWidth(225) > before
    assert not blocks.grab().isNull()


def test_too_many_bands_are_painted_as_what_most_of_them_are(blocks):
    own, other = Band(2, Owner.OWN, BlockState.LIVE), Band(1, Owner.OTHER, BlockState.LIVE)
    blocks.set_bands([own, other] * 2_000)
    blocks.resize(225, 160)
    image = _picture(blocks)
    assert image.pixelColor(100, 5) == QColor(LIGHT.stage_decode)
    assert blocks.num_blocks == 6_000
