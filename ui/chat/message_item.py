"""One message on the page: what its two kinds have in common, and the user's bubble."""

from collections.abc import Sequence
from functools import cached_property

from PySide6.QtCore import QEvent, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QEnterEvent,
    QGuiApplication,
    QPainter,
    QPainterPath,
    QPaintEvent,
)
from PySide6.QtWidgets import QApplication, QWidget
from typing_extensions import override

from ui.chat.rows import MessageRow, MessageStatus
from ui.i18n import tr
from ui.icons import Icon
from ui.richtext.plain_view import PlainView
from ui.theme import RADIUS_COMPOSER, ThemeSource
from ui.widgets.text_button import TextButton

ACTIONS_HEIGHT = 26
_BUBBLE_SHARE = 0.8
_PAD_X, _PAD_Y = 14, 10
# the face's leading stands above the line, so the text is lifted to look centred
_LIFT = 2
_FOLD_ABOVE = 1_200
_FOLD_LINES = 12
_COPIED_MS = 1_500


class MessageItem(QWidget):
    """Reports what the reader asks for; ``height_changed`` asks its list for a new layout.

    A button is made when it is first to be shown: a conversation has many messages, and each could
    have eight of them.
    """

    height_changed = Signal()
    selection_changed = Signal()
    painted = Signal(int)
    link_clicked = Signal(str)
    regenerate = Signal(int)
    edit = Signal(int)
    continue_answer = Signal(int)
    show_version = Signal(int, int)

    def __init__(self, look: ThemeSource, row: MessageRow, parent: QWidget) -> None:
        super().__init__(parent)
        self.look = look
        self.row = row
        self._is_busy = False
        self._is_last = False
        self._actions: list[TextButton] = []
        # what grows below its contents is painted there alone
        self.setAttribute(Qt.WidgetAttribute.WA_StaticContents)

    @cached_property
    def _copied(self) -> QTimer:
        timer = QTimer(self)
        timer.setObjectName("message-copied")
        timer.setSingleShot(True)
        timer.setInterval(_COPIED_MS)
        timer.timeout.connect(self._restore_copy)
        return timer

    @cached_property
    def _copy(self) -> TextButton:
        button = self._button(tr("Copy message"), Icon.COPY)
        button.clicked.connect(self._copy_text)
        return button

    @cached_property
    def _edit(self) -> TextButton:
        button = self._button(tr("Edit message"), Icon.PENCIL)
        button.clicked.connect(self._ask_edit)
        return button

    @cached_property
    def _previous(self) -> TextButton:
        button = self._button(tr("Previous version"), Icon.CHEVRON_LEFT)
        button.clicked.connect(self._show_previous)
        return button

    @cached_property
    def _version(self) -> TextButton:
        button = self._button(tr("Version"), None)
        button.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        return button

    @cached_property
    def _next(self) -> TextButton:
        button = self._button(tr("Next version"), Icon.CHEVRON_RIGHT)
        button.clicked.connect(self._show_next)
        return button

    @property
    def is_building(self) -> bool:
        """Whether parts of the text are not shown yet: ``build`` goes on with them."""
        return False

    def build(self) -> None:
        """Show some more of the text, as much as a frame bears."""

    def height_for(self, width: int) -> int:
        """Place everything for a width and return the height needed."""
        raise NotImplementedError

    def set_row(self, row: MessageRow) -> None:
        """Show another state of the same message."""
        raise NotImplementedError

    def has_selection(self) -> bool:
        """Whether the reader has marked something."""
        raise NotImplementedError

    def set_busy(self, *, is_busy: bool) -> None:
        """While an answer is generated, what would start another is disabled."""
        self._is_busy = is_busy
        self.refresh_actions()

    def tab_stops(self) -> list[QWidget]:
        """What the Tab key visits, in reading order."""
        return [
            button
            for button in self.shown_actions()
            if button.focusPolicy() & Qt.FocusPolicy.TabFocus
        ]

    def shown_actions(self) -> Sequence[TextButton]:
        """The buttons of the row under the message, left to right."""
        raise NotImplementedError

    def version_actions(self) -> tuple[TextButton, ...]:
        """Arrows between the versions of the message, where there are several."""
        if self.row.num_versions < 2:
            return ()
        place = f"{self.row.version}/{self.row.num_versions}"
        self._version.set_face(place, None)
        self._version.setAccessibleName(tr("Version {place}", place=place))
        self._previous.setEnabled(self.row.version > 1 and not self._is_busy)
        self._next.setEnabled(self.row.version < self.row.num_versions and not self._is_busy)
        return (self._previous, self._version, self._next)

    def refresh_actions(self) -> None:
        """Show the buttons that apply and reveal them where the pointer or the focus is."""
        shown = self.shown_actions()
        is_revealed = self.is_revealed()
        for button in self._actions:
            button.setVisible(button in shown)
            button.set_revealed(is_revealed=is_revealed)

    def set_last(self, *, is_last: bool) -> None:
        """The last message of a conversation always shows its actions."""
        if is_last != self._is_last:
            self._is_last = is_last
            self.refresh_actions()

    def is_revealed(self) -> bool:
        """Whether the action row is painted without the pointer over the message."""
        row = self.row
        if row.num_versions > 1 or row.status is MessageStatus.PARTIAL:
            return True
        if self._is_last and row.role == "assistant":
            return True
        focus = QApplication.focusWidget()
        return self.underMouse() or (focus is not None and self.isAncestorOf(focus))

    def place_actions(self, x: int, y: int) -> None:
        """Put the action row's buttons side by side from ``x``."""
        for button in self.shown_actions():
            hint = button.sizeHint()
            button.setGeometry(x, y, hint.width(), hint.height())
            x += hint.width()

    def actions_width(self) -> int:
        """Width of the action row."""
        return sum(button.sizeHint().width() for button in self.shown_actions())

    def _button(self, name: str, icon: Icon | None) -> TextButton:
        button = TextButton(self.look, "" if icon else name, icon, self)
        button.setAccessibleName(name)
        button.setToolTip(name)
        button.hide()
        button.installEventFilter(self)
        self._actions.append(button)
        return button

    def _copy_text(self) -> None:
        QGuiApplication.clipboard().setText(self.row.text)
        self._copy.set_face("", Icon.CHECK)
        self._copied.start()

    def _restore_copy(self) -> None:
        self._copy.set_face("", Icon.COPY)

    def _ask_edit(self) -> None:
        self.edit.emit(self.row.message_id)

    def _show_previous(self) -> None:
        self.show_version.emit(self.row.message_id, self.row.version - 1)

    def _show_next(self) -> None:
        self.show_version.emit(self.row.message_id, self.row.version + 1)

    @override
    def eventFilter(self, watched: object, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut}:
            self.refresh_actions()
        return False

    @override
    def enterEvent(self, event: QEnterEvent) -> None:
        self.refresh_actions()
        super().enterEvent(event)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self.refresh_actions()
        super().leaveEvent(event)


class UserItem(MessageItem):
    """A bubble at the right: plain text as typed, folded when very long."""

    def __init__(self, look: ThemeSource, row: MessageRow, parent: QWidget) -> None:
        super().__init__(look, row, parent)
        self._bubble = QRectF()
        self._is_folded = self._is_long = False
        self._text = PlainView(look, self)
        self._text.setAccessibleName(tr("Your message"))
        self._text.selectionChanged.connect(self.selection_changed)
        self.set_row(row)

    @cached_property
    def _more(self) -> TextButton:
        button = TextButton(self.look, tr("Show all"), Icon.CHEVRON_DOWN, self)
        button.clicked.connect(self._toggle)
        return button

    @override
    def set_row(self, row: MessageRow) -> None:
        self.row = row
        is_long = len(row.text) > _FOLD_ABOVE or row.text.count("\n") >= _FOLD_LINES
        self._is_folded = self._is_long = is_long
        if is_long or "_more" in self.__dict__:
            self._more.setVisible(is_long)
        self._show_text()
        self.refresh_actions()

    @override
    def has_selection(self) -> bool:
        return self._text.has_selection()

    @override
    def tab_stops(self) -> list[QWidget]:
        return [*([self._more] if self._is_long else ()), *super().tab_stops()]

    @override
    def shown_actions(self) -> Sequence[TextButton]:
        self._edit.setEnabled(not self._is_busy)
        return (*self.version_actions(), self._copy, self._edit)

    @override
    def height_for(self, width: int) -> int:
        look = self.look
        pad_x, pad_y = look.px(_PAD_X), look.px(_PAD_Y)
        room = round(width * _BUBBLE_SHARE) - 2 * pad_x
        text_width = min(room, self._text.natural_width())
        if self._is_long:
            text_width = max(text_width, self._more.sizeHint().width())
        text_height = self._text.height_for(text_width)
        left = width - text_width - 2 * pad_x
        self._text.setGeometry(left + pad_x, pad_y - _LIFT, text_width, text_height)
        bottom = pad_y + text_height
        if self._is_long:
            hint = self._more.sizeHint()
            self._more.setGeometry(left + pad_x - look.px(6), bottom, hint.width(), hint.height())
            bottom += hint.height() - pad_y // 2
        bottom += pad_y
        self._bubble = QRectF(left, 0, text_width + 2 * pad_x, bottom)
        self.place_actions(width - self.actions_width(), bottom)
        self.update()
        return bottom + look.px(ACTIONS_HEIGHT)

    def _show_text(self) -> None:
        text = self.row.text
        if self._is_folded:
            lines = text[:_FOLD_ABOVE].split("\n")[:_FOLD_LINES]
            text = "\n".join(lines).rstrip() + "\u2026"
        self._text.set_plain(text)

    def _toggle(self) -> None:
        self._is_folded = not self._is_folded
        if self._is_folded:
            self._more.set_face(tr("Show all"), Icon.CHEVRON_DOWN)
        else:
            self._more.set_face(tr("Show less"), Icon.CHEVRON_UP)
        self._show_text()
        self.height_changed.emit()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        radius = self.look.px(RADIUS_COMPOSER)
        outline = QPainterPath()
        outline.addRoundedRect(self._bubble, radius, radius)
        corner = self._bubble.bottomRight()
        small = self.look.px(4)
        square = QRectF(corner.x() - radius, corner.y() - radius, radius, radius)
        tail = QPainterPath()
        tail.addRoundedRect(square, small, small)
        painter.fillPath(outline.united(tail), self.look.color("bubble"))
        painter.end()
