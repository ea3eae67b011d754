"""The Cache view from outside."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from ui.inspector.cache.picture import CachePicture
from ui.inspector.cache.view import CacheView
from ui.inspector.page import InspectorPage
from ui.theme import DARK


@pytest.fixture
def view(qtbot, themes):
    made = CacheView(themes)
    qtbot.addWidget(made)
    made.resize(300, 900)
    made.show()
    return made


def test_without_a_model(view):
    assert view.texts == ["The cache is shown here once a model is loaded."]
    view.set_picture(CachePicture(()))
    assert view.texts == ["The cache is shown here once a model is loaded."]


def test_a_picture(view, picture):
    view.set_picture(picture)
    texts = view.texts
    assert "25 MiB of 100 MiB hold something" in texts
    assert "64 KiB a token · int8 · ~12 turns left" in texts
    assert "30 layers that see everything" in texts
    assert "10 MiB · 160 tok" in texts
    assert "What these 220 tokens would take" in texts
    (blocks,) = view.maps
    assert [band.count for band in blocks.bands] == [4, 10, 6, 5, 75]
    assert "this chat: 10 MiB · 160 tok" in blocks.accessibleDescription()


def test_the_chart_is_drawn_again_where_one_would_see_it(view, picture):
    growing = replace(picture.chat, is_growing=True)
    view.set_picture(replace(picture, chat=growing))
    view.set_picture(replace(picture, chat=replace(growing, num_tokens=223)))
    assert any("220 tokens now" in text for text in view.texts)
    view.set_picture(replace(picture, chat=replace(growing, num_tokens=240)))
    assert any("240 tokens now" in text for text in view.texts)
    view.set_picture(replace(picture, chat=replace(picture.chat, num_tokens=242)))
    assert any("242 tokens now" in text for text in view.texts)


def test_a_map_for_each_kind_of_layers(view, picture, window):
    view.set_picture(replace(picture, groups=(*picture.groups, window)))
    assert len(view.maps) == 2
    view.set_picture(picture)
    assert len(view.maps) == 1


def test_the_map_is_read_below_it(qtbot, view, picture):
    view.set_picture(picture)
    qtbot.keyClick(view.maps[0], Qt.Key.Key_Right)
    assert any("tokens 1 to 64" in text for text in view.texts)
    assert "tokens 1 to 64" in view.maps[0].accessibleDescription()
    qtbot.keyClick(view.maps[0], Qt.Key.Key_Escape)
    assert any(text.startswith("Point at the map") for text in view.texts)


def test_reloading_is_offered_where_something_waits(qtbot, view, picture):
    view.set_picture(picture)
    assert not any("loaded again" in text for text in view.texts)
    view.set_picture(replace(picture, needs_reload=True))
    assert any("loaded again" in text for text in view.texts)
    with qtbot.waitSignal(view.reload_requested):
        view._reload.button.click()


def test_a_chosen_way_is_told(qtbot, view, picture):
    view.set_picture(picture)
    with qtbot.waitSignal(view.way_chosen) as told:
        view.ways.rows[0].button.click()
    assert told.args == ["fp32"]


@pytest.mark.parametrize("width", [260, 300, 560])
def test_it_fits_narrow_and_wide_panels(qtbot, picture, themes, width):
    view = CacheView(themes)
    page = InspectorPage({"cache": view})
    qtbot.addWidget(page)
    page.resize(width, 900)
    page.show()
    view.set_picture(picture)
    themes.set(DARK, 1.25)
    assert not page.grab().isNull()
    assert all(0 < blocks.width() < width for blocks in view.maps)
