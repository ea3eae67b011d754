"""One token in words and bars: what it is, how sure the model was, and what else it could be."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from engine.api import InspectedToken, TokenOrigin
from ui.i18n import tr
from ui.inspector.tokens.branching import Branch, Obstacle, branch_at
from ui.inspector.tokens.choices import ChoiceList
from ui.inspector.tokens.pieces import hex_bytes, origin_words, percent, quoted
from ui.theme import ThemeSource, set_look


class TokenDetails(QWidget):
    """Shows one token at a time. ``branch_wanted``: the answer should go on from another choice."""

    branch_wanted = Signal(Branch)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tokens: Sequence[InspectedToken] = ()
        self._content = ""
        self._place = -1
        self._busy_reason = ""
        self._hint = self._label("small")
        self._hint.setText(tr("Choose a token: click it, or walk with the arrow keys."))
        self._title = self._label("heading")
        self._facts = self._label("fact")
        self._scores = self._label("fact")
        self._heading = self._label("small")
        self.choices = ChoiceList(themes, self)
        self.footer = QWidget()  # wherever it is placed: it stays in sight while the rest scrolls
        self.go_on = QPushButton(self.footer)
        self._obstacle = self._label("small")
        foot = QVBoxLayout(self.footer)
        foot.setContentsMargins(0, 0, 0, 0)
        foot.setSpacing(4)
        foot.addWidget(self.go_on, 0, Qt.AlignmentFlag.AlignLeft)
        foot.addWidget(self._obstacle)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self._hint)
        column.addWidget(self._title)
        column.addWidget(self._facts)
        column.addWidget(self._scores)
        column.addWidget(self._heading)
        column.addWidget(self.choices)
        column.addStretch(1)
        self.choices.picked.connect(self._on_picked)
        self.choices.taken.connect(self._on_taken)
        self.go_on.clicked.connect(self._on_taken)
        self.show_token(-1)

    @property
    def text(self) -> str:
        """What is said of the token, line by line."""
        labels = (self._hint, self._title, self._facts, self._scores, self._obstacle)
        return "\n".join(label.text() for label in labels if not label.isHidden())

    # ------------------------------------------------------------------ what it is told

    def set_tokens(self, tokens: Sequence[InspectedToken], content: str) -> None:
        """The tokens that are looked at, and the answer's text."""
        self._tokens, self._content = tokens, content
        self.show_token(-1)

    def set_busy(self, reason: str) -> None:
        """Why no other branch can begin at present; empty when one can."""
        if reason != self._busy_reason:
            self._busy_reason = reason
            self._show_branch()

    def show_token(self, place: int) -> None:
        """Show the token at a place; -1: none."""
        self._place = place
        token = self._token
        self._hint.setVisible(token is None)
        for label in (self._title, self._facts):
            label.setVisible(token is not None)
        has_scores = token is not None and token.probability is not None
        for part in (self._scores, self._heading, self.choices):
            part.setVisible(has_scores)
        self.choices.set_choices((), -1)
        if token is not None:
            self._say(token)
        self._show_branch()

    # ------------------------------------------------------------------ showing

    @property
    def _token(self) -> InspectedToken | None:
        return self._tokens[self._place] if 0 <= self._place < len(self._tokens) else None

    def _say(self, token: InspectedToken) -> None:
        title = quoted(token)
        self._title.setText(tr("{title}, special", title=title) if token.is_special else title)
        facts = (
            tr("id {number}", number=token.token_id),
            tr("bytes {digits}", digits=hex_bytes(token.data) or "—"),
            tr("at byte {number}", number=f"{token.start:,}"),
            origin_words(token),
        )
        self._facts.setText(" · ".join(facts))
        if token.probability is None or token.entropy is None:
            return
        self._scores.setText(
            tr(
                "Probability {share} · entropy {bits} bits",
                share=percent(token.probability),
                bits=f"{token.entropy:.2f}",
            )
        )
        num_choices = len(token.alternatives)
        self._heading.setText(tr("The {n} most probable here", n=num_choices))
        self.choices.set_choices(token.alternatives, token.token_id)

    def _branch(self) -> Branch | Obstacle | None:
        """What the picked choice would make of the answer; None where nothing is picked."""
        token, row = self._token, self.choices.picked_row
        if token is None or row < 0 or token.origin is not TokenOrigin.ANSWER:
            return None
        return branch_at(self._tokens, self._place, token.alternatives[row], self._content)

    def _show_branch(self) -> None:
        token, branch = self._token, self._branch()
        reason = self._busy_reason if isinstance(branch, Branch) else _words_of(branch)
        ends = isinstance(branch, Branch) and branch.ends
        self.go_on.setText(
            tr("End the answer here") if ends else tr("Continue from here with this")
        )
        self.go_on.setVisible(token is not None and token.probability is not None)
        self.go_on.setEnabled(isinstance(branch, Branch) and not self._busy_reason)
        self._obstacle.setText(reason)
        self._obstacle.setVisible(bool(reason) and not self.go_on.isHidden())
        self.footer.setVisible(not self.go_on.isHidden())

    def _on_picked(self, _row: int) -> None:
        self._show_branch()

    def _on_taken(self) -> None:
        branch = self._branch()
        if isinstance(branch, Branch) and not self._busy_reason:
            self.branch_wanted.emit(branch)

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        set_look(label, look)
        return label


def _words_of(obstacle: Branch | Obstacle | None) -> str:
    match obstacle:
        case Obstacle.PARTIAL:
            return tr("This choice is a part of a character: the text cannot go on from it.")
        case Obstacle.REASONING:
            return tr("This place is in the reasoning: only the answer itself can branch.")
        case Obstacle.EMPTY:
            return tr("This choice stands for no text.")
        case _:
            return ""
