"""Writes what is shown to a file the user names: pictures, drawings, or values."""

from pathlib import Path

from PySide6.QtCore import QStandardPaths, Qt, Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QPushButton, QWidget

from ui.experiments.figures import Figures
from ui.i18n import tr
from ui.theme import set_look


class ExportButton(QPushButton):
    """``told``: one sentence about the file that was written, or why none was."""

    told = Signal(str)

    def __init__(self, figures: Figures, parent: QWidget | None = None) -> None:
        super().__init__(tr("Export"), parent)
        self._figures = figures
        self._name = ""
        set_look(self, "menu")
        menu = QMenu(self)
        for words, slot in (
            (tr("Picture (PNG)…"), self._ask_png),
            (tr("Drawing (SVG)…"), self._ask_svg),
            (tr("Values (CSV)…"), self._ask_csv),
        ):
            menu.addAction(words).triggered.connect(slot)
        self.setMenu(menu)

    def set_name(self, name: str) -> None:
        """What a file would be called, without its ending."""
        self._name = name

    def write(self, name: str) -> None:
        """Write what is shown; the ending of the file says how."""
        path = Path(name)
        try:
            written = self._write(path)
        except OSError as error:
            self.told.emit(
                tr(
                    "The file could not be written ({reason}). Choose another place.",
                    reason=error.strerror or str(error),
                )
            )
        else:
            names = ", ".join(file.name for file in written)
            self.told.emit(tr("Written to {folder}: {names}", folder=path.parent, names=names))

    def _write(self, path: Path) -> list[Path]:
        if path.suffix.lower() == ".csv":
            # the mark tells spreadsheets that it is UTF-8
            path.write_text(self._figures.csv(), encoding="utf-8-sig", newline="")
            return [path]
        files = self._figures.files_for(path)
        is_svg = path.suffix.lower() == ".svg"
        for chart, file in files:
            (chart.write_svg if is_svg else chart.write_png)(file)
        return [file for _chart, file in files]

    def _ask_png(self) -> None:
        self._ask("png")

    def _ask_svg(self) -> None:
        self._ask("svg")

    def _ask_csv(self) -> None:
        self._ask("csv")

    def _ask(self, suffix: str) -> None:
        place = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
        dialog = QFileDialog(self.window(), tr("Export"), place)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilter(f"*.{suffix}")
        dialog.setDefaultSuffix(suffix)
        dialog.selectFile(f"{self._name}.{suffix}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.write)
        dialog.open()
