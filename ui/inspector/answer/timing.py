"""Where the time of an answer went: its lanes, its prompt, and the list with exact figures."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from ui.i18n import tr
from ui.inspector.answer.lanes import Pipeline
from ui.inspector.answer.pipeline import PipelineLanes
from ui.inspector.answer.prompt_strip import PromptStrip, prompt_words
from ui.inspector.answer.stage_list import StageList
from ui.theme import ThemeSource, set_look


class TimingSection(QWidget):
    """Lanes and list point at each other."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._sentence = QLabel(self)
        self._prompt_words = QLabel(self)
        for label in (self._sentence, self._prompt_words):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
            set_look(label, "small")
        self.lanes = PipelineLanes(themes, self)
        self.lanes.setAccessibleName(tr("Stages of the answer over time"))
        self.prompt = PromptStrip(themes, self)
        self.list = StageList(themes, self)
        self._zoom = QPushButton(tr("First token only"), self)
        self._zoom.setCheckable(True)
        self._zoom.setToolTip(tr("Shows the time from Send to the first token alone."))
        set_look(self._zoom, "link-small")
        self._zoom.toggled.connect(self._on_zoom)
        self.list.chosen.connect(self.lanes.set_current)
        self.lanes.pointed.connect(self._on_pointed)
        self._chosen = -1
        self.list.chosen.connect(self._on_chosen)
        self._arrange()

    @property
    def text(self) -> str:
        """The answer in a sentence."""
        return self._sentence.text()

    def set_pipeline(self, pipeline: Pipeline) -> None:
        """Show this answer."""
        self._sentence.setText(pipeline.sentence)
        self._prompt_words.setText(prompt_words(pipeline))
        self.lanes.set_pipeline(pipeline)
        self.prompt.set_pipeline(pipeline)
        self.list.set_pipeline(pipeline)

    def _on_zoom(self, is_start_only: bool) -> None:  # noqa: FBT001 - Qt calls it so
        self._zoom.setText(tr("Whole answer") if is_start_only else tr("First token only"))
        self.lanes.set_start_only(is_start_only=is_start_only)

    def _on_chosen(self, lane: int) -> None:
        self._chosen = lane

    def _on_pointed(self, lane: int) -> None:
        self.lanes.set_current(lane if lane >= 0 else self._chosen)

    def _arrange(self) -> None:
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self._zoom)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._sentence)
        column.addLayout(row)
        column.addWidget(self.lanes)
        column.addWidget(self.prompt)
        column.addWidget(self._prompt_words)
        column.addWidget(self.list)
