"""The page in the middle of the window: the experiments at the left, the chosen one at the right.

Shows what its controller gives it and says by signal what the user wants; it measures nothing.
"""

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from ui.experiments.choice import Choice
from ui.experiments.details import Details
from ui.experiments.figures import words_label
from ui.experiments.rows import DepthRow, ExperimentRow, RunState
from ui.i18n import tr
from ui.icons import Icon, make_icon
from ui.theme import ThemeSource, set_look

_MARGIN = 18
_ICON = 14
_WIDE = 640  # below it, a box replaces the column
_COLUMN = 250
_NARROWEST = 320


class ExperimentsPage(QWidget):
    """``chosen`` carries the name of the experiment that is to be shown."""

    closed = Signal()
    chosen = Signal(str)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        set_look(self, "page")
        self._themes = themes
        self._rows: dict[str, ExperimentRow] = {}
        self._back = QPushButton(tr("Back to the chat"), self)
        set_look(self._back, "quiet")
        self._back.clicked.connect(self.closed)
        self._hint = words_label("small", self)
        self._hint.setText(tr("Each is measured on the loaded model. A chat goes first."))
        self.choice = Choice(themes, self)
        self.choice.chosen.connect(self.choose)
        self.details = Details(themes, self)
        self._line = QFrame(self)
        self._body = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._arrange()
        themes.changed.connect(self._on_theme)
        self._on_theme()

    # ------------------------------------------------------------------ what it is told

    def set_experiments(self, rows: Sequence[ExperimentRow], depths: Sequence[DepthRow]) -> None:
        """Offer these, once."""
        self._rows = {row.name: row for row in rows}
        self.details.set_depths(depths)
        self.choice.set_rows(rows)
        for one, other in pairwise([self._back, *self.choice.stops, *self.details.stops]):
            QWidget.setTabOrder(one, other)
        if rows:
            self.choose(rows[0].name)

    def choose(self, name: str) -> None:
        """Show one of the experiments, and say so."""
        if name in self._rows:
            self.choice.choose(name)
            self.details.show_experiment(self._rows[name])
            self.chosen.emit(name)

    def set_depths(self, rows: Sequence[DepthRow]) -> None:
        """How thorough the chosen experiment may be, and how long that takes."""
        self.details.set_depths(rows)

    def show_state(self, state: RunState) -> None:
        """What runs at present."""
        self.choice.set_running(state.running)
        self.details.show_state(state)

    def focus_first(self) -> None:
        """Take the keyboard when the page opens."""
        self.choice.focus()

    # ------------------------------------------------------------------ inside

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(_MARGIN, 4, _MARGIN, 10)
        head.setSpacing(12)
        self._back.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        head.addWidget(self._back, 0, Qt.AlignmentFlag.AlignLeft)
        head.addWidget(self._hint, 1)
        line = QFrame(self)
        set_look(line, "hairline")
        self._body.setContentsMargins(0, 0, 0, 0)
        self._body.setSpacing(0)
        self._body.addWidget(self.choice)
        self._body.addWidget(self._line)
        self._body.addWidget(self.details, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(line)
        column.addLayout(self._body, 1)

    def _on_theme(self) -> None:
        size = self._themes.px(_ICON)
        self._back.setIcon(make_icon(Icon.CHEVRON_LEFT, self._themes.color("muted"), size))
        self._back.setIconSize(QSize(size, size))
        self._turn()

    def _turn(self) -> None:
        """Side by side where there is room, else one under the other."""
        is_wide = self.width() >= self._themes.px(_WIDE)
        direction = (
            QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        )
        self._body.setDirection(direction)
        set_look(self._line, "hairline-v" if is_wide else "clear")
        self.choice.set_narrow(is_narrow=not is_wide)
        most = self._themes.px(_COLUMN) if is_wide else 16_777_215
        self.choice.setMaximumWidth(most)
        self.choice.setMinimumWidth(most if is_wide else 0)
        self._hint.setVisible(is_wide)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(_NARROWEST), self._themes.px(_NARROWEST))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._turn()
