"""The Machine view from outside."""

from dataclasses import replace

import pytest

from engine.api import Device, GpuMemory, MachineUse
from ui.inspector.machine.picture import MachinePicture
from ui.inspector.machine.view import MachineView
from ui.inspector.page import InspectorPage
from ui.theme import DARK

MIB = 1 << 20


@pytest.fixture
def view(qtbot, themes):
    made = MachineView(themes)
    qtbot.addWidget(made)
    made.resize(300, 900)
    made.show()
    return made


def test_nothing_is_known(view):
    assert not view.kv_budget.isVisible()
    assert not view.chart.isVisible()
    assert view.measure.text() == "Measure this machine (~20 s)"
    assert view.measure.isVisible()


def test_a_model_and_its_answer(view, picture):
    view.set_picture(picture)
    texts = view.texts
    assert "Memory: 16 GiB" in texts
    assert "The KV cache may take 128 MiB; 2 MiB of it hold something." in texts
    assert view.chart.isVisible()
    assert "Decode" in view.chart.sentence
    assert view.kv_budget.isVisible()
    assert not view.gpu_budget.isVisible()
    assert view.measure.property("look") == "quiet"


def test_ceilings_without_an_answer(view, picture):
    view.set_picture(replace(picture, report=None))
    assert view.chart.isVisible()
    assert "Ask something: where its stages lie is shown here." in view.texts


def test_a_graphics_card(view, picture, stats, info):
    card = GpuMemory(8_000 * MIB, 6_500 * MIB, 250 * MIB, 400 * MIB)
    on_card = replace(info, device=Device.CUDA)
    view.set_picture(replace(picture, stats=replace(stats, gpu=card), info=on_card))
    assert "Graphics card: 7.8 GiB" in view.texts
    assert view.gpu_budget.isVisible()


def test_measuring(qtbot, view, picture):
    with qtbot.waitSignal(view.measure_requested):
        view.measure.click()
    view.set_picture(replace(picture, is_measuring=True))
    assert not view.measure.isVisible()
    view.set_picture(replace(picture, problem="This machine could not be measured."))
    assert view.measure.isVisible()
    assert "This machine could not be measured." in view.texts


def test_doubtful_ceilings_ask_to_be_measured_again(view, exceeded):
    view.set_picture(exceeded)
    assert view.measure.text() == "Measure again (~20 s)"
    assert view.measure.property("look") == ""


def test_what_the_machine_did(view, picture, report):
    view.set_picture(replace(picture, report=replace(report, machine=MachineUse(2, 2, 0.5))))
    assert "What the machine did meanwhile" in view.texts
    view.set_picture(replace(picture, report=None))
    assert "What the machine did meanwhile" not in view.texts


def test_reloading_is_offered(qtbot, view):
    view.set_picture(MachinePicture(needs_reload=True))
    with qtbot.waitSignal(view.reload_requested):
        view._reload.button.click()


@pytest.mark.parametrize("width", [260, 300, 560])
def test_it_fits_narrow_and_wide_panels(qtbot, picture, themes, width):
    view = MachineView(themes)
    page = InspectorPage({"machine": view})
    qtbot.addWidget(page)
    page.resize(width, 900)
    page.show()
    view.set_picture(picture)
    themes.set(DARK, 1.25)
    assert not page.grab().isNull()
    assert 0 < view.chart.width() < width
