"""What looking costs: decode speed with the inspector and without it, in turn, in one process.

Run by hand, on a quiet machine::

    python tests/perf/inspector_cost.py MODEL [--tokens 200] [--pairs 8]
    python tests/perf/inspector_cost.py MODEL --window machine

The first asks the engine alone: the same greedy answer with the inspector's thread hearing every
event and the map of the cache asked for twice a second, and with neither. The second runs the whole
app and streams the same answer with a view of the inspector on the screen and with the panel shut.
Prints one JSON object: tokens a second of both, the median of the pairs' ratios (above 1: the
inspector costs), and the same of the processor time that the whole process takes for a token, which
other programs disturb less; and the share of the time that the GUI thread had a core for.
Asserts nothing.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Self

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import QEventLoop, QObject
from PySide6.QtWidgets import QApplication

from app.application import StartOptions
from app.composition import build
from app.conversations import ChatMessage
from app.paths import app_paths
from app.settings.values import Settings
from engine.api import (
    Event,
    ExplainAnswer,
    ExportTrace,
    Finished,
    GenerationRequest,
    LoadModel,
    MapCache,
    ModelFailed,
    ModelOptions,
    ModelReady,
    NotePaint,
    RequestFailed,
    SamplingParams,
    Submit,
    Timeline,
)
from engine.service import EngineService
from engine.tracing.inspector import AnswerInspector
from ui.inspector.page import InspectorPage

PROMPT = "Write a long story about a lighthouse, its keeper and the sea."
ASK_S = 0.5


class MutedInspector(AnswerInspector):
    """An inspector whose ears can be shut."""

    is_muted = False

    def take(self, event: Event) -> None:
        if not self.is_muted:
            super().take(event)

    def post(self, command: ExplainAnswer | NotePaint | ExportTrace) -> None:
        if not self.is_muted:
            super().post(command)


class Asker:
    """Asks for the map twice a second while it is on, from a thread of its own, as a window does."""

    def __init__(self, service: EngineService) -> None:
        self._service = service
        self._off = threading.Event()
        self._thread = threading.Thread(target=self._run, name="asker")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._off.set()
        self._thread.join()

    def _run(self) -> None:
        ticket = 0
        while not self._off.wait(ASK_S):
            ticket += 1
            self._service.post(MapCache(ticket, 1_000))


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one answer: tokens a second, and processor seconds of the process a token.

    ``own_share``: of the time, what this thread had a core for; in the window, the GUI's share.
    """

    rate: float
    cpu_s: float
    own_share: float


def measured(answer: Callable[[], Timeline | None]) -> Cost:
    """Compute one answer and see what it took."""
    began, own, at = time.process_time(), time.thread_time(), time.perf_counter()
    timeline = answer()
    spent = time.process_time() - began
    own_share = (time.thread_time() - own) / (time.perf_counter() - at)
    if timeline is None:
        raise RuntimeError("there was no answer")
    rate = timeline.decode_tokens_per_s or 0.0
    return Cost(rate, spent / timeline.num_output_tokens, own_share)


class Bench:
    """One engine and its model."""

    def __init__(self, path: str, tokens: int) -> None:
        self._tokens = tokens
        self._ended = threading.Event()
        self._timeline: Timeline | None = None
        self._ready = threading.Event()
        self._num_requests = 0
        self.problem = ""
        self.service = EngineService(self._on_event)
        self.inspector = MutedInspector(self._on_event)
        self.service._inspector = self.inspector
        self.service.start()
        self.service.post(LoadModel(ModelOptions(path)))
        self._ready.wait()

    def _on_event(self, event: Event) -> None:
        match event:
            case ModelReady():
                self._ready.set()
            case ModelFailed(_path, failure):
                self.problem = failure.message
                self._ready.set()
            case Finished(_request, _reason, timeline):
                self._timeline = timeline
                self._ended.set()
            case RequestFailed(_request, failure):
                self.problem = failure.message
                self._ended.set()

    def cost(self, is_watched: bool) -> Cost:
        """Of one answer."""
        self.inspector.is_muted = not is_watched
        if not is_watched:
            return measured(self._answer)
        with Asker(self.service):
            return measured(self._answer)

    def _answer(self) -> Timeline | None:
        self._num_requests += 1
        self._ended.clear()
        params = SamplingParams(temperature=0.0, max_tokens=self._tokens, ignore_eos=True)
        name = f"{self._num_requests}.1"
        request = GenerationRequest(
            name, perf_counter_ns(), params, prompt=PROMPT, conversation_id="1"
        )
        self.service.post(Submit(request))
        self._ended.wait()
        return self._timeline


def compare(cost: Callable[[bool], Cost], pairs: int) -> dict[str, object]:
    """Both in turn, the order changing with each pair; one answer before warms up."""
    cost(False)
    plain, watched = [], []
    for pair in range(pairs):
        for is_watched in (False, True) if pair % 2 else (True, False):
            (watched if is_watched else plain).append(cost(is_watched))
    both = list(zip(plain, watched, strict=True))
    ratios = [one.rate / other.rate for one, other in both]
    return {
        "plain_tokens_per_s": round(statistics.median(one.rate for one in plain), 2),
        "watched_tokens_per_s": round(statistics.median(one.rate for one in watched), 2),
        "ratio": round(statistics.median(ratios), 4),
        "cpu_ratio": round(statistics.median(b.cpu_s / a.cpu_s for a, b in both), 4),
        "own_share_plain": round(statistics.median(one.own_share for one in plain), 4),
        "own_share_watched": round(statistics.median(one.own_share for one in watched), 4),
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def of_engine(path: str, tokens: int, pairs: int) -> dict[str, object]:
    """The engine alone."""
    bench = Bench(path, tokens)
    try:
        return compare(bench.cost, pairs)
    finally:
        bench.service.close(10)


class Window(QObject):
    """The whole app on a folder of its own."""

    def __init__(self, qt: QApplication, path: str, tokens: int) -> None:
        super().__init__()
        os.environ.setdefault("TOKENTIDE_HOME", tempfile.mkdtemp(prefix="inspector-cost"))
        paths = app_paths(Path(os.environ["TOKENTIDE_HOME"]))
        paths.create()
        settings = Settings.load(paths.settings, paths.secrets)
        settings.set("temperature", 0.0)
        settings.set("max_tokens", tokens)
        self.application = build(qt, paths, settings, StartOptions(model=path))
        self._loop = QEventLoop()
        self._timeline: Timeline | None = None
        window, controllers = self.application.window, self.application.controllers
        window.resize(1_280, 900)
        self.application.start()
        self.application.begin()
        controllers.model.changed.connect(self._on_model)
        self._loop.exec()
        controllers.model.changed.disconnect(self._on_model)
        controllers.answers.ended.connect(self._on_ended)

    def _on_model(self) -> None:
        if not self.application.controllers.model.is_loading:
            self._loop.quit()

    def _on_ended(self, message: ChatMessage) -> None:
        self._timeline = message.timeline
        self._loop.quit()

    def answer(self) -> Timeline | None:
        """Ask in the open chat and wait for the end."""
        chat = self.application.controllers.chat
        chat.ask(None, PROMPT)
        self._loop.exec()
        return self._timeline

    def cost(self, view: str, *, is_watched: bool) -> Cost:
        """Of one answer, with the view on the screen or the page hidden."""
        window = self.application.window
        page = window.findChild(InspectorPage)
        window.show_inspector()
        page.show_view(view)
        page.setVisible(is_watched)
        return measured(self.answer)


def of_window(path: str, view: str, tokens: int, pairs: int) -> dict[str, object]:
    """The whole app, with a view on the screen and with the panel shut."""
    window = Window(QApplication(sys.argv[:1]), path, tokens)
    try:
        return compare(lambda is_watched: window.cost(view, is_watched=is_watched), pairs)
    finally:
        window.application.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--window", choices=("answer", "tokens", "cache", "machine"))
    options = parser.parse_args()
    if options.window is None:
        result = of_engine(options.model, options.tokens, options.pairs)
    else:
        result = of_window(options.model, options.window, options.tokens, options.pairs)
    sys.stdout.write(f"{json.dumps(result)}\n")


if __name__ == "__main__":
    main()
