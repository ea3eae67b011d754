from datetime import date

import pytest

from ui.sidebar.dates import heading

TODAY = date(2026, 11, 29)


@pytest.mark.parametrize(
    ("day", "shown"),
    [
        (TODAY, "Today"),
        (date(2026, 11, 30), "Today"),  # a clock that was set back
        (date(2026, 11, 28), "Yesterday"),
        (date(2026, 11, 22), "Previous 7 days"),
        (date(2026, 11, 21), "November"),
        (date(2026, 3, 1), "March"),
        (date(2025, 7, 1), "July 2025"),
    ],
)
def test_headings(day, shown):
    assert heading(day, TODAY) == shown
