import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from engine.api import LoadProgress, LoadStage
from tests.helpers.sample_engine import MODEL
from ui.theme import ThemeSource
from ui.widgets.model_pill import ModelPill, ModelPillState, PillStatus, stage_words

LOADING = ModelPillState.loading(LoadProgress("/m/small.gguf", LoadStage.WEIGHTS, 43, 100))


@pytest.mark.parametrize(
    ("state", "spoken"),
    [
        (ModelPillState(), "Model: Choose a model, none loaded"),
        (LOADING, "Model: Small, Loading weights 43%"),
        (ModelPillState.ready(MODEL), "Model: Small, ready, INT4 · CPU · 8K"),
        (ModelPillState.failed("/m/small.gguf"), "Model: Small, could not be loaded"),
    ],
)
def test_states_are_said_in_words(state, spoken):
    assert state.spoken() == spoken


def test_progress_is_known_while_loading_only():
    assert LOADING.progress == pytest.approx(0.43)
    assert ModelPillState.ready(MODEL).progress is None
    unknown = ModelPillState(PillStatus.LOADING, "small", stage=LoadStage.STARTING)
    assert unknown.progress == 0
    assert unknown.words() == "Starting the engine"


def test_every_stage_has_words():
    assert len({stage_words(stage) for stage in LoadStage}) == len(LoadStage)


@pytest.fixture
def pill(qtbot):
    pill = ModelPill(ThemeSource())
    qtbot.addWidget(pill)
    pill.show()
    return pill


def test_it_paints_each_state_differently_and_when_squeezed(pill):
    pictures = []
    pill.resize(300, 32)
    for state in (ModelPillState(), LOADING, ModelPillState.ready(MODEL)):
        pill.set_state(state)
        assert pill.accessibleName() == state.spoken()
        pictures.append(pill.grab().toImage())
    assert pictures[0] != pictures[1] != pictures[2]
    pill.resize(pill.minimumSizeHint())
    pill.grab()
    assert pill.sizeHint().width() > pill.minimumSizeHint().width()


def test_a_click_opens_the_menu(pill, qtbot):
    menu = QMenu(pill)
    menu.addAction("Reload")
    pill.set_menu(menu)
    qtbot.mouseClick(pill, Qt.MouseButton.LeftButton)
    assert menu.isVisible()
    menu.close()
