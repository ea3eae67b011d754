"""Measuring in the whole window, by the engine's own evaluation in a process of its own."""

import re

import psutil
import pytest

from app.controllers.measurement import Measurement
from app.quality.loss import LossBook, model_key
from engine.service import EngineService
from tests.helpers.desk import Desk
from tests.helpers.gguf_files import ARRAY, STRING, llama_metadata, llama_parameters, write_llama
from ui.settings.panel import SettingsPanel
from ui.settings.precision_panel import PrecisionPanel

pytestmark = pytest.mark.flow
LOAD_MS = 120_000


@pytest.fixture
def tiny(tmp_path):
    """A tiny Llama that spells; what is built in to be measured has other letters as well."""
    pieces = ["<unk>", "<s>", "</s>", *(chr(33 + i) for i in range(94)), "ab"]
    pieces += [f"<extra_{i}>" for i in range(128 - len(pieces))]
    kinds = [3, 3, 3, *([1] * 95), *([5] * 30)]
    metadata = llama_metadata()
    metadata["tokenizer.ggml.model"] = (STRING, "gpt2")
    metadata["tokenizer.ggml.pre"] = (STRING, "smollm")
    metadata["tokenizer.ggml.tokens"] = (ARRAY, (STRING, pieces))
    metadata["tokenizer.ggml.token_type"] = (ARRAY, (5, kinds))
    metadata["tokenizer.ggml.merges"] = (ARRAY, (STRING, ["a b"]))
    folder = tmp_path / "模型 models"
    folder.mkdir()
    return write_llama(folder / "tiny.gguf", llama_parameters(), metadata)


@pytest.fixture
def desk(qtbot, isolated_home, tiny):
    desk = Desk(
        qtbot, isolated_home, is_immediate=False, has_model=False, make_engine=EngineService
    )
    desk.application.services.settings.set("model_path", str(tiny))
    desk.application.start()
    desk.window.show_settings()
    desk.wait(lambda: bool(table(desk).rows), LOAD_MS)
    yield desk
    desk.close()


def page(desk):
    return desk.window.findChild(PrecisionPanel)


def table(desk):
    return page(desk).table


def running(desk):
    return desk.window.findChild(Measurement)


def test_measure_one_cancel_the_next_and_keep_the_first(desk, tiny):
    assert not running(desk).is_running
    page(desk).bar.button.click()
    program = psutil.Process(running(desk)._process.processId())
    desk.wait(lambda: "KL" in " ".join(table(desk).rows[0].texts), LOAD_MS)
    assert re.search(r"\d% same token", " ".join(table(desk).rows[0].texts))
    assert not program.is_running()
    program = psutil.Process(running(desk)._process.processId())
    page(desk).bar.cancel_button.click()
    desk.wait(lambda: not program.is_running())
    assert not running(desk).is_running
    assert desk.application.close()
    kept = LossBook.read(desk.paths.losses).of_model(model_key(str(tiny)))
    assert list(kept) == ["int4"]
    assert 0 <= kept["int4"].top1_agreement <= 1
    assert kept["int4"].seconds > 0


def test_closing_ends_the_measuring(desk):
    page(desk).bar.button.click()
    program = psutil.Process(running(desk)._process.processId())
    assert desk.application.close()
    assert not program.is_running()


def test_the_planner_foresees_a_reload_before_it_is_done(desk):
    panel = desk.window.findChild(SettingsPanel)
    controllers = desk.application.controllers
    desk.wait(lambda: not controllers.model.is_loading, LOAD_MS)
    panel.changed.emit("weights", "fp32")
    desk.wait(lambda: panel._forecast.text.startswith("Needs"), LOAD_MS)
    assert re.fullmatch(r"Needs ~\S+ [MG]iB of \S+ [MGT]iB free: .+", panel._forecast.text)
    panel.reload_requested.emit()
    desk.wait(lambda: panel._forecast.text == "", LOAD_MS)
