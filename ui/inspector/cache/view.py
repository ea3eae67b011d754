"""The Cache view: the map of the blocks, what a chat takes, and what it would take otherwise.

Shows pictures that its controller makes; asks nobody.
"""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from engine.api import CacheGroup
from ui.charts.figures import Table
from ui.charts.lines import LineChart
from ui.i18n import tr
from ui.inspector.cache.bands import Band
from ui.inspector.cache.block_map import BlockMap
from ui.inspector.cache.growth import growth_figure
from ui.inspector.cache.patterns import OwnerSwatch
from ui.inspector.cache.picture import CachePicture, Owner, growth, owner_of, totals
from ui.inspector.cache.ways import WayRows
from ui.inspector.cache.words import (
    facts,
    group_title,
    kind_name,
    owner_name,
    run_words,
    summary,
    total_words,
)
from ui.inspector.fact_grid import FactGrid
from ui.inspector.reload_bar import ReloadBar
from ui.theme import ThemeSource, set_look
from ui.widgets.units import bytes_quantity

MARGIN = 18
_BETWEEN = 22
_STEPS = 200  # of the chart that are told apart


class CacheView(QWidget):
    """``way_chosen(value)``: the setting "kv" is to be that. ``reload_requested``: now.

    ``loss_requested``: what the ways lose is to be measured.
    """

    way_chosen = Signal(str)
    reload_requested = Signal()
    loss_requested = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._picture: CachePicture | None = None
        self._grown: CachePicture | None = None  # as the chart shows it
        self._summary = ""
        self._note = self._label("small")
        self._page = QWidget(self)
        self._total = self._label("heading")
        self._facts = self._label("small")
        self._maps: list[tuple[QLabel, BlockMap]] = []
        self._map_column = QVBoxLayout()
        self._map_column.setSpacing(6)
        self._pointed = self._label("small")
        self._legend = {owner: self._label("fact") for owner in Owner}
        self._growth = LineChart(themes, self._page)
        self._growth_words = self._label("small")
        self._kinds_title = self._label("heading")
        self._kinds = FactGrid(tr("Cache by kind of layers"), self._page)
        self._ways_title = self._label("heading")
        self._ways = WayRows(themes, self._page)
        self._ways.used.connect(self._on_used)
        self.measure = QPushButton(tr("Measure what they lose…"), self._page)
        self.measure.setToolTip(tr("Opens the experiment that compares the caches of this model."))
        set_look(self.measure, "link-small")
        self.measure.clicked.connect(self.loss_requested)
        self._reload = ReloadBar(self._page)
        self._reload.reload_requested.connect(self.reload_requested)
        self._arrange()
        self.set_picture(None)

    # ------------------------------------------------------------------ what it is told

    def set_picture(self, picture: CachePicture | None) -> None:
        """Show a picture; None: no model is loaded, or nothing is known of its cache yet."""
        has_one = picture is not None and bool(picture.groups)
        self._picture = picture if has_one else None
        self._page.setVisible(has_one)
        self._note.setVisible(not has_one)
        if picture is None or not has_one:
            self._note.setText(tr("The cache is shown here once a model is loaded."))
            return
        self._show_map(picture)
        self._show_kinds(picture)
        self._show_growth(picture)
        tokens = picture.chat.num_tokens
        self._ways_title.setText(
            tr("What these {n} tokens would take", n=f"{tokens:,}")
            if tokens
            else tr("What a full context would take")
        )
        self._ways.set_uses(picture.ways)
        self._reload.set_needed(needed=picture.needs_reload)

    @property
    def maps(self) -> list[BlockMap]:
        """The maps that are shown, one a kind of layers."""
        return [blocks for _title, blocks in self._maps if not blocks.isHidden()]

    @property
    def reading(self) -> str:
        """What is said of the blocks that are pointed at."""
        return self._pointed.text()

    @property
    def ways(self) -> WayRows:
        """The rows of other caches."""
        return self._ways

    @property
    def texts(self) -> list[str]:
        """What is written in it, top to bottom."""
        labels = (self._note, *self._page.findChildren(QLabel))
        return [label.text() for label in labels if label.text() and label.isVisibleTo(self)]

    # ------------------------------------------------------------------ showing

    def _show_map(self, picture: CachePicture) -> None:
        found = totals(picture)
        budget = picture.budget_bytes
        used = bytes_quantity(budget - found[Owner.FREE].num_bytes)
        whole = bytes_quantity(budget)
        self._total.setText(tr("{used} of {whole} hold something", used=used, whole=whole))
        self._facts.setText(facts(picture))
        for owner, label in self._legend.items():
            label.setText(total_words(found[owner]))
        while len(self._maps) < len(picture.groups):
            self._add_map()
        self._summary = summary(picture, found)
        for number, (title, blocks) in enumerate(self._maps):
            is_shown = number < len(picture.groups)
            title.setVisible(is_shown)
            blocks.setVisible(is_shown)
            if is_shown:
                group = picture.groups[number]
                title.setText(group_title(group))
                blocks.setAccessibleName(tr("Map of the cache: {layers}", layers=title.text()))
                blocks.setAccessibleDescription(self._summary)
                blocks.set_bands(_bands(picture, group))

    def _show_growth(self, picture: CachePicture) -> None:
        """Draw the chart again where a reader would see a difference: it takes the longest."""
        last, chat = self._grown, picture.chat
        is_near = (
            last is not None
            and replace(chat, num_tokens=last.chat.num_tokens) == last.chat
            and growth(picture) == growth(last)
            and abs(chat.num_tokens - last.chat.num_tokens) < picture.limit_tokens // _STEPS
        )
        if not is_near:
            self._grown = picture
            self._growth.set_figure(growth_figure(picture))
            self._growth_words.setText(self._growth.sentence)

    def _show_kinds(self, picture: CachePicture) -> None:
        rows = _kind_rows(picture)
        for widget in (self._kinds_title, self._kinds):
            widget.setVisible(bool(rows))
        headings = (tr("Layers"), tr("Sees"), tr("Kept"), tr("Read/tok"))
        self._kinds.set_table(Table(headings, tuple(rows), tuple(rows)))

    def _add_map(self) -> None:
        title, blocks = self._label("small"), BlockMap(self._themes, self._page)
        blocks.pointed.connect(self._on_pointed)
        self._maps.append((title, blocks))
        self._map_column.addWidget(title)
        self._map_column.addWidget(blocks)

    def _on_pointed(self, index: int) -> None:
        picture = self._picture
        for number, (_title, blocks) in enumerate(self._maps):
            if blocks is not self.sender():
                continue
            words = ""
            if picture is not None and index >= 0:
                group = picture.groups[number]
                words = run_words(group, group.runs[index], picture.titles)
            self._pointed.setText(words or self._invitation())
            # a screen reader speaks a description that changes
            blocks.setAccessibleDescription(words or self._summary)

    def _on_used(self, value: str) -> None:
        self.way_chosen.emit(value)
        if not self._reload.isHidden():  # the button that was pressed is gone
            self._reload.button.setFocus()

    @staticmethod
    def _invitation() -> str:
        return tr(
            "Point at the map to see whose a block is. Blocks of half the height are kept for "
            "reuse; nobody computes with them now."
        )

    # ------------------------------------------------------------------ building

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setWordWrap(True)
        return label

    def _owners(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        for row, (owner, amount) in enumerate(self._legend.items()):
            name = self._label("fact")
            name.setText(owner_name(owner))
            amount.setWordWrap(False)
            grid.addWidget(OwnerSwatch(owner, self._themes, self._page), row, 0)
            grid.addWidget(name, row, 1)
            grid.addWidget(amount, row, 2, Qt.AlignmentFlag.AlignRight)
        grid.setColumnStretch(1, 1)
        return grid

    def _arrange(self) -> None:
        self._kinds_title.setText(tr("By kind of layers, this chat's last answer"))
        self._pointed.setText(self._invitation())
        column = QVBoxLayout(self._page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        parts: Sequence[QWidget | QVBoxLayout | QGridLayout | None] = (
            self._total,
            self._facts,
            self._map_column,
            self._pointed,
            self._owners(),
            None,
            self._ways_title,
            self._ways,
            self.measure,
            self._reload,
            None,
            self._growth,
            self._growth_words,
            None,
            self._kinds_title,
            self._kinds,
        )
        for part in parts:
            if part is None:
                column.addSpacing(_BETWEEN - column.spacing())
            elif isinstance(part, QWidget):
                column.addWidget(part)
            else:
                column.addLayout(part)
        column.setAlignment(self.measure, Qt.AlignmentFlag.AlignLeft)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(MARGIN, 16, MARGIN, 24)
        layout.addWidget(self._note)
        layout.addWidget(self._page)
        layout.addStretch(1)


def _bands(picture: CachePicture, group: CacheGroup) -> list[Band]:
    own = picture.chat.conversation_id
    return [Band(run.count, owner_of(run, own), run.state) for run in group.runs]


def _kind_rows(picture: CachePicture) -> list[tuple[str, ...]]:
    """Layers, what they see, and what they keep and read of the last answer."""
    windows = {group.kind: group.window for group in picture.groups}
    rows: list[tuple[str, ...]] = []
    for kept in picture.kinds:
        window = windows.get(kept.kind)
        sees = kind_name(kept.kind) if window is None else tr("{n} tok", n=f"{window:,}")
        rows.append(
            (
                f"{kept.layers:,}",
                sees,
                str(bytes_quantity(kept.num_bytes)),
                str(bytes_quantity(kept.read_bytes)),
            )
        )
    return rows
