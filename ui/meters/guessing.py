"""What guessing ahead brings: how many guesses were right, tokens a step, and the gain.

Hidden while nothing guesses. Shows figures that the engine measured; the gain rests on what a step
without guesses would cost, which is estimated, hence its "~".
"""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from engine.api import EngineStats, ModelInfo, Timeline, TokensProduced
from ui.i18n import tr
from ui.meters.reading import Reading
from ui.theme import ThemeSource, set_look
from ui.widgets.units import duration_quantity


def guess_words(timeline: Timeline) -> str:
    """Guesses and gain of one answer."""
    right, drafted = timeline.num_accepted_tokens, timeline.num_drafted_tokens
    words = tr("{right} of {drafted} guesses right", right=f"{right:,}", drafted=f"{drafted:,}")
    gain, plain_ns = timeline.guessing_gain, timeline.plain_step_ns
    if gain is not None and plain_ns is not None:
        words += "\n" + tr(
            "~{gain} times the speed of steps without guesses (~{time} each)",
            gain=f"{gain:.2f}",
            time=duration_quantity(plain_ns),
        )
    return words


class GuessMeter(QWidget):
    """One reading and a line of words."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._timeline: Timeline | None = None
        self._is_at_rest = False
        self._num_tokens = self._num_guessed = 0
        self._reading = Reading(tr("Guesses that were right"), themes, self)
        self._words = QLabel(self)
        set_look(self._words, "small")
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        self._words.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self._reading)
        layout.addWidget(self._words)
        self.hide()

    @property
    def text(self) -> str:
        """All that it says."""
        return f"{self._reading.text}\n{self._words.text()}"

    def set_model(self, info: ModelInfo | None) -> None:
        """The loaded model: the meter shows where something guesses for it."""
        self.setVisible(info is not None and bool(info.draft))

    def start_answer(self) -> None:
        """Forget the answer before."""
        self._timeline = None
        self._num_tokens = self._num_guessed = 0
        self._show()

    def add_tokens(self, event: TokensProduced) -> None:
        """New tokens of the shown answer."""
        self._num_tokens += len(event.token_ids)
        self._num_guessed += event.num_accepted

    def set_timeline(self, timeline: Timeline | None) -> None:
        """The answer has ended; None: there is none."""
        self._timeline = timeline
        self._show()

    def set_stats(self, stats: EngineStats) -> None:
        """New gauges: whether guessing rests."""
        self._is_at_rest = stats.is_guessing_at_rest
        self._show()

    def _show(self) -> None:
        timeline = self._timeline
        words = []
        if timeline is not None and timeline.num_drafted_tokens:
            share = timeline.num_accepted_tokens / timeline.num_drafted_tokens
            steps = timeline.tokens_per_step
            details = "" if steps is None else tr("{n} tokens a step", n=f"{steps:.2f}")
            self._reading.show_text(f"{100 * share:.0f}", "%", details)
            words.append(guess_words(timeline))
        else:
            self._reading.clear()
        if timeline is None and self._num_tokens:
            words.append(
                tr(
                    "{guessed} of {total} tokens were guessed",
                    guessed=f"{self._num_guessed:,}",
                    total=f"{self._num_tokens:,}",
                )
            )
        if self._is_at_rest:
            words.append(tr("It does not pay here at present, so it is resting."))
        self._words.setText("\n".join(words))
        self._words.setVisible(bool(words))
