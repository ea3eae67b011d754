"""The system prompt of one chat."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from ui.sidebar.prompt_dialog import PromptDialog


def test_what_is_saved_is_what_was_written(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    dialog = PromptDialog("Tides", "Be brief.", window)
    dialog.show()
    assert dialog.text.toPlainText() == "Be brief."
    dialog.text.setPlainText(" Be kind. \n")
    (save,) = [b for b in dialog.findChildren(QPushButton) if b.text() == "Save"]
    with qtbot.waitSignal(dialog.saved) as signal:
        qtbot.mouseClick(save, Qt.MouseButton.LeftButton)
    assert signal.args == ["Be kind."]
    qtbot.waitUntil(lambda: not window.findChildren(PromptDialog))
