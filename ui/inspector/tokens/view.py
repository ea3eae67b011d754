"""The Tokens view: an answer and its prompt as chips, and one token of them in detail.

Shows what its controller says; what is hidden by a switch, and which token is chosen, is its own.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFrame,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from engine.api import InspectedToken, TokenOrigin
from ui.i18n import tr
from ui.inspector.tokens.chips import TokenChips
from ui.inspector.tokens.details import TokenDetails
from ui.inspector.tokens.pieces import read_out, whole_sentence
from ui.inspector.tokens.progress import ComputingBar
from ui.inspector.tokens.tint import TintBy, TintLegend
from ui.theme import ThemeSource, set_look
from ui.widgets.flow import FlowLayout
from ui.widgets.text_button import TextButton

MARGIN: Final = 18
_CHIPS_LEAST: Final = 120
_DETAILS_LEAST: Final = 110


class TokensView(QWidget):
    """Filled by its controller while it is on the screen."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._tokens: Sequence[InspectedToken] = ()
        self._answer_is_wanted = False
        self._words = self._label("small")
        self.computing = ComputingBar(self)
        self._title = self._label("small")
        self._note = self._label("small")
        self._read_out = QLabel(self)
        self._read_out.setTextFormat(Qt.TextFormat.PlainText)
        self._read_out.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        set_look(self._read_out, "small")
        self.chips = TokenChips(themes)
        self.details = TokenDetails(themes)
        self._legend = TintLegend(themes, self)
        self._parts = self._group((tr("All"), tr("Prompt"), tr("Answer")), tr("Which tokens"))
        self._kinds = self._group((tr("Probability"), tr("Entropy")), tr("Tint of the answer"))
        self._body = QWidget(self)
        self._chips_area = self._area(self.chips)
        self._details_area = self._area(self.details)
        self._arrange()
        self._parts.idClicked.connect(self._on_part)
        self._kinds.idClicked.connect(self._on_kind)
        self.chips.chosen.connect(self._on_chosen)
        self.chips.grown.connect(self._go_to_answer)
        self.chips.pointed.connect(self._on_pointed)
        themes.changed.connect(self._fit_details)
        self.show_words("")

    @property
    def text(self) -> str:
        """What is said in place of tokens, or of all of them."""
        if not self._body.isHidden():
            return whole_sentence(self._tokens)
        return self.computing.text if not self.computing.isHidden() else self._words.text()

    @property
    def tokens(self) -> Sequence[InspectedToken]:
        """The tokens that were shown last."""
        return self._tokens

    @property
    def note(self) -> str:
        """What is to be known of the tokens shown."""
        return self._note.text()

    # ------------------------------------------------------------------ what it is told

    def set_answer(self, words: str) -> None:
        """Which answer this is, by its first words; empty for none."""
        self._title.setText(words)
        self._title.setVisible(bool(words))

    def show_words(self, words: str) -> None:
        """There are no tokens to show, and this is why."""
        self._words.setText(words)
        self._show(self._words)

    def show_computing(self) -> None:
        """The tokens are being computed; ``computing`` says how far."""
        self._show(self.computing)

    def show_halted(self, words: str) -> None:
        """Nothing is computed any more, because of this; it can be asked for again."""
        self.computing.show_halted(words)
        self._show(self.computing)

    def show_tokens(self, tokens: Sequence[InspectedToken], content: str, note: str) -> None:
        """Show these. ``content``: the answer's text; ``note``: what is to be known of them."""
        if tokens is not self._tokens:
            self._tokens = tokens
            self.details.set_tokens(tokens, content)
            self._show_part()
            self.chips.setAccessibleDescription(whole_sentence(tokens))
            self._answer_is_wanted = True
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self._show(self._body)
        self._go_to_answer()

    # ------------------------------------------------------------------ switches

    def _on_part(self, _number: int) -> None:
        self._show_part()
        self._answer_is_wanted = True
        self._go_to_answer()

    def _show_part(self) -> None:
        shown: Sequence[int] = range(len(self._tokens))
        if (number := self._parts.checkedId()) > 0:
            wants_answer = number == 2
            shown = [
                place
                for place, token in enumerate(self._tokens)
                if (token.origin is TokenOrigin.ANSWER) is wants_answer
            ]
        self.chips.set_tokens(self._tokens, shown)
        self._on_chosen(self.chips.chosen_place)

    def _on_kind(self, number: int) -> None:
        by = TintBy.ENTROPY if number else TintBy.PROBABILITY
        self.chips.set_tint(by)
        self._legend.set_kind(by)

    def _go_to_answer(self) -> None:
        """Scroll to where the answer begins, once it is known where that is."""
        if not self._answer_is_wanted or not self.isVisible():
            return
        layout = self._body.layout()
        assert layout is not None
        layout.activate()
        first = next(
            (n for n, t in enumerate(self._tokens) if t.origin is TokenOrigin.ANSWER), None
        )
        chip = QRectF() if first is None else self.chips.rect_of(first)
        if chip.isEmpty() and not self.chips.is_complete:
            return  # it comes
        self._answer_is_wanted = False
        room = self._chips_area.viewport().height()  # some of the prompt stays above it
        self._chips_area.verticalScrollBar().setValue(max(0, int(chip.top() - room / 3)))

    def _on_chosen(self, place: int) -> None:
        self.details.show_token(place)
        self._fit_details()
        layout = self._body.layout()
        assert layout is not None
        layout.activate()
        if place >= 0:  # the details may have taken the room where it was
            self._reveal(self.chips.rect_of(place))

    def _fit_details(self) -> None:
        """The details take what they need and leave the rest to the chips."""
        layout = self.details.layout()
        assert layout is not None
        bar = self._details_area.verticalScrollBar().sizeHint().width()
        # its own width may still be the one before
        height = layout.totalHeightForWidth(max(1, self.width() - 2 * MARGIN - bar))
        self._chips_area.setMinimumHeight(self._themes.px(_CHIPS_LEAST))
        self._details_area.setMinimumHeight(min(height, self._themes.px(_DETAILS_LEAST)))
        self._details_area.setMaximumHeight(height)

    def _on_pointed(self, place: int) -> None:
        words = read_out(self._tokens[place]) if place >= 0 else ""
        metrics, right = self._read_out.fontMetrics(), Qt.TextElideMode.ElideRight
        self._read_out.setText(metrics.elidedText(words, right, self._read_out.width()))

    def _reveal(self, chip: QRectF) -> None:
        center, half = chip.center().toPoint(), int(chip.height())
        self._chips_area.ensureVisible(center.x(), center.y(), 0, half)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_details()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._go_to_answer()

    # ------------------------------------------------------------------ building

    def _arrange(self) -> None:
        body = QVBoxLayout(self._body)
        body.setContentsMargins(0, 0, 0, 0)
        body.setSpacing(6)
        body.addLayout(self._row(self._parts.buttons()))
        body.addLayout(self._row([*self._kinds.buttons(), self._legend]))
        body.addWidget(self._note)
        body.addWidget(self._chips_area, 2)
        body.addWidget(self._read_out)
        line = QFrame(self)
        set_look(line, "hairline")
        body.addWidget(line)
        body.addWidget(self._details_area, 3)
        body.addWidget(self.details.footer)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 14, MARGIN, 12)
        layout.setSpacing(8)
        layout.addWidget(self._title)
        layout.addWidget(self._words)
        layout.addWidget(self.computing)
        layout.addWidget(self._body, 1)
        layout.addStretch(0)
        switches = [*self._parts.buttons(), *self._kinds.buttons()]
        stops = [*switches, self.chips, self.details.choices, self.details.go_on]
        for one, other in pairwise(stops):
            QWidget.setTabOrder(one, other)

    def _row(self, widgets: Sequence[QWidget]) -> FlowLayout:
        row = FlowLayout(2, 2)
        for widget in widgets:
            row.addWidget(widget)
        return row

    def _group(self, names: Sequence[str], purpose: str) -> QButtonGroup:
        """Switches of which one is on, the first at the beginning."""
        group = QButtonGroup(self)
        for number, name in enumerate(names):
            button = TextButton(self._themes, name, None, self)
            button.setAccessibleName(f"{purpose}: {name}")
            button.setCheckable(True)
            button.setChecked(number == 0)
            group.addButton(button, number)
        return group

    def _area(self, widget: QWidget) -> QScrollArea:
        set_look(widget, "clear")
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # as high as there is room: it scrolls itself, and not the page around it
        area.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(widget)
        return area

    def _show(self, part: QWidget) -> None:
        for other in (self._words, self.computing, self._body):
            other.setVisible(other is part)

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        set_look(label, look)
        return label
