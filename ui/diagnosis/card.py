"""The card: what held an answer up, the number that proves it, and up to three remedies.

Shows a ready state and says what was pressed. A hidden card takes states in and builds nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from engine.api import Diagnosis
from ui.diagnosis.words import (
    evidence_words,
    gain_words,
    kind_words,
    remedy_words,
    sentence_words,
)
from ui.i18n import tr
from ui.theme import ThemeSource, set_look

MOST_REMEDIES = 3


@dataclass(frozen=True, slots=True)
class RemedyLine:
    """What to change and what that is thought to bring; ``can_try``: a button does it."""

    words: str
    gain: str
    can_try: bool


@dataclass(frozen=True, slots=True)
class CardState:
    """Everything on a card. ``outcome``: what was tried and what came of it, to be undone or not."""

    title: str = ""
    sentence: str = ""
    number: str = ""
    counted: str = ""
    remedies: tuple[RemedyLine, ...] = ()
    outcome: str = ""
    can_undo: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.title or self.sentence)

    @property
    def text(self) -> str:
        """All of it as one text."""
        lines = [self.title, self.sentence, " ".join(filter(None, (self.number, self.counted)))]
        lines += [f"{line.words}: {line.gain}" for line in self.remedies]
        return "\n".join(line for line in (*lines, self.outcome) if line)


def waiting_state() -> CardState:
    """While an answer has not a token yet."""
    words = tr("What holds this answer up is told with its first tokens.")
    return CardState(tr("Diagnosis"), words)


def state_of(diagnosis: Diagnosis, can_try: Sequence[bool], *, is_live: bool = False) -> CardState:
    """A diagnosis as a card shows it; ``can_try`` tells for each remedy whether a button does it."""
    number, counted = evidence_words(diagnosis.evidence)
    pairs = zip(diagnosis.remedies, can_try, strict=True)
    title = kind_words(diagnosis.kind)
    return CardState(
        tr("{kind} (so far)", kind=title) if is_live else title,
        sentence_words(diagnosis),
        number,
        counted,
        tuple(
            RemedyLine(remedy_words(remedy), gain_words(remedy.gain), can) for remedy, can in pairs
        )[:MOST_REMEDIES],
    )


class DiagnosisCard(QFrame):
    """``try_requested``: the remedy's place in the list.

    ``has_details``: a link leads on, where what the card stands on does not show it all.
    """

    try_requested = Signal(int)
    undo_requested = Signal()
    details_requested = Signal()

    def __init__(
        self, _themes: ThemeSource, parent: QWidget | None = None, *, has_details: bool = False
    ) -> None:
        super().__init__(parent)
        set_look(self, "card")
        self._state = CardState()
        self._built = CardState()
        self._title = self._label("accent")
        self._sentence = self._label("")
        self._number = self._label("heading")
        self._counted = self._label("small")
        self._outcome = self._label("fact")
        self._undo = QPushButton(tr("Undo"), self)
        self._undo.clicked.connect(self.undo_requested)
        self._details = QPushButton(tr("Where the time went"), self)
        set_look(self._details, "link-small")
        self._details.setVisible(has_details)
        self._details.clicked.connect(self.details_requested)
        self._rows = [self._remedy_row(number) for number in range(MOST_REMEDIES)]
        self._arrange()
        self.hide()

    @property
    def state(self) -> CardState:
        """What is shown, or will be when the card is."""
        return self._state

    def set_state(self, state: CardState) -> None:
        """Show this; an empty state hides the card."""
        self._state = state
        if self.isHidden() != state.is_empty:
            self.setVisible(not state.is_empty)
        if self.isVisible():
            self._build()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        self._build()
        super().showEvent(event)

    # ------------------------------------------------------------------ building

    def _build(self) -> None:
        state = self._state
        if state == self._built:
            return
        self._built = state
        for label, text in (
            (self._title, state.title),
            (self._sentence, state.sentence),
            (self._number, state.number),
            (self._counted, state.counted),
            (self._outcome, state.outcome),
        ):
            label.setText(text)
            label.setVisible(bool(text))
        self._undo.setVisible(state.can_undo)
        empty = RemedyLine("", "", can_try=False)
        lines = [*state.remedies, *([empty] * (MOST_REMEDIES - len(state.remedies)))]
        for (words, button), line in zip(self._rows, lines, strict=True):
            words.setText(f"{line.words}\n{line.gain}" if line.words else "")
            words.setVisible(bool(line.words))
            button.setVisible(line.can_try)
            button.setAccessibleName(tr("Try it: {remedy}", remedy=line.words))
        self.setAccessibleName(state.title)
        self.setAccessibleDescription(replace(state, title="").text)

    def _remedy_row(self, number: int) -> tuple[QLabel, QPushButton]:
        words = self._label("small")
        button = QPushButton(tr("Try it"), self)
        button.setProperty("remedy", number)
        button.clicked.connect(self._on_try)
        return words, button

    def _on_try(self) -> None:
        button = self.sender()
        if isinstance(button, QPushButton):
            self.try_requested.emit(button.property("remedy"))

    def _arrange(self) -> None:
        proof = QHBoxLayout()
        proof.setSpacing(8)
        proof.addWidget(self._number, 0, Qt.AlignmentFlag.AlignTop)
        proof.addWidget(self._counted, 1)
        remedies = QGridLayout()
        remedies.setContentsMargins(0, 0, 0, 0)
        remedies.setHorizontalSpacing(8)
        remedies.setVerticalSpacing(8)
        remedies.setColumnStretch(0, 1)
        for number, (words, button) in enumerate(self._rows):
            remedies.addWidget(words, number, 0)
            remedies.addWidget(button, number, 1, Qt.AlignmentFlag.AlignVCenter)
        outcome = QHBoxLayout()
        outcome.setSpacing(8)
        outcome.addWidget(self._outcome, 1)
        outcome.addWidget(self._undo, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(6)
        column.addWidget(self._title)
        column.addWidget(self._sentence)
        column.addLayout(proof)
        column.addLayout(remedies)
        column.addLayout(outcome)
        column.addWidget(self._details, 0, Qt.AlignmentFlag.AlignLeft)

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.hide()
        if look:
            set_look(label, look)
        return label
