"""The list of conversations: order, search, rename, delete with undo."""

from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.answers import Answers
from app.controllers.chat import ChatController
from app.controllers.failures import words_for_error
from app.controllers.services import Services
from app.conversations import ChatMessage, Conversation
from ui.sidebar.panel import Sidebar
from ui.sidebar.rows import ConversationRow


class SidebarController(QObject):
    """Shows what is in the store, latest first; marks what is open and what is generating."""

    notice = Signal(str)
    deleted = Signal(int)

    def __init__(
        self, sidebar: Sidebar, chat: ChatController, answers: Answers, services: Services
    ) -> None:
        super().__init__(sidebar)
        self._sidebar = sidebar
        self.chat = chat
        self._answers = answers
        self._store, self._tasks = services.store, services.tasks
        self._conversations: list[Conversation] = []
        self._query = ""
        self._found: frozenset[int] | None = None  # None: no search
        sidebar.new_chat_requested.connect(self._on_new_chat)
        sidebar.conversation_selected.connect(self._on_selected)
        sidebar.rename_requested.connect(self._on_rename)
        sidebar.delete_requested.connect(self._on_delete)
        sidebar.undo_delete_requested.connect(self._on_undo)
        sidebar.search_changed.connect(self._on_search)
        sidebar.prompt_wanted.connect(self._on_prompt_wanted)
        sidebar.prompt_changed.connect(self._on_prompt_changed)
        chat.current_changed.connect(self._on_current_changed)
        chat.conversations_changed.connect(self.refresh)
        answers.generating_changed.connect(self._show)

    @Slot()
    def refresh(self) -> None:
        """Read the list again."""
        self._tasks.run(self._store.conversations, self._on_listed, self._on_error)
        if self._query:
            self._search()

    def title_of(self, conversation_id: int) -> str:
        """A listed conversation's title; an empty string for another."""
        found = (c.title for c in self._conversations if c.conversation_id == conversation_id)
        return next(found, "")

    # ------------------------------------------------------------------ from the sidebar

    @Slot()
    def _on_new_chat(self) -> None:
        self.chat.open(None)

    @Slot(int)
    def _on_selected(self, conversation_id: int) -> None:
        if conversation_id != self.chat.open_chat.conversation_id:
            self.chat.open(conversation_id)

    @Slot(int, str)
    def _on_rename(self, conversation_id: int, title: str) -> None:
        self._change(partial(self._store.rename, conversation_id, title))

    @Slot(int)
    def _on_delete(self, conversation_id: int) -> None:
        self._answers.stop(conversation_id)
        self._tasks.run(
            partial(self._store.delete, conversation_id),
            partial(self._on_deleted, conversation_id, self.title_of(conversation_id)),
            self._on_error,
        )

    def _on_deleted(self, conversation_id: int, title: str, _nothing: None) -> None:
        if conversation_id == self.chat.open_chat.conversation_id:
            self.chat.open(None)
        self.refresh()
        self.deleted.emit(conversation_id)
        self._sidebar.offer_undo(conversation_id, title)

    @Slot(int)
    def _on_undo(self, conversation_id: int) -> None:
        self._tasks.run(
            partial(self._store.undo_delete, conversation_id),
            partial(self._on_undone, conversation_id),
            self._on_error,
        )

    def _on_undone(self, conversation_id: int, _nothing: None) -> None:
        self.refresh()
        self.chat.open(conversation_id)

    @Slot(int)
    def _on_prompt_wanted(self, conversation_id: int) -> None:
        load = partial(self._store.conversation, conversation_id)
        self._tasks.run(load, self._ask_prompt, self._on_error)

    def _ask_prompt(self, loaded: tuple[Conversation, list[ChatMessage]]) -> None:
        chat = loaded[0]
        self._sidebar.ask_prompt(chat.conversation_id, chat.title, chat.system_prompt or "")

    @Slot(int, str)
    def _on_prompt_changed(self, conversation_id: int, prompt: str) -> None:
        own = prompt or None
        self._tasks.run(
            partial(self._store.set_system_prompt, conversation_id, own),
            partial(self._on_prompt_saved, conversation_id, own),
            self._on_error,
        )

    def _on_prompt_saved(self, conversation_id: int, own: str | None, _nothing: None) -> None:
        if conversation_id == self.chat.open_chat.conversation_id:
            self.chat.open_chat.system_prompt = own

    @Slot(str)
    def _on_search(self, query: str) -> None:
        self._query = query.strip()
        if self._query:
            self._search()
        else:
            self._found = None
            self._show()

    def _search(self) -> None:
        self._tasks.run(
            partial(self._store.search, self._query),
            partial(self._on_found, self._query),
            self._on_error,
        )

    def _on_found(self, query: str, found: list[int]) -> None:
        if query == self._query:  # not the answer to what was typed before
            self._found = frozenset(found)
            self._show()

    # ------------------------------------------------------------------ showing

    def _on_listed(self, conversations: list[Conversation]) -> None:
        self._conversations = conversations
        self._show()

    @Slot()
    def _show(self) -> None:
        generating = self._answers.generating()
        self._sidebar.set_conversations(
            [
                ConversationRow(
                    c.conversation_id, c.title, c.updated_at, c.conversation_id in generating
                )
                for c in self._conversations
                if self._found is None or c.conversation_id in self._found
            ]
        )
        self._sidebar.set_current(self.chat.open_chat.conversation_id)

    @Slot(object)
    def _on_current_changed(self, conversation_id: int | None) -> None:
        self._sidebar.set_current(conversation_id)

    def _change(self, work: partial[None]) -> None:
        self._tasks.run(work, self._on_changed, self._on_error)

    def _on_changed(self, _nothing: None) -> None:
        self.refresh()

    def _on_error(self, error: Exception) -> None:
        self.notice.emit(words_for_error(error))
