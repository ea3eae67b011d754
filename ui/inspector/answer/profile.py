"""Where in the model: asked for by a button, since the model has to run for it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from engine.api.profile import PassProfile
from ui.i18n import tr
from ui.inspector.answer.pass_chart import PassChart
from ui.inspector.answer.passes import decode_pass, parts_table, prefill_pass
from ui.inspector.fact_grid import FactGrid
from ui.theme import ThemeSource, set_look


class ProfileSection(QWidget):
    """``wanted``: look into the model as this answer met it."""

    wanted = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._button = QPushButton(tr("Where in the model?"), self)
        self._button.setToolTip(
            tr(
                "Runs the model once more with a prompt as long as this one, and for some tokens "
                "behind it. Answers go first."
            )
        )
        self._button.clicked.connect(self.wanted)
        self._words = QLabel(self)
        self._words.setWordWrap(True)
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        set_look(self._words, "small")
        self._words.hide()
        self.decode = PassChart(themes, self)
        self.prefill = PassChart(themes, self)
        self.table = FactGrid(tr("Time of each part of the model"), self, gap=8)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._button, 0, Qt.AlignmentFlag.AlignLeft)
        for part in (self._words, self.decode, self.prefill, self.table):
            column.addWidget(part)
        self.clear()

    @property
    def text(self) -> str:
        """What is said beside the drawings."""
        return self._words.text()

    def set_possible(self, *, is_possible: bool) -> None:
        """Whether there is a model to look into."""
        self._button.setEnabled(is_possible)

    def clear(self) -> None:
        """Another answer: its profile is not known."""
        self._say("")
        self._show_drawings(shown=False)

    def show_running(self) -> None:
        """The model is looked into."""
        self._say(tr("The model runs…"))
        self._button.setEnabled(False)

    def show_problem(self) -> None:
        """It was given up."""
        self._say(tr("The model was not looked through to its end. Ask again."))

    def show_profile(self, profile: PassProfile) -> None:
        """Show where the time went."""
        self.decode.set_pass(decode_pass(profile))
        self.prefill.set_pass(prefill_pass(profile))
        self.table.set_table(parts_table(profile))
        words = tr("Measured just now on random tokens, {n} steps.", n=f"{profile.num_steps:,}")
        self._say(f"{self.decode.sentence} {self.prefill.sentence}\n{words}")
        self._show_drawings(shown=True)

    def _say(self, words: str) -> None:
        self._words.setText(words)
        self._words.setVisible(bool(words))

    def _show_drawings(self, *, shown: bool) -> None:
        for part in (self.decode, self.prefill, self.table):
            part.setVisible(shown)
