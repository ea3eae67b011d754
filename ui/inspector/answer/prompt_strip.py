"""A prompt by its tokens: what came from the cache, and what each chunk computed."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.inspector.answer.lanes import Pipeline
from ui.theme import ThemeSource

_HEIGHT = 10
_LEAST = 2.0


class PromptStrip(QWidget):
    """Cached tokens are hatched, computed ones solid, chunk beside chunk."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._cached = 0
        self._chunks: tuple[int, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self.updateGeometry)

    def set_pipeline(self, pipeline: Pipeline) -> None:
        """Show the prompt of this answer."""
        if (pipeline.num_cached, pipeline.chunks) == (self._cached, self._chunks):
            return
        self._cached, self._chunks = pipeline.num_cached, pipeline.chunks
        words = prompt_words(pipeline)
        self.setAccessibleName(words)
        self.setToolTip(words)
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._themes.px(200), self._themes.px(_HEIGHT))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        total = self._cached + sum(self._chunks)
        if total <= 0:
            return
        painter = QPainter(self)
        color, height = self._themes.color("stage_prefill"), self.height()
        edge = self.width() * self._cached / total
        if self._cached:
            box = QRectF(0.5, 0.5, max(_LEAST, edge - 1), height - 1)
            painter.fillRect(box, self._themes.color("stage_prefill", alpha=50))
            painter.setPen(color)
            brush = painter.brush()
            brush.setColor(color)
            brush.setStyle(Qt.BrushStyle.BDiagPattern)
            painter.setBrush(brush)
            painter.drawRect(box)
        place = self._cached
        for tokens in self._chunks:
            left = self.width() * place / total
            place += tokens
            width = self.width() * place / total - left
            painter.fillRect(QRectF(left, 0, max(_LEAST, width - 1), height), color)
        painter.end()


def prompt_words(pipeline: Pipeline) -> str:
    """What the strip shows."""
    computed = sum(pipeline.chunks)
    if not pipeline.num_cached:
        words = tr("Prompt: {total} tokens, all of them computed", total=f"{computed:,}")
        return words + _in_chunks(pipeline)
    words = tr(
        "Prompt: {total} tokens, {cached} from the cache (hatched), {computed} computed",
        total=f"{pipeline.num_cached + computed:,}",
        cached=f"{pipeline.num_cached:,}",
        computed=f"{computed:,}",
    )
    return words + _in_chunks(pipeline)


def _in_chunks(pipeline: Pipeline) -> str:
    count = len(pipeline.chunks)
    return "" if count < 2 else " " + tr("in {n} chunks", n=f"{count:,}")
