"""Under which date heading a conversation stands. Plain functions over local dates."""

from datetime import date

from PySide6.QtCore import QDate

from ui.i18n import locale, tr


def heading(day: date, today: date) -> str:
    """Today, Yesterday, Previous 7 days, or the month ("March", "March 2024" of another year)."""
    age = (today - day).days
    if age <= 0:
        return tr("Today")
    if age == 1:
        return tr("Yesterday")
    if age <= 7:
        return tr("Previous 7 days")
    pattern = tr("MMMM") if day.year == today.year else tr("MMMM yyyy")
    return locale().toString(QDate(day.year, day.month, day.day), pattern)
