"""A time that is a guess, as one rounded figure with "~" before it."""

from ui.i18n import tr


def about_time(seconds: float) -> str:
    """Seconds below a minute, minutes below an hour and a half, else hours."""
    if seconds < 60:
        return tr("~{n} s", n=max(1, round(seconds)))
    if seconds < 5_400:
        return tr("~{n} min", n=round(seconds / 60))
    return tr("~{n} h", n=f"{seconds / 3_600:.1f}")
