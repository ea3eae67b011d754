"""From the start of the process to a window, to a model, and typing meanwhile.

Run by hand on a screen: ``xvfb-run -a -s -noreset python tests/perf/gui_start.py --model M``.
Each round starts the app in a home of its own and notes, on a clock outside it, when its window is
on the screen (xdotool finds it) and when its log says that the model is ready. ``--typing`` builds
the app in this process instead, types while the model loads, and prints how long each key took until
it was handled and until the composer was painted. Asserts nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, perf_counter_ns

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from typing_extensions import override

from app.application import StartOptions
from app.collector import ImportsSpared
from app.composition import build
from app.logs import LOG_NAME
from app.paths import app_paths
from app.settings.values import Settings
from app.turns import QuickTurns
from engine.api import ModelReady
from tests.perf.gui_timing import TimedApplication, percentiles
from ui.chat.page import ChatPage

ROOT = Path(__file__).resolve().parents[2]
READY = "Model ready"
KEY_MS = 60  # a quick typist
TIMEOUT_S = 120


def _is_on_screen(pid: int) -> bool:
    words = ["xdotool", "search", "--onlyvisible", "--pid", str(pid), "--name", "Tokentide"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _start(model: str) -> dict[str, float]:
    """One start, in seconds after it."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "TOKENTIDE_HOME": home}
        log = app_paths(Path(home)).logs / LOG_NAME
        began = perf_counter()
        words = [sys.executable, "-m", "app", "--model", model]
        process = subprocess.Popen(words, cwd=ROOT, env=environment)
        times: dict[str, float] = {}
        while len(times) < 2 and perf_counter() - began < TIMEOUT_S and process.poll() is None:
            if "window_s" not in times and _is_on_screen(process.pid):
                times["window_s"] = perf_counter() - began
            if "ready_s" not in times and log.exists() and READY in log.read_text("utf-8"):
                times["ready_s"] = perf_counter() - began
        process.terminate()
        process.wait(30)
    return {name: round(value, 2) for name, value in times.items()}


class Typist(QObject):
    """Types a letter now and then until the model is ready."""

    def __init__(self, page: ChatPage) -> None:
        super().__init__()
        self._input = page.composer.input
        self.handled_ms: list[float] = []
        self.painted_ms: list[float] = []
        self._pressed_ns = 0
        self._input.viewport().installEventFilter(self)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._press)
        self._timer.start(KEY_MS)

    def _press(self) -> None:
        self._pressed_ns = perf_counter_ns()
        QTest.keyClick(self._input, Qt.Key.Key_A, Qt.KeyboardModifier.NoModifier)
        self.handled_ms.append((perf_counter_ns() - self._pressed_ns) / 1e6)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint and self._pressed_ns:
            self.painted_ms.append((perf_counter_ns() - self._pressed_ns) / 1e6)
            self._pressed_ns = 0
        return False


def _type(model: str) -> dict[str, object]:
    qt = TimedApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as home:
        paths = app_paths(Path(home))
        paths.create()
        settings = Settings.load(paths.settings, paths.secrets)
        application = build(qt, paths, settings, StartOptions(model=model))
        passing = [made(application.services.bridge) for made in (ImportsSpared, QuickTurns)]
        application.start()
        page = application.window.findChild(ChatPage)
        assert isinstance(page, ChatPage)
        typist: list[Typist] = []

        def begin() -> None:
            qt.forget()
            typist.append(Typist(page))

        def end(_ready: ModelReady) -> None:
            QTimer.singleShot(200, qt.quit)

        application.services.bridge.model_ready.connect(end)
        QTimer.singleShot(100, begin)
        QTest.mouseMove(application.window, QPoint(5, 5))
        qt.exec()
        result = {
            "keys": len(typist[0].handled_ms),
            "handled_ms": percentiles(typist[0].handled_ms),
            "painted_ms": percentiles(typist[0].painted_ms),
            **qt.events(),
        }
        application.close()
        for measure in passing:
            measure.stop()
    return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--typing", action="store_true")
    arguments = parser.parse_args()
    if arguments.typing:
        result: object = _type(arguments.model)
    else:
        result = [_start(arguments.model) for _ in range(arguments.rounds)]
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
