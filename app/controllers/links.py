"""Links in answers open in the browser, after the whole address was shown and agreed to."""

from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox

from ui.chat.page import ChatPage
from ui.i18n import tr

SAFE_SCHEMES = frozenset({"http", "https", "mailto"})


class LinkController(QObject):
    """A model wrote the link: nothing is opened without asking, and only what a browser reads."""

    def __init__(self, page: ChatPage) -> None:
        super().__init__(page)
        self._page = page
        self._url = QUrl()
        page.link_requested.connect(self._on_link)

    @Slot(str)
    def _on_link(self, address: str) -> None:
        url = QUrl(address, QUrl.ParsingMode.StrictMode)
        if url.scheme() not in SAFE_SCHEMES:
            return
        self._url = url
        box = QMessageBox(self._page)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setWindowTitle(tr("Open link"))
        box.setText(tr("Open this address in the browser?"))
        box.setInformativeText(url.toString(QUrl.ComponentFormattingOption.FullyEncoded))
        box.setStandardButtons(QMessageBox.StandardButton.Open | QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(QMessageBox.StandardButton.Cancel)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.accepted.connect(self._open)
        box.open()

    @Slot()
    def _open(self) -> None:
        QDesktopServices.openUrl(self._url)
