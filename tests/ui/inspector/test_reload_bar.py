"""The offer to load the model again."""

from ui.inspector.reload_bar import ReloadBar


def test_it_is_there_when_needed(qtbot):
    bar = ReloadBar()
    qtbot.addWidget(bar)
    assert bar.isHidden()
    bar.set_needed(needed=True)
    assert not bar.isHidden()
    with qtbot.waitSignal(bar.reload_requested):
        bar.button.click()
