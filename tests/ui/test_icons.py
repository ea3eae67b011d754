import pytest
from PySide6.QtGui import QColor

from ui.icons import Icon, icon_pixmap, make_icon
from ui.theme import RESOURCES


@pytest.mark.parametrize("icon", list(Icon))
def test_every_icon_is_drawn_in_the_colour_asked_for(qapp, icon):
    assert qapp is not None
    image = icon_pixmap(icon, QColor("#FF0000"), 32, 2.0).toImage()
    assert image.width() == 64
    colors = {
        image.pixelColor(x, y).name()
        for x in range(64)
        for y in range(64)
        if image.pixelColor(x, y).alpha() == 255
    }
    assert colors == {"#ff0000"}


def test_every_drawing_has_a_name():
    drawn = {path.stem for path in (RESOURCES / "icons").glob("*.svg")}
    for_sheet = {"caret-light", "caret-dark", "tick-light", "tick-dark"}
    assert drawn - for_sheet == {str(icon) for icon in Icon}


def test_an_icon_is_sharp_on_dense_screens(qapp):
    assert qapp is not None
    assert {size.width() for size in make_icon(Icon.COPY, QColor("#000000")).availableSizes()}
