"""What this very chat would take in other caches: a row each, to scale, with a button to choose it."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from ui.i18n import tr
from ui.inspector.cache.picture import WayUse
from ui.inspector.cache.words import form_explained, form_name
from ui.theme import ThemeSource, set_look
from ui.widgets.share_bar import ShareBar
from ui.widgets.units import bytes_quantity


class WayRow(QWidget):
    """Name and bytes above, a bar and what can be done below."""

    used = Signal(str)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._setting = ""
        self._name = self._label("fact")
        self._name.setWordWrap(True)
        self._size = self._label("fact")
        self._bar = ShareBar(themes, self)
        self._note = self._label("small")
        self._note.setWordWrap(True)
        self.button = QPushButton(tr("Use"), self)
        set_look(self.button, "link-small")
        self.button.clicked.connect(self._on_use)
        policy = self.button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # all rows are alike
        self.button.setSizePolicy(policy)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self._name, 1)
        head.addWidget(self.button)
        head.addWidget(self._size)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        column.addLayout(head)
        column.addWidget(self._bar)
        column.addWidget(self._note)

    @property
    def text(self) -> str:
        """What is written in it."""
        labels = (self._name, self._size, self._note)
        return " ".join(label.text() for label in labels if label.text())

    def set_use(self, use: WayUse, most: int) -> None:
        """Show a way; the bar is full at ``most`` bytes."""
        way, self._setting = use.way, use.setting
        name, size = form_name(way.form), str(bytes_quantity(way.num_bytes))
        if way.is_present:
            name = tr("{name}, as it is now", name=name)
        elif use.is_chosen:
            name = tr("{name}, chosen for the next load", name=name)
        self._name.setText(name)
        self._size.setText(size)
        set_look(self._name, "accent-small" if way.is_present else "fact")
        self._bar.set_share(way.num_bytes / max(1, most), is_strong=way.is_present)
        self._bar.setAccessibleName(f"{name}: {size}")
        note = use.quality or form_explained(way.form)
        self._note.setText(note)
        self._note.setVisible(bool(note))
        can_use = bool(use.setting) and not use.is_chosen
        self.button.setVisible(can_use)
        self.button.setAccessibleName(tr("Use {name} for the KV cache", name=form_name(way.form)))

    def _on_use(self) -> None:
        self.used.emit(self._setting)

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label


class WayRows(QWidget):
    """All rows. ``used(value)``: the setting "kv" is to be that."""

    used = Signal(str)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._rows: list[WayRow] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(8)

    @property
    def rows(self) -> list[WayRow]:
        """The rows that are shown, top to bottom."""
        return [row for row in self._rows if not row.isHidden()]

    def set_uses(self, uses: Sequence[WayUse]) -> None:
        """Show these ways."""
        while len(self._rows) < len(uses):
            row = WayRow(self._themes, self)
            row.used.connect(self.used)
            self._grid.addWidget(row, len(self._rows), 0)
            self._rows.append(row)
        most = max((use.way.num_bytes for use in uses), default=0)
        for row, use in zip(self._rows, uses, strict=False):
            row.set_use(use, most)
        for number, row in enumerate(self._rows):
            row.setVisible(number < len(uses))
