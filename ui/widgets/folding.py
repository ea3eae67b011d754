"""Which side panels are open at a width. Plain logic; no widget.

Wide windows show what the user wants. Below 900 the right panel folds, below 640 the list too;
what is opened there by hand stays until the window changes its class, and makes room by folding
the other side.
"""

from enum import Enum

PANEL_FROM = 900
SIDEBAR_FROM = 640


class WidthClass(Enum):
    """How much room there is."""

    NARROW = "narrow"
    MIDDLE = "middle"
    WIDE = "wide"


class Folding:
    """The wish for each side, and what is open now."""

    def __init__(self) -> None:
        self.wants_sidebar = True
        self.wants_panel = True
        self.shows_sidebar = True
        self.shows_panel = True
        self._class = WidthClass.WIDE

    @property
    def width_class(self) -> WidthClass:
        """The class of the latest width."""
        return self._class

    def set_wishes(self, *, sidebar: bool, panel: bool) -> None:
        """Take what an earlier run remembered."""
        self.wants_sidebar, self.wants_panel = sidebar, panel
        self._apply()

    def resize(self, width: float) -> bool:
        """Take a new width (px at 100% zoom); True when the class changed."""
        if width >= PANEL_FROM:
            fresh = WidthClass.WIDE
        elif width >= SIDEBAR_FROM:
            fresh = WidthClass.MIDDLE
        else:
            fresh = WidthClass.NARROW
        if fresh is self._class:
            return False
        self._class = fresh
        self._apply()
        return True

    def show_sidebar(self, *, shown: bool) -> None:
        """The user opened or closed the list."""
        self.shows_sidebar = shown
        if self._class is not WidthClass.NARROW:
            self.wants_sidebar = shown
        if shown and self._class is WidthClass.NARROW:
            self.shows_panel = False

    def show_panel(self, *, shown: bool) -> None:
        """The user opened or closed the right panel."""
        self.shows_panel = shown
        if self._class is WidthClass.WIDE:
            self.wants_panel = shown
        elif shown:
            self.shows_sidebar = False
        else:
            self.shows_sidebar = self._class is WidthClass.MIDDLE and self.wants_sidebar

    def _apply(self) -> None:
        self.shows_panel = self.wants_panel and self._class is WidthClass.WIDE
        self.shows_sidebar = self.wants_sidebar and self._class is not WidthClass.NARROW
