"""Runs the app on a home folder and leaves an answer streaming, until it is killed.

``python -m tests.helpers.mid_answer HOME QUESTION``; a scripted engine says "wave" for ever.
"""

import sys
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.application import StartOptions
from app.composition import build
from app.paths import app_paths
from app.settings.values import Settings
from tests.helpers.fake_engine import FakeEngines, Script
from ui.chat.page import ChatPage


def main(home: Path, question: str) -> int:
    app = QApplication([])
    paths = app_paths(home)
    paths.create()
    paths.starter_model.write_bytes(b"GGUF")
    script = Script(pieces=("wave ",) * 10_000_000, token_interval_s=0.001)
    application = build(app, paths, Settings(), StartOptions(), make_engine=FakeEngines(script))
    page = application.window.findChild(ChatPage)
    QTimer.singleShot(0, application.begin)
    QTimer.singleShot(200, lambda: page.send_requested.emit(question))
    return app.exec()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
