"""User-visible text: English in the source, translated through Qt's catalogues.

One context for the whole product, so a string has one translation. packaging/translations.py
collects the literals given to ``tr``, ``tr_n`` and ``mark``.
"""

from PySide6.QtCore import QCoreApplication, QLocale

CONTEXT = "tokentide"


def mark(text: str) -> str:
    """Name a literal for the catalogues that is translated later, by ``tr`` of a variable."""
    return text


def tr(text: str, /, **values: object) -> str:
    """Translate a literal and fill in its ``{named}`` values."""
    translated = QCoreApplication.translate(CONTEXT, text)
    return translated.format(**values) if values else translated


def tr_n(one: str, many: str, n: int) -> str:
    """Translate the singular or plural form of a literal; both may use ``{n}``."""
    return tr(one if n == 1 else many, n=f"{n:,}")


def locale() -> QLocale:
    """The language of the window, for names of months and the like; not always the system's."""
    return QLocale(tr("en"))
