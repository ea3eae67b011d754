"""The library's lists as Qt item models: what is here, and what could be fetched.

Adapters over plain rows. Both give a title, a second line, a verdict with its icon and a tag, so
one delegate paints both. Unchanged rows are left alone, so selection and scrolling survive.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from enum import IntEnum
from html import escape
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from typing_extensions import override

from engine.api import Fit
from ui.i18n import tr
from ui.library.rows import LibraryRow, OfferRow
from ui.library.words import offer_summary, summary
from ui.widgets.fit import fit_words

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
Row = LibraryRow | OfferRow


class Role(IntEnum):
    """What the delegate asks for beside the title."""

    SUMMARY = Qt.ItemDataRole.UserRole + 1
    VERDICT = Qt.ItemDataRole.UserRole + 2
    FIT = Qt.ItemDataRole.UserRole + 3
    TAG = Qt.ItemDataRole.UserRole + 4


class RowsModel(QAbstractListModel):
    """Models of one kind; a path or a key tells them apart."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Row] = []

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these; what is the same stays where it is."""
        old, new = (list(map(_identity, part)) for part in (self._rows, rows))
        codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        for tag, start, stop, first, last in reversed(codes):  # earlier places stay valid
            if tag == "equal":
                self._update(start, rows[first:last])
                continue
            if stop > start:
                self.beginRemoveRows(QModelIndex(), start, stop - 1)
                del self._rows[start:stop]
                self.endRemoveRows()
            if last > first:
                self.beginInsertRows(QModelIndex(), start, start + last - first - 1)
                self._rows[start:start] = rows[first:last]
                self.endInsertRows()

    def _update(self, start: int, rows: Sequence[Row]) -> None:
        for number, row in enumerate(rows, start):
            if self._rows[number] != row:
                self._rows[number] = row
                place = self.index(number)
                self.dataChanged.emit(place, place)

    def row_at(self, index: Index) -> Row | None:
        """The row of an index; None for an invalid one."""
        is_valid = index.isValid() and 0 <= index.row() < len(self._rows)
        return self._rows[index.row()] if is_valid else None

    def place_of(self, identity: str | int) -> QModelIndex:
        """Where a row stands; an invalid index if it is not there."""
        for number, row in enumerate(self._rows):
            if _identity(row) == identity:
                return self.index(number)
        return QModelIndex()

    @override
    def rowCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.row_at(index)
        return None if row is None else _data(row, role)


def _identity(row: Row) -> str | int:
    return row.path if isinstance(row, LibraryRow) else row.key


def _data(row: Row, role: int) -> Any:
    parts: dict[int, Any] = {
        Qt.ItemDataRole.DisplayRole: row.title,
        # names come from strangers, and a tip that looks like markup would be read as such
        Qt.ItemDataRole.ToolTipRole: f"<span>{escape(_tip(row))}</span>",
        Role.SUMMARY: _summary(row),
        Role.FIT: _fit(row),
        Role.VERDICT: _verdict(row),
        Role.TAG: _tag(row),
    }
    if role == Qt.ItemDataRole.AccessibleTextRole:
        spoken = (row.title, parts[Role.TAG], parts[Role.SUMMARY], parts[Role.VERDICT])
        return ", ".join(part for part in spoken if part)
    return parts.get(role)


def _tip(row: Row) -> str:
    return row.path if isinstance(row, LibraryRow) else row.title


def _summary(row: Row) -> str:
    return summary(row) if isinstance(row, LibraryRow) else offer_summary(row)


def _fit(row: Row) -> Fit | None:
    if isinstance(row, OfferRow):
        return row.fit
    if row.problem:
        return Fit.TOO_LARGE
    return None if row.sheet is None else row.sheet.default_fit.fit


def _verdict(row: Row) -> str:
    if isinstance(row, LibraryRow) and row.problem:
        return tr("Unusable")
    fit = _fit(row)
    if fit is None:
        return ""
    return f"~ {fit_words(fit)}" if isinstance(row, OfferRow) else fit_words(fit)


def _tag(row: Row) -> str:
    if isinstance(row, LibraryRow):
        return tr("Loaded") if row.is_loaded else ""
    return tr("Recommended") if row.is_recommended else ""
