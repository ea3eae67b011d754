"""Colours of highlighted code, at least 4.5:1 on the code ground of each scheme."""

from PySide6.QtGui import QColor, QFont, QTextCharFormat

from ui.theme import SchemeName

_LIGHT: dict[str, str] = {
    "Comment": "#6A6C67",
    "Keyword": "#8A3FA0",
    "Keyword.Constant": "#9A4A00",
    "Name.Builtin": "#0B6E80",
    "Name.Class": "#0B6E80",
    "Name.Decorator": "#8A5A00",
    "Name.Exception": "#A3341F",
    "Name.Function": "#1F5FA8",
    "Name.Tag": "#8A3FA0",
    "Name.Attribute": "#1F5FA8",
    "Literal.Number": "#9A4A00",
    "Literal.String": "#2E6E31",
    "Operator.Word": "#8A3FA0",
    "Generic.Deleted": "#B3261E",
    "Generic.Inserted": "#2E6E31",
    "Generic.Heading": "#1F5FA8",
    "Generic.Prompt": "#6A6C67",
}
_DARK: dict[str, str] = {
    "Comment": "#9A9D99",
    "Keyword": "#D3A4E6",
    "Keyword.Constant": "#EDB77E",
    "Name.Builtin": "#6FC7D6",
    "Name.Class": "#6FC7D6",
    "Name.Decorator": "#E2C27A",
    "Name.Exception": "#F2857D",
    "Name.Function": "#86B8F0",
    "Name.Tag": "#D3A4E6",
    "Name.Attribute": "#86B8F0",
    "Literal.Number": "#EDB77E",
    "Literal.String": "#9BCB8B",
    "Operator.Word": "#D3A4E6",
    "Generic.Deleted": "#F2857D",
    "Generic.Inserted": "#9BCB8B",
    "Generic.Heading": "#86B8F0",
    "Generic.Prompt": "#9A9D99",
}
CODE_COLORS: dict[SchemeName, dict[str, str]] = {"light": _LIGHT, "dark": _DARK}


class CodeColors:
    """Formats for the lexer's kinds of pieces; kinds without a colour of their own give None."""

    def __init__(self, scheme: SchemeName) -> None:
        self._colors = CODE_COLORS[scheme]
        self._formats: dict[str, QTextCharFormat | None] = {}

    def format_of(self, kind: str) -> QTextCharFormat | None:
        """The format of a kind such as "Keyword.Constant", or of its nearest named parent."""
        if kind not in self._formats:
            self._formats[kind] = self._make(kind)
        return self._formats[kind]

    def _make(self, kind: str) -> QTextCharFormat | None:
        while kind and kind not in self._colors:
            kind = kind.rpartition(".")[0]
        if not kind:
            return None
        char = QTextCharFormat()
        char.setForeground(QColor(self._colors[kind]))
        if kind == "Comment":
            char.setFontItalic(True)
        if kind == "Keyword":
            char.setFontWeight(QFont.Weight.Medium)
        return char
