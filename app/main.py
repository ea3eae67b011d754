"""Starts the app. Prints nothing; what there is to say is said in the window or the log.

The order: arguments, paths, log -> QApplication -> one instance -> crash reports -> settings,
language, look -> the window on the screen -> (its first paint) -> store, conversations, engine
thread with torch, model. ``app.composition`` has the second half.
"""

import argparse
import logging
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

if sys.platform == "win32":
    # Qt brings a C++ runtime of its own; with that one in the process, torch's DLLs do not load.
    # So on Windows torch comes first, and the window some seconds later than elsewhere.
    import torch  # noqa: F401 - loaded for its DLLs alone

from PySide6.QtCore import (
    QLibraryInfo,
    QLocale,
    QObject,
    QSocketNotifier,
    Qt,
    QTranslator,
    Signal,
    Slot,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.application import StartOptions
from app.collector import ImportsSpared
from app.composition import build
from app.crash import CrashWatch
from app.instance import SingleInstance
from app.logs import start_logging, stop_logging
from app.paths import Paths, app_paths, resources_folder
from app.settings.values import Settings
from app.turns import QuickTurns

logger = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the app until its window is closed; the process's exit status."""
    arguments = _parse(argv)
    # nothing in this process asks a hub for anything by itself
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    paths = app_paths(arguments.home)
    handlers = start_logging(paths.logs)
    try:
        paths.create()
    except OSError as error:  # the window still opens, and says what cannot be saved
        logger.warning("A folder cannot be made: %s", error)
    try:
        return _run_alone(arguments, paths)
    finally:
        stop_logging(handlers)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tokentide", description="Chat with language models on your own computer."
    )
    parser.add_argument("--model", metavar="PATH", help="load this model, for this run")
    parser.add_argument("--home", metavar="DIR", type=Path, help="keep all files in this folder")
    parser.add_argument("--lang", choices=("en", "zh_CN"), help="the window's language")
    parser.add_argument("--scheme", choices=("light", "dark"), help="the window's colours")
    return parser.parse_args(argv)


def _run_alone(arguments: argparse.Namespace, paths: Paths) -> int:
    app = _make_application()
    instance = SingleInstance(paths.lock)
    if not instance.claim(arguments.model):
        return 0
    crash = CrashWatch(paths.logs)  # not before: the report file is the running instance's
    crash.start()
    try:
        status, has_ended = _run(app, instance, arguments, paths, crash.previous)
    finally:
        crash.stop()
        instance.release()
    if not has_ended:
        # a thread still computes inside torch: tearing the interpreter down under it would crash
        logging.shutdown()
        os._exit(status)
    return status


def _run(
    app: QApplication,
    instance: SingleInstance,
    arguments: argparse.Namespace,
    paths: Paths,
    crash_report: Path | None,
) -> tuple[int, bool]:
    """Show the window until it is closed; the exit status, and whether every thread has ended."""
    settings = Settings.load(paths.settings, paths.secrets)
    language = arguments.lang or settings.text("language")
    translators = install_translators(app, language, resources_folder() / "translations")
    options = StartOptions(arguments.model, arguments.scheme, crash_report)
    application = build(app, paths, settings, options)
    bridge = application.services.bridge
    passing = (ImportsSpared(bridge), QuickTurns(bridge))
    instance.raise_requested.connect(application.raise_window)
    instance.model_requested.connect(application.controllers.model.choose)
    interrupts = Interrupts(app)
    interrupts.interrupted.connect(app.closeAllWindows)
    application.start()
    status = app.exec()
    instance.stop_listening()
    has_ended = application.close()
    for measure in passing:
        measure.stop()
    interrupts.stop()
    for translator in translators:
        app.removeTranslator(translator)
    return status, has_ended


def _make_application() -> QApplication:
    QGuiApplication.setHighDpiScaleFactorRoundingPolicy(
        Qt.HighDpiScaleFactorRoundingPolicy.PassThrough
    )
    app = QApplication([sys.argv[0]])
    app.setApplicationName("tokentide")
    app.setApplicationDisplayName("Tokentide")
    app.setDesktopFileName("tokentide")
    return app


def install_translators(app: QApplication, language: str, folder: Path) -> list[QTranslator]:
    """Speak ``language`` ("system" asks the system): Qt's own words, then the app's.

    English, and a language without a catalogue, need none.
    """
    if language == "system":
        spoken = QLocale.system().uiLanguages()
        language = "zh_CN" if spoken and spoken[0].startswith("zh") else "en"
    if language == "en":
        return []
    installed = []
    qt_folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    for name, place in ((f"qtbase_{language}", qt_folder), (language, str(folder))):
        translator = QTranslator(app)
        if translator.load(name, place):
            app.installTranslator(translator)
            installed.append(translator)
    return installed


class Interrupts(QObject):
    """Ctrl+C in the terminal, and SIGTERM, as a signal of Qt: ``interrupted``.

    Python runs signal handlers only between its own instructions, and Qt's loop has none: the
    signal's number arrives through a socket that wakes the loop.
    """

    interrupted = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._reader, self._writer = socket.socketpair()
        self._writer.settimeout(0)
        self._old_wakeup = signal.set_wakeup_fd(self._writer.fileno())
        self._old_handlers = {
            number: signal.signal(number, self._ignore)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_signal)

    def stop(self) -> None:
        """Give the signals back."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._old_wakeup)
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    @staticmethod
    def _ignore(_number: int, _frame: FrameType | None) -> None:
        """Let the signal reach the socket, and nothing else."""

    @Slot()
    def _on_signal(self) -> None:
        self._reader.recv(64)
        self.interrupted.emit()
