"""The keys of the window, declared once: the actions and the shortcut sheet read the same table.

Knows no widget and no page.
"""

from dataclasses import dataclass

from ui.i18n import mark


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A key, what it does (English source text), and its group on the sheet.

    ``keys`` is a portable key sequence ("Ctrl+N"); Qt shows Command for Ctrl on macOS. Further
    keys that do the same stand in ``also``.
    """

    name: str
    keys: str
    label: str
    group: str
    also: tuple[str, ...] = ()


NEW_CHAT = Shortcut("new_chat", "Ctrl+N", mark("New chat"), mark("Conversations"))
SEARCH = Shortcut("search", "Ctrl+K", mark("Search chats"), mark("Conversations"))
RENAME = Shortcut("rename", "F2", mark("Rename the selected chat"), mark("Conversations"))
DELETE = Shortcut("delete", "Del", mark("Delete the selected chat"), mark("Conversations"))
EXPORT = Shortcut("export", "Ctrl+S", mark("Save the chat as a file"), mark("Conversations"))
IMPORT = Shortcut("import", "Ctrl+O", mark("Add chats from a file"), mark("Conversations"))
SEND = Shortcut("send", "Return", mark("Send"), mark("Writing"))
NEW_LINE = Shortcut("new_line", "Shift+Return", mark("New line"), mark("Writing"))
STOP = Shortcut("stop", "Esc", mark("Stop the answer"), mark("Writing"))
MODEL_MENU = Shortcut("model_menu", "Ctrl+L", mark("Model menu"), mark("Window"))
LIBRARY = Shortcut("library", "Ctrl+M", mark("Models"), mark("Window"))
EXPERIMENTS = Shortcut("experiments", "Ctrl+T", mark("Experiments"), mark("Window"))
INSPECTOR = Shortcut("inspector", "Ctrl+I", mark("Inspector"), mark("Window"))
SETTINGS = Shortcut("settings", "Ctrl+,", mark("Settings"), mark("Window"))
SIDEBAR = Shortcut("sidebar", "Ctrl+B", mark("Show or hide the chats"), mark("Window"))
PANEL = Shortcut("panel", "Ctrl+J", mark("Show or hide the right panel"), mark("Window"))
ZOOM_IN = Shortcut("zoom_in", "Ctrl++", mark("Larger text"), mark("Window"), ("Ctrl+=",))
ZOOM_OUT = Shortcut("zoom_out", "Ctrl+-", mark("Smaller text"), mark("Window"))
ZOOM_RESET = Shortcut("zoom_reset", "Ctrl+0", mark("Normal text size"), mark("Window"))
TINT = Shortcut("tint", "Ctrl+G", mark("Show what was guessed ahead"), mark("Window"))
SHORTCUT_SHEET = Shortcut("shortcut_sheet", "Ctrl+/", mark("Keyboard shortcuts"), mark("Window"))
QUIT = Shortcut("quit", "Ctrl+Q", mark("Quit"), mark("Window"))

SHEET = (
    NEW_CHAT,
    SEARCH,
    RENAME,
    DELETE,
    EXPORT,
    IMPORT,
    SEND,
    NEW_LINE,
    STOP,
    MODEL_MENU,
    LIBRARY,
    EXPERIMENTS,
    INSPECTOR,
    SETTINGS,
    SIDEBAR,
    PANEL,
    ZOOM_IN,
    ZOOM_OUT,
    ZOOM_RESET,
    TINT,
    SHORTCUT_SHEET,
    QUIT,
)
