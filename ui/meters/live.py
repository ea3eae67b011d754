"""The Live page: first token, between tokens, KV cache and memory, and what holds an answer up.

Shows figures that others measured; computes only the distribution of the gaps it is given.
Repaints at most five times a second: an answer on two cores feels each of them.
"""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QFrame,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from engine.api import Device, EngineStats, ModelInfo, Timeline, TokensProduced
from ui.diagnosis.card import DiagnosisCard
from ui.i18n import tr
from ui.meters.gauges import ChatUse, kv_parts, memory_parts, turns_left
from ui.meters.guessing import GuessMeter
from ui.meters.itl import RollingItl
from ui.meters.reading import Reading
from ui.meters.stages import prompt_words, ttft_parts
from ui.meters.trace import ItlTrace
from ui.theme import ThemeSource, set_look
from ui.widgets.parts_bar import Legend, Part, PartsBar
from ui.widgets.steady_text import SteadyText
from ui.widgets.units import (
    UNKNOWN,
    bytes_over,
    bytes_quantity,
    duration_quantity,
    milliseconds,
    rate_quantity,
)

REPAINT_MS = 200
MARGIN = 18
BETWEEN_METERS = 24


class LiveMeters(QWidget):
    """Four meters under each other, and a fifth where tokens are guessed ahead."""

    experiment_requested = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("liveMeters")
        self._model: ModelInfo | None = None
        self._stats: EngineStats | None = None
        self._timeline: Timeline | None = None
        self._first_token: Timeline | None = None
        self._chat = ChatUse()
        self._num_chats: int | None = None
        self._itl = RollingItl()
        self._repaint = QTimer(self)
        self._repaint.setObjectName("meterRepaint")
        self._repaint.setSingleShot(True)
        self._repaint.setInterval(REPAINT_MS)
        self._repaint.timeout.connect(self._show_all)
        self._ttft = Reading(tr("First token (TTFT)"), themes, self)
        self._ttft_bar, self._ttft_legend = self._bar(themes, tr("Parts of the first token"))
        self._prompt = SteadyText(themes, self)
        self._gaps = Reading(tr("Between tokens (ITL)"), themes, self)
        self._spread = SteadyText(themes, self)
        self._guessing = GuessMeter(themes, self)
        self._trace = ItlTrace(themes, self)
        self._trace.setAccessibleName(tr("Trace of the latest gaps between tokens"))
        self._kv = Reading(tr("KV cache"), themes, self)
        self._kv_bar, self._kv_legend = self._bar(themes, tr("KV cache"))
        self._turns = SteadyText(themes, self)
        self._experiment = QPushButton(tr("What is the cache for?"), self)
        set_look(self._experiment, "link-small")
        self._experiment.setToolTip(tr("Compares an answer with the cache and without it."))
        self._experiment.clicked.connect(self.experiment_requested)
        self._memory = Reading(tr("Memory"), themes, self)
        self._memory_bar, self._memory_legend = self._bar(themes, tr("Memory"))
        self.diagnosis = DiagnosisCard(themes, self, has_details=True)
        self._arrange()

    # ------------------------------------------------------------------ what it is told

    def set_model(self, info: ModelInfo | None) -> None:
        """The loaded model; None empties the cache meter."""
        self._model = info
        self._guessing.set_model(info)
        self._experiment.setEnabled(info is not None)
        self._plan_repaint()

    def start_answer(self) -> None:
        """A request was sent: forget the figures of the answer before."""
        self._forget_answer()
        self._guessing.start_answer()
        self._plan_repaint()

    def set_pending(self, text: str) -> None:
        """What the wait for the first token is spent on, in words, and how far it is."""
        self._prompt.setText(text)

    def set_first_token(self, timeline: Timeline) -> None:
        """The first token of an answer in the making is chosen: what led to it."""
        self._first_token = timeline
        self._show_timeline(timeline)

    def set_ttft(self, ttft_ns: int) -> None:
        """The first character is on the screen."""
        if (first := self._first_token) is None:
            self._ttft.show_quantity(duration_quantity(ttft_ns))
        else:
            painted_ns = max(first.first_token_ns, first.sent_ns + ttft_ns)
            self.set_first_token(replace(first, first_paint_ns=painted_ns))

    def set_timeline(self, timeline: Timeline | None) -> None:
        """An answer's stages once it ended; None: no answer, or one that never started."""
        if timeline is None or not self._has_gaps_of(timeline):
            self._forget_answer()
        self._guessing.set_timeline(timeline)
        self._timeline = timeline
        if timeline is not None:
            self._show_timeline(timeline)
        self._plan_repaint()

    def add_tokens(self, event: TokensProduced) -> None:
        """New tokens of the shown answer."""
        self.add_token_times(event.times_ns)
        self._guessing.add_tokens(event)

    def add_token_times(self, times_ns: Sequence[int]) -> None:
        """New tokens of the shown answer: when the engine chose each, oldest first."""
        self._trace.add(self._itl.add(times_ns))
        self._plan_repaint()

    def set_stats(self, stats: EngineStats) -> None:
        """New gauges."""
        self._stats = stats
        self._guessing.set_stats(stats)
        self._plan_repaint()

    def set_chat_tokens(self, used: int, turns: int) -> None:
        """Tokens of the open chat's context, and its number of turns (0: not known)."""
        self._chat = replace(self._chat, num_tokens=used, num_turns=turns)
        self._plan_repaint()

    def set_counted(self, num_chats: int, *, is_live: bool) -> None:
        """Whose the cache was when the gauges were read.

        So many chats had an answer written then; ``is_live``: the open one among them. An answer
        that has ended since is still in those gauges.
        """
        self._num_chats = num_chats
        self._chat = replace(self._chat, is_live=is_live)
        self._plan_repaint()

    # ------------------------------------------------------------------ showing

    def _plan_repaint(self) -> None:
        if not self._repaint.isActive():
            self._repaint.start()

    def _has_gaps_of(self, timeline: Timeline) -> bool:
        # an answer of another chat, or of an earlier run, has none here
        first = self._itl.first_ns
        return first is not None and timeline.first_token_ns <= first <= timeline.last_token_ns

    def _forget_answer(self) -> None:
        self._timeline = self._first_token = None
        self._itl.clear()
        self._trace.clear()
        self._ttft.clear()
        self._ttft_bar.set_parts(())
        self._ttft_legend.set_parts(())
        self._prompt.clear()

    def _show_all(self) -> None:
        self._show_gaps()
        self._show_cache()
        self._show_memory()

    def _show_timeline(self, timeline: Timeline) -> None:
        rate = timeline.prefill_tokens_per_s
        details = tr("prefill {rate}", rate=rate_quantity(rate)) if rate else ""
        self._ttft.show_quantity(duration_quantity(timeline.ttft_ns), details)
        parts = ttft_parts(timeline)
        self._ttft_bar.set_parts(parts)
        self._ttft_legend.set_parts(parts)
        self._prompt.setText(prompt_words(timeline))

    def _show_gaps(self) -> None:
        figures = self._itl.figures()
        if figures is None:
            rate = None if self._timeline is None else self._timeline.decode_tokens_per_s
            details = tr("decode {rate}", rate=rate_quantity(rate)) if rate else ""
            self._gaps.show_text(UNKNOWN, "", details)
            self._spread.clear()
        else:
            decode = tr("decode {rate}", rate=rate_quantity(figures.tokens_per_s))
            self._gaps.show_quantity(duration_quantity(figures.now_ns), decode)
            self._spread.setText(
                tr(
                    "p50 {p50} · p95 {p95} · max {max} ms",
                    p50=milliseconds(figures.p50_ns),
                    p95=milliseconds(figures.p95_ns),
                    max=milliseconds(figures.max_ns),
                )
                + (
                    "\n" + tr("the mean: steps give several tokens at once")
                    if figures.is_shared
                    else ""
                )
            )
        self._trace.update()

    def _show_cache(self) -> None:
        stats, model = self._stats, self._model
        if stats is None or model is None or not stats.kv_total_blocks:
            self._kv.clear()
            self._show_parts(self._kv_bar, self._kv_legend, ())
            self._turns.clear()
            return
        # kept blocks are full ones
        num_tokens = stats.kv_live_tokens + stats.kv_cached_blocks * model.kv_block_size
        used, budget = bytes_over(
            stats.kv_live_bytes + stats.kv_cached_bytes, stats.kv_total_bytes
        )
        self._kv.show_quantity(used, f"{num_tokens:,} tok", f" / {budget}")
        parts = kv_parts(stats, model, self._chat, self._num_chats)
        self._show_parts(self._kv_bar, self._kv_legend, parts)
        self._turns.setText(self._context_words(stats, model))

    def _context_words(self, stats: EngineStats, model: ModelInfo) -> str:
        words = f"{bytes_quantity(model.kv_bytes_per_token)}/tok"
        turns = turns_left(stats, model, self._chat)
        if turns is not None:
            words += " · " + tr("~{n} turns left", n=f"{turns:,}")
        if self._chat.num_tokens:
            used, limit = f"{self._chat.num_tokens:,}", f"{model.context_length:,}"
            words += "\n" + tr("this chat {used} of {limit} tok", used=used, limit=limit)
        return words

    def _show_memory(self) -> None:
        stats = self._stats
        if stats is None or not stats.total_memory_bytes:
            self._memory.clear()
            self._show_parts(self._memory_bar, self._memory_legend, ())
            return
        used, total = bytes_over(stats.process_bytes, stats.total_memory_bytes)
        self._memory.show_quantity(used, "", f" / {total}")
        device = Device.CPU if self._model is None else self._model.device
        parts = memory_parts(stats, device)
        self._show_parts(self._memory_bar, self._memory_legend, parts, stats.total_memory_bytes)

    @staticmethod
    def _show_parts(
        bar: PartsBar, legend: Legend, parts: Sequence[Part], total: float | None = None
    ) -> None:
        bar.set_parts(parts, total)
        legend.set_parts(parts)

    # ------------------------------------------------------------------ building

    def _bar(self, themes: ThemeSource, name: str) -> tuple[PartsBar, Legend]:
        bar = PartsBar(themes, self)
        bar.setAccessibleName(name)
        return bar, Legend(themes, self)

    def _arrange(self) -> None:
        page = QWidget(self)
        # opaque: nothing behind it is painted when a figure changes
        page.setBackgroundRole(QPalette.ColorRole.Window)
        page.setAutoFillBackground(True)
        # a narrow panel squeezes the lines; it never scrolls sideways
        page.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        column = QVBoxLayout(page)
        column.setContentsMargins(MARGIN, 16, MARGIN, 24)
        column.setSpacing(6)
        meters = (
            (self._ttft, self._ttft_bar, self._ttft_legend, self._prompt),
            (self._gaps, self._spread, self._trace),
            (self._guessing,),
            (self._kv, self._kv_bar, self._kv_legend, self._turns, self._experiment),
            (self._memory, self._memory_bar, self._memory_legend),
        )
        for number, meter in enumerate(meters):
            for place, widget in enumerate(meter):
                if number and not place:
                    widget.setContentsMargins(0, BETWEEN_METERS - column.spacing(), 0, 0)
                column.addWidget(widget)
        column.setAlignment(self._experiment, Qt.AlignmentFlag.AlignLeft)
        column.addSpacing(BETWEEN_METERS - column.spacing())
        column.addWidget(self.diagnosis)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)
