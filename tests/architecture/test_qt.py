"""The Qt binding keeps the reference counts of True and None (6.12 does not, on Python 3.11)."""

import sys

import PySide6
import pytest
from PySide6.QtCore import QObject, Signal, Slot

EMITS = 1000
# other threads of the test run may hold a few references for a moment
SLACK = 100


class Bell(QObject):
    rung = Signal(bool, object)

    def __init__(self):
        super().__init__()
        self.heard = 0
        self.rung.connect(self.hear)

    @Slot(bool, object)
    def hear(self, loud, note):
        assert loud is True
        assert note is None
        self.heard += 1


@pytest.mark.usefixtures("qapp")
def test_a_thousand_emits_keep_the_counts():
    bell = Bell()
    before = sys.getrefcount(True), sys.getrefcount(None)
    for _ in range(EMITS):
        bell.rung.emit(True, None)
        bell.setObjectName("bell")
    after = sys.getrefcount(True), sys.getrefcount(None)
    assert bell.heard == EMITS
    assert abs(after[0] - before[0]) < SLACK
    assert abs(after[1] - before[1]) < SLACK


def test_the_binding_is_the_pinned_line():
    assert PySide6.__version_info__[:2] == (6, 11)
