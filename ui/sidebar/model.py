"""The conversation list as a Qt item model: rows under date headings.

An adapter over plain ``ConversationRow`` records. Headings are rows of their own that cannot be
selected. ``set_rows`` changes only what differs, so that selection, scroll position and an open
editor survive. Paints nothing and knows no controller.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import SequenceMatcher
from enum import IntEnum
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from typing_extensions import override

from ui.i18n import tr
from ui.sidebar.dates import heading
from ui.sidebar.rows import ConversationRow

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()


class Role(IntEnum):
    """What a delegate or a view may ask for."""

    CONVERSATION_ID = Qt.ItemDataRole.UserRole + 1
    IS_HEADING = Qt.ItemDataRole.UserRole + 2
    IS_GENERATING = Qt.ItemDataRole.UserRole + 3


@dataclass(frozen=True, slots=True)
class Heading:
    """A date heading between conversations."""

    text: str


Item = Heading | ConversationRow


def _identity(item: Item) -> str | int:
    return item.text if isinstance(item, Heading) else item.conversation_id


def grouped(rows: Sequence[ConversationRow], today: date) -> list[Item]:
    """Newest first, each group under its heading."""
    items: list[Item] = []
    last: str | None = None
    for row in sorted(rows, key=lambda row: row.updated_at, reverse=True):
        text = heading(datetime.fromtimestamp(row.updated_at).astimezone().date(), today)
        if text != last:
            items.append(Heading(text))
            last = text
        items.append(row)
    return items


class ConversationModel(QAbstractListModel):
    """Conversations and headings. ``renamed(id, title)`` follows an accepted edit."""

    renamed = Signal(int, str)

    def __init__(
        self, parent: QObject | None = None, *, today: Callable[[], date] | None = None
    ) -> None:
        super().__init__(parent)
        self._today = today or (lambda: datetime.now().astimezone().date())
        self._items: list[Item] = []

    def set_rows(self, rows: Sequence[ConversationRow]) -> None:
        """Show these conversations; unchanged rows are left alone."""
        target = grouped(rows, self._today())
        matcher = SequenceMatcher(
            None,
            [_identity(item) for item in self._items],
            [_identity(item) for item in target],
            autojunk=False,
        )
        # from the end, so that earlier positions stay valid
        for tag, start, stop, new_start, new_stop in reversed(matcher.get_opcodes()):
            if tag == "equal":
                self._update(start, target[new_start:new_stop])
                continue
            if stop > start:
                self.beginRemoveRows(QModelIndex(), start, stop - 1)
                del self._items[start:stop]
                self.endRemoveRows()
            if new_stop > new_start:
                self.beginInsertRows(QModelIndex(), start, start + new_stop - new_start - 1)
                self._items[start:start] = target[new_start:new_stop]
                self.endInsertRows()

    def _update(self, start: int, fresh: Sequence[Item]) -> None:
        for row, item in enumerate(fresh, start):
            old = self._items[row]
            if old == item:
                continue
            self._items[row] = item
            roles = _changed_roles(old, item)
            if roles:
                self.dataChanged.emit(self.index(row), self.index(row), roles)

    def row_of(self, conversation_id: int | None) -> int | None:
        """Where a conversation stands, or None."""
        for row, item in enumerate(self._items):
            if isinstance(item, ConversationRow) and item.conversation_id == conversation_id:
                return row
        return None

    def conversation_at(self, index: Index) -> ConversationRow | None:
        """The conversation of an index; None for a heading or an invalid index."""
        item = self._item(index)
        return item if isinstance(item, ConversationRow) else None

    def num_conversations(self) -> int:
        """Rows that are not headings."""
        return sum(isinstance(item, ConversationRow) for item in self._items)

    def _item(self, index: Index) -> Item | None:
        if not index.isValid() or not 0 <= index.row() < len(self._items):
            return None
        return self._items[index.row()]

    @override
    def rowCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._items)

    @override
    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        item = self._item(index)
        if item is None:
            return None
        if role == Role.IS_HEADING:
            return isinstance(item, Heading)
        if isinstance(item, Heading):
            return item.text if role == Qt.ItemDataRole.DisplayRole else None
        return _conversation_data(item, role)

    @override
    def flags(self, index: Index) -> Qt.ItemFlag:
        item = self._item(index)
        if item is None:
            return Qt.ItemFlag.NoItemFlags
        if isinstance(item, Heading):
            # not enabled: the arrow keys pass over it
            return Qt.ItemFlag.ItemNeverHasChildren
        return (
            Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemIsEditable
            | Qt.ItemFlag.ItemNeverHasChildren
        )

    @override
    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        conversation = self.conversation_at(index)
        title = str(value).strip()
        if conversation is None or role != Qt.ItemDataRole.EditRole or not title:
            return False
        if title == conversation.title:
            return False
        self._items[index.row()] = ConversationRow(
            conversation.conversation_id,
            title,
            conversation.updated_at,
            conversation.is_generating,
        )
        place = self.index(index.row())
        self.dataChanged.emit(place, place, _TITLE_ROLES)
        self.renamed.emit(conversation.conversation_id, title)
        return True


_TITLE_ROLES = [
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.EditRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.AccessibleTextRole,
]


def _changed_roles(old: Item, new: Item) -> list[int]:
    if isinstance(old, Heading) or isinstance(new, Heading):
        return []
    roles: list[int] = []
    if old.title != new.title:
        roles += [int(role) for role in _TITLE_ROLES]
    if old.is_generating != new.is_generating:
        roles += [int(Role.IS_GENERATING), int(Qt.ItemDataRole.AccessibleTextRole)]
    return roles


def _conversation_data(item: ConversationRow, role: int) -> Any:
    match role:
        case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.EditRole | Qt.ItemDataRole.ToolTipRole:
            return item.title
        case Qt.ItemDataRole.AccessibleTextRole:
            return tr("{title}, answering", title=item.title) if item.is_generating else item.title
        case Role.CONVERSATION_ID:
            return item.conversation_id
        case Role.IS_GENERATING:
            return item.is_generating
        case _:
            return None
