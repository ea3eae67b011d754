"""The list of conversations: new, search, choose, rename, delete with undo, and settings.

Shows what the controller gives it and says by signal what the user wants; it stores nothing and
deletes nothing itself.
"""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from ui import actions
from ui.i18n import tr
from ui.icons import Icon, make_icon
from ui.sidebar.delegate import ConversationDelegate
from ui.sidebar.files import ChatFileDialogs
from ui.sidebar.model import ConversationModel
from ui.sidebar.prompt_dialog import PromptDialog
from ui.sidebar.rows import ConversationRow
from ui.theme import ThemeSource, set_look
from ui.widgets.action_bar import ActionBar

ICON = 16
UNDO_MS = 8_000
TITLE_IN_UNDO = 32


class Sidebar(QWidget):
    """Everything left of the chat."""

    new_chat_requested = Signal()
    conversation_selected = Signal(int)
    rename_requested = Signal(int, str)
    delete_requested = Signal(int)
    undo_delete_requested = Signal(int)
    search_changed = Signal(str)
    prompt_wanted = Signal(int)
    prompt_changed = Signal(int, str)
    settings_requested = Signal()
    library_requested = Signal()
    experiments_requested = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sidebar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        set_look(self, "sidebar")
        self._themes = themes
        self._current: int | None = None
        self._is_updating = False
        self._undo_id: int | None = None
        self._undo_timer = QTimer(self)
        self._undo_timer.setObjectName("undoTimer")
        self._undo_timer.setSingleShot(True)
        self._undo_timer.setInterval(UNDO_MS)
        self._undo_timer.timeout.connect(self._end_undo)
        self.files = ChatFileDialogs(self)
        self._model = ConversationModel(self)
        self._model.renamed.connect(self.rename_requested)
        self._delegate = ConversationDelegate(themes, self)
        self._new_chat = self._build_new_chat()
        self._search = self._build_search()
        # a filter would hide the chat that now begins
        self.new_chat_requested.connect(self._search.clear)
        self._list = self._build_list()
        self._empty = self._build_empty()
        self._undo = ActionBar(themes, self, closable=False)
        self._undo.triggered.connect(self._take_back)
        self._library = QPushButton(tr("Models"), self)
        self._experiments = QPushButton(tr("Experiments"), self)
        self._settings = QPushButton(tr("Settings"), self)
        for button, wanted in (
            (self._library, self.library_requested),
            (self._experiments, self.experiments_requested),
            (self._settings, self.settings_requested),
        ):
            set_look(button, "nav")
            button.clicked.connect(wanted)
        themes.changed.connect(self._on_theme)
        self._arrange()
        self._on_theme()

    # ------------------------------------------------------------------ what it is told

    def set_conversations(self, rows: Sequence[ConversationRow]) -> None:
        """Show these conversations, newest first under date headings."""
        scroll = self._list.verticalScrollBar().value()
        # the view selects a neighbour when the selected row goes; that is nobody's choice
        self._is_updating = True
        self._model.set_rows(rows)
        self._mark_current()
        self._is_updating = False
        self._list.verticalScrollBar().setValue(scroll)
        self._show_empty_state()

    def set_current(self, conversation_id: int | None) -> None:
        """Mark a conversation as the open one, without announcing a choice."""
        self._current = conversation_id
        self._mark_current()
        row = self._model.row_of(conversation_id)
        if row is not None:
            # with its heading, where it is the first below one
            self._list.scrollTo(self._model.index(row - 1))
            self._list.scrollTo(self._model.index(row))

    def offer_undo(self, conversation_id: int, title: str) -> None:
        """Say what was deleted, and offer to take it back for eight seconds."""
        shown = title if len(title) <= TITLE_IN_UNDO else title[: TITLE_IN_UNDO - 1] + "…"
        self._undo_id = conversation_id
        self._undo.show_text(tr("Deleted “{title}”", title=shown), tr("Undo"))
        self._undo_timer.start()

    def ask_prompt(self, conversation_id: int, title: str, prompt: str) -> None:
        """Let the system prompt of a chat be written; ``prompt_changed`` follows a Save."""
        dialog = PromptDialog(title, prompt, self.window())
        dialog.saved.connect(partial(self.prompt_changed.emit, conversation_id))
        dialog.open()
        dialog.text.setFocus()

    def focus_search(self) -> None:
        """Put the caret into the search box."""
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()

    def ask_export(self) -> None:
        """Ask where the chat that is open, or marked in the list, shall be saved."""
        conversation = self._model.conversation_at(self._list.currentIndex())
        if conversation is not None:
            self.files.ask_export(conversation.conversation_id, conversation.title)

    # ------------------------------------------------------------------ building

    def _build_new_chat(self) -> QPushButton:
        button = QPushButton(self)
        button.setObjectName("newChat")
        set_look(button, "row")
        button.setAccessibleName(tr("New chat"))
        button.clicked.connect(self.new_chat_requested)
        key = QKeySequence(actions.NEW_CHAT.keys)
        label, shortcut = QLabel(tr("New chat"), button), QLabel(button)
        shortcut.setText(key.toString(QKeySequence.SequenceFormat.NativeText).replace("+", " "))
        set_look(shortcut, "muted")
        inside = QHBoxLayout(button)
        inside.setContentsMargins(12, 8, 12, 8)
        inside.addWidget(label, 1)
        inside.addWidget(shortcut)
        for part in (label, shortcut):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        button.setMinimumHeight(inside.sizeHint().height())
        return button

    def _build_search(self) -> QLineEdit:
        box = QLineEdit(self)
        box.setObjectName("searchChats")
        set_look(box, "search")
        box.setPlaceholderText(tr("Search chats"))
        box.setAccessibleName(tr("Search chats"))
        box.setClearButtonEnabled(True)
        box.textChanged.connect(self._on_search)
        clear = QShortcut(QKeySequence(Qt.Key.Key_Escape), box)
        clear.setContext(Qt.ShortcutContext.WidgetShortcut)
        clear.activated.connect(box.clear)
        down = QShortcut(QKeySequence(Qt.Key.Key_Down), box)
        down.setContext(Qt.ShortcutContext.WidgetShortcut)
        down.activated.connect(self._enter_list)
        return box

    def _build_list(self) -> QListView:
        view = QListView(self)
        view.setObjectName("conversations")
        view.setAccessibleName(tr("Conversations"))
        view.setModel(self._model)
        view.setItemDelegate(self._delegate)
        view.setMouseTracking(True)
        view.setUniformItemSizes(False)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        view.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self._show_menu)
        view.selectionModel().selectionChanged.connect(self._on_selection)
        delete = QShortcut(QKeySequence(actions.DELETE.keys), view)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self._delete_selected)
        return view

    def _build_empty(self) -> QLabel:
        label = QLabel(self)
        set_look(label, "small")
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        label.setContentsMargins(8, 12, 8, 0)
        label.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        label.customContextMenuRequested.connect(self._show_menu)
        return label

    def _arrange(self) -> None:
        name = QLabel("Tokentide", self)
        set_look(name, "heading")
        name.setContentsMargins(8, 0, 0, 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 16, 12, 12)
        layout.setSpacing(8)
        layout.addWidget(name)
        layout.addSpacing(4)
        for widget in (self._new_chat, self._search):
            layout.addWidget(widget)
        layout.addWidget(self._list, 1)
        layout.addWidget(self._empty, 1)
        layout.addWidget(self._undo)
        for widget in (self._library, self._experiments, self._settings):
            layout.addWidget(widget)
        self._show_empty_state()
        self.setTabOrder(self._new_chat, self._search)
        self.setTabOrder(self._search, self._list)
        self.setTabOrder(self._list, self._undo.action_button)
        self.setTabOrder(self._undo.action_button, self._library)
        self.setTabOrder(self._library, self._experiments)
        self.setTabOrder(self._experiments, self._settings)

    # ------------------------------------------------------------------ what the user does

    def _on_search(self, text: str) -> None:
        self.search_changed.emit(text.strip())

    def _enter_list(self) -> None:
        self._list.setFocus(Qt.FocusReason.OtherFocusReason)
        if not self._list.selectionModel().hasSelection():
            for row in range(self._model.rowCount()):
                if self._model.conversation_at(self._model.index(row)) is not None:
                    self._list.setCurrentIndex(self._model.index(row))
                    return

    def _on_selection(self, selected: QItemSelection, _deselected: QItemSelection) -> None:
        if self._is_updating:
            return
        indexes = selected.indexes()
        conversation = self._model.conversation_at(indexes[0]) if indexes else None
        if conversation is None or conversation.conversation_id == self._current:
            return
        self._current = conversation.conversation_id
        self.conversation_selected.emit(conversation.conversation_id)

    def _show_menu(self, position: QPoint) -> None:
        asked = self._empty if self._empty.isVisible() else self._list.viewport()
        menu = self._menu_for(self._list.indexAt(position))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(asked.mapToGlobal(position))

    def _menu_for(self, index: QModelIndex) -> QMenu:
        """What can be done with a chat, or beside all of them."""
        menu = QMenu(self)
        if self._model.conversation_at(index) is not None:
            self._list.setCurrentIndex(index)
            self._add_actions_of_chat(menu)
            menu.addSeparator()
        add = menu.addAction(tr("Add chats from a file…"))
        add.setShortcut(QKeySequence(actions.IMPORT.keys))
        add.triggered.connect(self.files.ask_import)
        if self._model.num_conversations():
            menu.addAction(tr("Export all chats…")).triggered.connect(self.files.ask_export_all)
        return menu

    def _add_actions_of_chat(self, menu: QMenu) -> None:
        rename = menu.addAction(tr("Rename"))
        rename.setShortcut(QKeySequence(actions.RENAME.keys))
        rename.triggered.connect(self._rename_selected)
        delete = menu.addAction(tr("Delete"))
        delete.setShortcut(QKeySequence(actions.DELETE.keys))
        delete.triggered.connect(self._delete_selected)
        prompt = menu.addAction(tr("System prompt…"))
        prompt.triggered.connect(self._want_prompt)
        export = menu.addAction(tr("Export…"))
        export.setShortcut(QKeySequence(actions.EXPORT.keys))
        export.triggered.connect(self.ask_export)

    def _want_prompt(self) -> None:
        conversation = self._model.conversation_at(self._list.currentIndex())
        if conversation is not None:
            self.prompt_wanted.emit(conversation.conversation_id)

    def _rename_selected(self) -> None:
        self._list.edit(self._list.currentIndex())

    def _delete_selected(self) -> None:
        conversation = self._model.conversation_at(self._list.currentIndex())
        if conversation is not None:
            self.delete_requested.emit(conversation.conversation_id)

    def _take_back(self) -> None:
        conversation_id = self._undo_id
        self._end_undo()
        if conversation_id is not None:
            self.undo_delete_requested.emit(conversation_id)

    def _end_undo(self) -> None:
        self._undo_timer.stop()
        self._undo_id = None
        self._undo.hide()

    # ------------------------------------------------------------------ keeping it true

    def _on_theme(self) -> None:
        size = self._themes.px(ICON)
        for button, icon in (
            (self._library, Icon.FOLDER),
            (self._experiments, Icon.CHART),
            (self._settings, Icon.GEAR),
        ):
            button.setIcon(make_icon(icon, self._themes.color("muted"), size))
            button.setIconSize(QSize(size, size))
        self._list.scheduleDelayedItemsLayout()
        self._list.viewport().update()

    def _mark_current(self) -> None:
        selection = self._list.selectionModel()
        row = self._model.row_of(self._current)
        if row is None:
            selection.clear()
            return
        index = self._model.index(row)
        if not selection.isSelected(index):
            selection.setCurrentIndex(index, QItemSelectionModel.SelectionFlag.ClearAndSelect)

    def _show_empty_state(self) -> None:
        is_empty = self._model.num_conversations() == 0
        self._list.setVisible(not is_empty)
        self._empty.setVisible(is_empty)
        if is_empty:
            wanted = self._search.text().strip()
            self._empty.setText(
                tr("No chat contains “{text}”.", text=wanted)
                if wanted
                else tr("Your chats will be listed here.")
            )
