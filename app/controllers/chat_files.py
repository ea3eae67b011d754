"""Chats that leave as files, and come from files: written and read beside the store, off the GUI."""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.failures import words_for_error
from app.controllers.services import Services
from app.controllers.sidebar import SidebarController
from app.store.documents import MAX_BYTES, ChatFileError, from_json, to_json, to_markdown
from app.store.store import Store
from ui.i18n import tr, tr_n
from ui.sidebar.panel import Sidebar


class ChatFiles(QObject):
    """What the list's menu says of files."""

    notice = Signal(str)

    def __init__(self, sidebar: Sidebar, chats: SidebarController, services: Services) -> None:
        super().__init__(sidebar)
        self._chats = chats
        self._store, self._tasks = services.store, services.tasks
        sidebar.files.export_requested.connect(self._on_export)
        sidebar.files.export_all_requested.connect(self._on_export_all)
        sidebar.files.import_requested.connect(self._on_import)

    @Slot(int, str)
    def _on_export(self, conversation_id: int, path: str) -> None:
        self._export(partial(one_chat, self._store, conversation_id, Path(path)), Path(path))

    @Slot(str)
    def _on_export_all(self, path: str) -> None:
        self._export(partial(all_chats, self._store, Path(path)), Path(path))

    def _export(self, work: Callable[[], int], path: Path) -> None:
        self._tasks.run(work, partial(self._on_exported, path), self._on_not_written)

    def _on_exported(self, path: Path, num_chats: int) -> None:
        if num_chats == 1:
            self.notice.emit(tr("The chat was saved as {path}.", path=path))
        else:
            self.notice.emit(tr("{n} chats were saved as {path}.", n=num_chats, path=path))

    def _on_not_written(self, error: Exception) -> None:
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            self.notice.emit(
                tr("The file could not be written ({reason}). The chats are kept.", reason=reason)
            )
        else:
            self.notice.emit(words_for_error(error))

    @Slot(str)
    def _on_import(self, path: str) -> None:
        work = partial(add_chats, self._store, Path(path))
        self._tasks.run(work, self._on_imported, self._on_not_read)

    def _on_imported(self, added: list[int]) -> None:
        self._chats.refresh()
        self._chats.chat.open(added[0])
        self.notice.emit(tr_n("One chat was added.", "{n} chats were added.", len(added)))

    def _on_not_read(self, error: Exception) -> None:
        if isinstance(error, OSError):
            error = ChatFileError(error.strerror or str(error))
        self.notice.emit(words_for_error(error))


def one_chat(store: Store, conversation_id: int, path: Path) -> int:
    """Write a conversation, as JSON where the name says so and as Markdown otherwise."""
    conversation, messages = store.conversation(conversation_id)
    if path.suffix.lower() == ".json":
        _write(path, to_json([(conversation, messages)]))
    else:
        _write(path, to_markdown(conversation, messages))
    return 1


def all_chats(store: Store, path: Path) -> int:
    """Write every conversation of the list as JSON; returns how many."""
    chats = [store.conversation(c.conversation_id) for c in store.conversations()]
    _write(path, to_json(chats))
    return len(chats)


def add_chats(store: Store, path: Path) -> list[int]:
    """Add the conversations of a JSON file; their ids. Raises OSError or StoreError."""
    if path.stat().st_size > MAX_BYTES:
        raise ChatFileError(f"it is larger than {MAX_BYTES // 2**20} MiB")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ChatFileError("it is not UTF-8") from error
    chats = from_json(text)
    if not chats:
        raise ChatFileError("it holds none")
    return store.add_conversations(chats)


def _write(path: Path, text: str) -> None:
    """Put a text on disk: whoever looks sees the old file or the new one."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=f"{path.name}.", delete=False
    ) as part:
        try:
            part.write(text)
            part.flush()
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
    Path(part.name).replace(path)
