from datetime import date, datetime, timedelta

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from ui.sidebar.model import ConversationModel, Role
from ui.sidebar.rows import ConversationRow

TODAY = date(2026, 11, 29)
NOON = datetime(2026, 11, 29, 12).astimezone()


def row(number, title="chat", *, days=0, generating=False):
    when = NOON - timedelta(days=days, minutes=number)
    return ConversationRow(number, f"{title} {number}", when.timestamp(), generating)


@pytest.fixture
def model(qapp):
    assert qapp is not None
    model = ConversationModel(today=lambda: TODAY)
    model._tester = QAbstractItemModelTester(
        model, QAbstractItemModelTester.FailureReportingMode.Fatal
    )
    return model


def texts(model):
    return [model.data(model.index(n)) for n in range(model.rowCount())]


class Changes:
    """Counts what a model announces."""

    def __init__(self, model):
        self.inserted = self.removed = 0
        self.changed = []
        model.rowsInserted.connect(self._on_inserted)
        model.rowsRemoved.connect(self._on_removed)
        model.dataChanged.connect(self._on_changed)
        model.modelReset.connect(self._on_reset)

    def _on_inserted(self, _parent, first, last):
        self.inserted += last - first + 1

    def _on_removed(self, _parent, first, last):
        self.removed += last - first + 1

    def _on_changed(self, first, _last, roles):
        self.changed.append((first.row(), set(roles)))

    def _on_reset(self):
        raise AssertionError("reset")


def test_rows_stand_newest_first_under_headings(model):
    model.set_rows([row(3, days=40), row(1), row(2, days=1)])
    assert texts(model) == ["Today", "chat 1", "Yesterday", "chat 2", "October", "chat 3"]
    assert model.num_conversations() == 3
    assert model.row_of(2) == 3
    assert model.row_of(9) is None
    assert model.row_of(None) is None


def test_headings_cannot_be_chosen(model):
    model.set_rows([row(1)])
    heading, chat = model.index(0), model.index(1)
    assert model.data(heading, Role.IS_HEADING)
    assert not model.flags(heading) & Qt.ItemFlag.ItemIsSelectable
    assert not model.flags(heading) & Qt.ItemFlag.ItemIsEnabled
    assert model.flags(chat) & Qt.ItemFlag.ItemIsEditable
    assert model.conversation_at(heading) is None
    assert model.data(chat, Role.CONVERSATION_ID) == 1


def test_an_update_touches_only_what_differs(model):
    model.set_rows([row(n) for n in range(1, 6)])
    changes = Changes(model)
    model.set_rows([row(n) for n in range(1, 6)])
    assert (changes.inserted, changes.removed, changes.changed) == (0, 0, [])
    model.set_rows([row(0), *(row(n, generating=n == 3) for n in range(1, 6))])
    assert (changes.inserted, changes.removed) == (1, 0)
    roles = {int(Role.IS_GENERATING), int(Qt.ItemDataRole.AccessibleTextRole)}
    assert changes.changed == [(3, roles)]  # told before the new row came in above


def test_a_removed_conversation_takes_its_lonely_heading_along(model):
    model.set_rows([row(1), row(2, days=1)])
    changes = Changes(model)
    model.set_rows([row(1)])
    assert (changes.inserted, changes.removed) == (0, 2)
    assert texts(model) == ["Today", "chat 1"]


def test_renaming_announces_the_new_title_once(model):
    model.set_rows([row(1)])
    heard = []
    model.renamed.connect(lambda *args: heard.append(args))
    chat = model.index(1)
    assert model.setData(chat, "  Rivers  ")
    assert model.data(chat) == "Rivers"
    assert heard == [(1, "Rivers")]
    assert not model.setData(chat, "Rivers")
    assert not model.setData(chat, "   ")
    assert not model.setData(model.index(0), "Tomorrow")
    assert heard == [(1, "Rivers")]


def test_a_chat_that_answers_is_said_in_words(model):
    model.set_rows([row(1, generating=True)])
    spoken = model.data(model.index(1), Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "chat 1, answering"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(1, 12), st.integers(0, 60), st.booleans()),
            unique_by=lambda item: item[0],
            max_size=10,
        ),
        max_size=5,
    )
)
def test_any_sequence_of_lists_ends_with_the_last(qapp, lists):
    assert qapp is not None
    model = ConversationModel(today=lambda: TODAY)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    fresh = ConversationModel(today=lambda: TODAY)
    for items in lists:
        rows = [row(number, days=days, generating=busy) for number, days, busy in items]
        model.set_rows(rows)
        fresh = ConversationModel(today=lambda: TODAY)
        fresh.set_rows(rows)
    assert texts(model) == texts(fresh)
    assert tester.model() is model
