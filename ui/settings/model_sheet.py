"""The loaded model's facts as a small two-column sheet."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from engine.api import ModelInfo
from ui.i18n import tr
from ui.theme import set_look
from ui.widgets.precision_name import precision_title
from ui.widgets.units import bytes_quantity, parameters_short


def facts(info: ModelInfo) -> list[tuple[str, str]]:
    """Label and value of each line."""
    heads = tr(
        "{layers} layers, {heads} heads, {kv_heads} KV heads",
        layers=info.num_layers,
        heads=info.num_heads,
        kv_heads=info.num_kv_heads,
    )
    lines = [
        (tr("Name"), info.name),
        (tr("Architecture"), info.architecture),
        (tr("Parameters"), parameters_short(info.num_parameters)),
        (tr("Attention"), heads),
        (
            tr("Embedding"),
            tr(
                "{vocab} tokens of {hidden} values",
                vocab=f"{info.vocab_size:,}",
                hidden=f"{info.hidden_size:,}",
            ),
        ),
        (
            tr("Context"),
            tr(
                "{used} tokens (trained for {trained})",
                used=f"{info.context_length:,}",
                trained=f"{info.trained_context_length:,}",
            ),
        ),
        (tr("Precision"), f"{precision_title(info)}, KV {info.kv_dtype}"),
        (tr("Runs on"), device_words(info)),
        (tr("Weights"), str(bytes_quantity(info.weights_bytes))),
        (tr("KV cache"), tr("{size} a token", size=str(bytes_quantity(info.kv_bytes_per_token)))),
        (tr("Kernels"), "\n".join(info.kernels)),
        (tr("Licence"), info.license),
    ]
    return [(label, value) for label, value in lines if value]


def device_words(info: ModelInfo) -> str:
    """The device, with its threads where they matter."""
    if info.device.value == "cpu":
        return tr("{device}, {threads} threads", device=info.device_name, threads=info.threads)
    return info.device_name


class ModelSheet(QFrame):
    """Hidden while no model is loaded."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        set_look(self, "card")
        self.setAccessibleName(tr("About the model"))
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(12, 10, 12, 10)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        self.hide()

    def set_model(self, info: ModelInfo | None) -> None:
        """Show a model's facts, or nothing."""
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.setVisible(info is not None)
        if info is None:
            return
        for row, (label, value) in enumerate(facts(info)):
            self._grid.addWidget(self._cell(label, wraps=False), row, 0)
            self._grid.addWidget(self._cell(value, wraps=True), row, 1)

    def _cell(self, text: str, *, wraps: bool) -> QLabel:
        label = QLabel(text, self)
        set_look(label, "fact" if wraps else "small")
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        if wraps:
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label
