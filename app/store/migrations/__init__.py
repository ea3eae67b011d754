"""The database's schema as numbered steps; ``PRAGMA user_version`` counts those applied.

A step is never changed after a release: the next change is a new module at the list's end.
"""

import sqlite3
from collections.abc import Callable

from app.store.migrations import (
    m0001_conversations,
    m0002_search,
    m0003_reasoning,
    m0004_reports,
)

Migration = Callable[[sqlite3.Connection], None]

MIGRATIONS: tuple[Migration, ...] = (
    m0001_conversations.apply,
    m0002_search.apply,
    m0003_reasoning.apply,
    m0004_reports.apply,
)
