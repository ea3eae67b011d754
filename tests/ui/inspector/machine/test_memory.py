"""The memory panel: a bar, and a line for each use."""

import pytest
from PySide6.QtGui import QColor

from ui.inspector.machine.memory import MemoryPanel, use_explained, use_name
from ui.inspector.machine.picture import MemoryPart, Use
from ui.theme import LIGHT

MIB = 1 << 20
PARTS = (
    MemoryPart(Use.WEIGHTS, 100 * MIB),
    MemoryPart(Use.KV, 0),
    MemoryPart(Use.OTHERS, 100 * MIB),
    MemoryPart(Use.FREE, 200 * MIB),
)


@pytest.fixture
def panel(qtbot, themes):
    made = MemoryPanel("Memory", themes)
    qtbot.addWidget(made)
    return made


def test_lines_of_what_is_there(panel):
    panel.set_parts(PARTS)
    panel.show()
    assert panel.texts[:3] == ["weights 100 MiB", "other programs 100 MiB", "free 200 MiB"]
    assert panel._heading.text() == "Memory: 400 MiB"
    assert "weights 100 MiB" in panel._bar.accessibleDescription()
    panel.set_parts(PARTS[:1])
    shown = [name.text() for _s, name, _size in panel._rows if not name.isHidden()]
    assert shown == ["weights"]


def test_the_bar_is_to_scale(panel):
    panel.set_parts(PARTS)
    panel.resize(400, 200)
    panel.show()
    image = panel._bar.grab().toImage()
    eighth, middle = image.width() // 8, image.height() // 2
    assert image.pixelColor(eighth, middle) == QColor(LIGHT.stage_prefill)
    assert image.pixelColor(3 * eighth, middle) == QColor(LIGHT.stage_queue)
    assert image.pixelColor(6 * eighth, middle) == QColor(LIGHT.track)


@pytest.mark.parametrize("use", Use)
def test_every_use_has_a_name_and_an_explanation(use):
    assert use_name(use)
    assert use_explained(use).endswith(".")
