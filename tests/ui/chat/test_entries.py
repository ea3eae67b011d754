from ui.chat.entries import Entries
from ui.chat.rows import MessageRow, MessageStatus


def make(n):
    entries = Entries()
    entries.set_rows([MessageRow(10 + i, "user", "text " * (i + 1)) for i in range(n)])
    entries.measure(600, 1.0)
    return entries


def test_tops_add_up():
    entries = make(5)
    y = 0
    for index, entry in enumerate(entries):
        assert entries.top(index) == y
        assert entries.at(y) == index
        y += entry.height
    assert entries.total_height == y
    assert entries.at(y + 1_000) == 4


def test_ranges_touch_what_they_cover():
    entries = make(5)
    assert list(entries.between(-50, 0)) == [0]
    assert list(entries.between(entries.top(1), entries.top(3))) == [1, 2, 3]
    assert not list(Entries().between(0, 100))


def test_longer_texts_are_estimated_higher_and_wider_columns_lower():
    entries = Entries()
    entries.set_rows([MessageRow(1, "assistant", "word " * 500)])
    entries.measure(300, 1.0)
    narrow = entries.total_height
    entries.measure(900, 1.0)
    assert entries.total_height < narrow


def test_streamed_text_is_taken_once():
    entries = Entries()
    entry = entries.append(MessageRow(1, "assistant", "a", status=MessageStatus.STREAMING))
    entry.unshown += ["b", "c"]
    assert entry.take_unshown() == "bc"
    assert entry.take_unshown() == ""
    assert entry.current_row().text == "abc"
    assert entries.find(1) is entry
    assert entries.find(2) is None
