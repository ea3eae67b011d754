"""What looking costs: the time between tokens with the inspector and without it, in one long run.

Run by hand, on a quiet machine, in under six minutes::

    python tests/perf/inspector_cost.py MODEL
    python tests/perf/inspector_cost.py MODEL --without-window

Answers are written one after another, and meanwhile the inspector is opened and shut again and
again. Two neighbouring blocks of about a second, one of each, are a pair; which comes first is a
matter of chance, each as often as the other, and an answer's end in the middle makes no pair. The
first runs the whole app and shows the four views in turn, on the screen or hidden in a panel that
stays; the second the engine alone, its inspector's thread hearing every event and the map of the
cache asked for twice a second, or neither.

Prints one JSON object: the mean time between tokens of both, the mean of the pairs' differences as
a part of it with its 95% interval (bootstrapped over pairs; above 0: the inspector costs), and what
the GUI's, the inspector's and the engine's threads had of a core. Asserts nothing.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Final, Protocol

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from PySide6.QtCore import QCoreApplication, QEventLoop, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication

from app.application import StartOptions
from app.composition import build
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
    TokensProduced,
)
from engine.service import EngineService
from engine.tracing.inspector import AnswerInspector
from ui.inspector.page import InspectorPage

PROMPT = "Write a long story about a lighthouse, its keeper and the sea."
VIEWS: Final = ("answer", "tokens", "cache", "machine")
BLOCK_S, SETTLE_S, ASK_S = 1.15, 0.1, 0.5
PAIRS, TOKENS, LEAST_TOKENS = 110, 3_000, 8
MOST_S = 340.0  # whatever came of it by then
RESAMPLES = 10_000


class MutedInspector(AnswerInspector):
    """An inspector whose ears can be shut."""

    is_muted = False

    def take(self, event: Event) -> None:
        if not self.is_muted:
            super().take(event)

    def post(self, command: ExplainAnswer | NotePaint | ExportTrace) -> None:
        if not self.is_muted:
            super().post(command)


class Subject(Protocol):
    """Who writes answers and can be looked at: ``tokens`` carries times (ns), ``ended`` nothing."""

    tokens: Signal
    ended: Signal

    def begin(self) -> None: ...

    def look(self, pair: int, *, is_watched: bool) -> None: ...


class Engine(QObject):
    """The engine alone; its events come to this thread through signals."""

    tokens = Signal(tuple)
    ended = Signal()
    ready = Signal(str)

    def __init__(self, path: str) -> None:
        super().__init__()
        self._num_requests, self._num_questions = 0, 0
        self.service = EngineService(self._on_event)
        self.inspector = MutedInspector(self._on_event)
        self.service._inspector = self.inspector
        self._asking = QTimer(self)
        self._asking.setInterval(round(ASK_S * 1_000))
        self._asking.timeout.connect(self._ask)
        loop = QEventLoop()
        problems: list[str] = []
        self.ready.connect(problems.append, Qt.ConnectionType.QueuedConnection)
        self.ready.connect(loop.quit, Qt.ConnectionType.QueuedConnection)
        self.service.start()
        self.service.post(LoadModel(ModelOptions(path)))
        loop.exec()
        if problems[0]:
            raise RuntimeError(problems[0])

    def _on_event(self, event: Event) -> None:
        match event:
            case ModelReady():
                self.ready.emit("")
            case ModelFailed(_path, failure):
                self.ready.emit(failure.message)
            case TokensProduced():
                self.tokens.emit(event.times_ns)
            case Finished() | RequestFailed():
                self.ended.emit()

    @Slot()
    def _ask(self) -> None:
        self._num_questions += 1
        self.service.post(MapCache(self._num_questions, 1_000))

    def begin(self) -> None:
        self._num_requests += 1
        params = SamplingParams(temperature=0.0, max_tokens=TOKENS, ignore_eos=True)
        name = f"{self._num_requests}.1"
        self.service.post(
            Submit(
                GenerationRequest(
                    name, perf_counter_ns(), params, prompt=PROMPT, conversation_id=name
                )
            )
        )

    def look(self, pair: int, *, is_watched: bool) -> None:  # noqa: ARG002 - as the window's
        self.inspector.is_muted = not is_watched
        if is_watched:
            self._asking.start()
        else:
            self._asking.stop()

    def close(self) -> None:
        self.service.close(10)


class Window(QObject):
    """The whole app on a folder of its own."""

    tokens = Signal(tuple)
    ended = Signal()

    def __init__(self, qt: QApplication, path: str, views: Sequence[str]) -> None:
        super().__init__()
        self._views = views
        os.environ["TOKENTIDE_HOME"] = tempfile.mkdtemp(prefix="inspector-cost")
        paths = app_paths(Path(os.environ["TOKENTIDE_HOME"]))
        paths.create()
        settings = Settings.load(paths.settings, paths.secrets)
        settings.set("temperature", 0.0)
        settings.set("max_tokens", TOKENS)
        self.application = build(qt, paths, settings, StartOptions(model=path))
        self._loop = QEventLoop()
        self.application.window.resize(1_280, 900)
        self.application.start()
        self.application.begin()
        controllers = self.application.controllers
        controllers.model.changed.connect(self._on_model)
        self._loop.exec()
        controllers.model.changed.disconnect(self._on_model)
        if controllers.model.info is None:
            raise RuntimeError("the model was not loaded")
        self.application.window.show_inspector()
        self.application.services.bridge.tokens_produced.connect(self._on_tokens)
        controllers.answers.ended.connect(self._on_ended)

    @Slot()
    def _on_model(self) -> None:
        if not self.application.controllers.model.is_loading:
            self._loop.quit()

    @Slot(TokensProduced)
    def _on_tokens(self, event: TokensProduced) -> None:
        self.tokens.emit(event.times_ns)

    @Slot(object)
    def _on_ended(self, _message: object) -> None:
        self.ended.emit()

    def begin(self) -> None:
        chat = self.application.controllers.chat
        chat.open(None)  # in a chat of its own: all are as long
        chat.ask(None, PROMPT)

    def look(self, pair: int, *, is_watched: bool) -> None:
        page = self.application.window.findChild(InspectorPage)
        if page is not None:  # it may be built when it is first seen
            page.show_view(self._views[pair % len(self._views)])
            page.setVisible(is_watched)

    def close(self) -> None:
        self.application.close()


# ---------------------------------------------------------------------- measuring


@dataclass(frozen=True, slots=True)
class Block:
    """Mean time between its tokens (ms), and what each thread had of a core meanwhile."""

    itl_ms: float
    cores: dict[str, float]


class Clocks:
    """Processor seconds of some threads of this process, by name."""

    def __init__(self) -> None:
        known = {"MainThread": "gui", "inspector": "inspector", "engine": "engine"}
        self._ids = {
            known[thread.name]: thread.ident
            for thread in threading.enumerate()
            if thread.name in known and thread.ident is not None
        }

    def read(self) -> dict[str, float]:
        clock_of = getattr(time, "pthread_getcpuclockid", None)
        if clock_of is None:
            return {"gui": time.thread_time()}
        return {name: time.clock_gettime(clock_of(ident)) for name, ident in self._ids.items()}


class Alternation(QObject):
    """Opens and shuts in turn while answers are written; ``pairs`` of (shut, open) come of it."""

    def __init__(self, subject: Subject, num_pairs: int, seed: int) -> None:
        super().__init__()
        self._subject = subject
        self._clocks = Clocks()
        self.pairs: list[tuple[Block, Block]] = []
        self._orders = list(_orders(num_pairs, random.Random(seed)))
        self._blocks: dict[bool, Block] = {}
        self._times: list[int] = []
        self._num_tokens = 0
        self._is_counting = False
        self._at, self._spent = 0.0, self._clocks.read()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_time)
        self._loop = QEventLoop()
        subject.tokens.connect(self._on_tokens, Qt.ConnectionType.QueuedConnection)
        subject.ended.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)

    def run(self) -> list[tuple[Block, Block]]:
        """All of them, or as many as MOST_S gives."""
        self._began_s = time.monotonic()
        self._subject.begin()
        self._loop.exec()
        return self.pairs

    @property
    def _is_second(self) -> bool:
        return bool(self._blocks)

    @property
    def _is_watched(self) -> bool:
        first = self._orders[len(self.pairs)]
        return first != self._is_second

    @Slot(tuple)
    def _on_tokens(self, times: tuple[int, ...]) -> None:
        self._num_tokens += len(times)
        if self._is_counting:
            self._times += times
        elif not self._timer.isActive() and self._num_tokens >= LEAST_TOKENS:
            self._settle()

    @Slot()
    def _on_ended(self) -> None:
        self._timer.stop()
        self._blocks, self._is_counting, self._num_tokens = {}, False, 0
        if not self._is_done:
            self._subject.begin()

    @Slot()
    def _on_time(self) -> None:
        if self._is_counting:
            self._end_block()
        else:
            self._times, self._is_counting = [], True
            self._at, self._spent = time.monotonic(), self._clocks.read()
            self._timer.start(round(BLOCK_S * 1_000))

    def _settle(self) -> None:
        self._subject.look(len(self.pairs), is_watched=self._is_watched)
        self._timer.start(round(SETTLE_S * 1_000))

    def _end_block(self) -> None:
        self._is_counting = False
        wall, spent = time.monotonic() - self._at, self._clocks.read()
        cores = {name: (spent[name] - self._spent[name]) / wall for name in spent}
        times = self._times
        if len(times) > LEAST_TOKENS:
            itl = (times[-1] - times[0]) / (len(times) - 1) / 1e6
            self._blocks[self._is_watched] = Block(itl, cores)
        if len(self._blocks) == 2:
            self.pairs.append((self._blocks[False], self._blocks[True]))
            self._blocks = {}
        if self._is_done:
            self._loop.quit()
        else:
            self._settle()

    @property
    def _is_done(self) -> bool:
        is_late = time.monotonic() - self._began_s > MOST_S
        return len(self.pairs) >= len(self._orders) or is_late


def _orders(count: int, rng: random.Random) -> Iterator[bool]:
    """Whether each pair begins with the open inspector: half of them, in any order."""
    half = [True] * (count // 2) + [False] * (count - count // 2)
    rng.shuffle(half)
    yield from half


def interval(
    pairs: Sequence[tuple[float, float]], rng: random.Random, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """The middle 95% of the mean difference, as a part of the first's mean, over resampled pairs."""
    found = sorted(_part(rng.choices(pairs, k=len(pairs))) for _ in range(resamples))
    return found[round(0.025 * (resamples - 1))], found[round(0.975 * (resamples - 1))]


def _part(pairs: Sequence[tuple[float, float]]) -> float:
    plain = sum(one for one, _other in pairs)
    return (sum(other for _one, other in pairs) - plain) / plain


def report(pairs: Sequence[tuple[Block, Block]], views: Sequence[str]) -> dict[str, object]:
    """What is printed."""
    times = [(plain.itl_ms, watched.itl_ms) for plain, watched in pairs]
    low, high = interval(times, random.Random(0))
    of_view = {view: times[number :: len(views)] for number, view in enumerate(views)}
    return {
        "pairs": len(pairs),
        "shut_itl_ms": round(statistics.fmean(plain for plain, _watched in times), 4),
        "open_itl_ms": round(statistics.fmean(watched for _plain, watched in times), 4),
        "difference_percent": round(100 * _part(times), 3),
        "interval_95_percent": [round(100 * low, 3), round(100 * high, 3)],
        "median_difference_percent": round(
            100 * statistics.median(watched / plain - 1 for plain, watched in times), 3
        ),
        "difference_percent_by_view": {
            view: round(100 * _part(some), 3) for view, some in of_view.items() if some
        },
        "cores_shut": _mean_cores([plain for plain, _watched in pairs]),
        "cores_open": _mean_cores([watched for _plain, watched in pairs]),
    }


def _mean_cores(blocks: Sequence[Block]) -> dict[str, float]:
    names = blocks[0].cores
    return {name: round(statistics.fmean(b.cores[name] for b in blocks), 4) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--views", nargs="+", choices=VIEWS, default=VIEWS)
    parser.add_argument("--without-window", action="store_true")
    options = parser.parse_args()
    is_alone = options.without_window
    subject: Engine | Window
    kept: Callable[[], None]
    if is_alone:
        application = QCoreApplication(sys.argv[:1])
        subject, views = Engine(options.model), ("engine",)
        kept = application.quit
    else:
        qt = QApplication(sys.argv[:1])
        subject, views = Window(qt, options.model, options.views), tuple(options.views)
        kept = qt.quit
    try:
        pairs = Alternation(subject, options.pairs, options.seed).run()
    finally:
        subject.close()
        kept()
    if not pairs:
        raise RuntimeError("no pair of blocks was whole")
    sys.stdout.write(f"{json.dumps(report(pairs, views))}\n")


if __name__ == "__main__":
    main()
