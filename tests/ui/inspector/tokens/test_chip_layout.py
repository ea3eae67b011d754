"""Where chips stand."""

from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRectF

from ui.inspector.tokens.chip_layout import ChipLayout


def layout_of(widths, breaks=None, room=100.0):
    layout = ChipLayout(4.0, 20.0)
    layout.set_room(room)
    layout.add(widths, breaks or [False] * len(widths))
    return layout


def test_lines_end_with_the_room_and_with_the_text():
    layout = layout_of([40, 40, 40, 10, 10], [False, False, True, False, False])
    lefts = [(layout.line_of(n), layout.rect(n).left()) for n in range(5)]
    assert lefts == [(0, 0), (0, 44), (1, 0), (2, 0), (2, 14)]
    assert (layout.num_lines, layout.height) == (3, 60)
    assert layout.rect(1) == QRectF(44, 2, 40, 16)


def test_a_chip_wider_than_the_room_is_cut_to_it():
    layout = layout_of([300, 10])
    assert layout.rect(0).width() == 100
    assert layout.line_of(1) == 1


def test_points_and_columns():
    layout = layout_of([40, 40, 40, 10, 10])
    assert layout.at(10, 5) == 0
    assert layout.at(42, 5) is None
    assert layout.at(50, 5) == 1
    assert layout.at(99, 5) is None
    assert layout.at(10, 500) is None
    assert layout.at(10, -1) is None
    assert layout.beside(1, 1) == 4
    assert layout.beside(4, -1) == 1
    assert layout.beside(0, 99) == 2
    assert layout.beside(4, -99) == 1


def test_nothing_at_all():
    layout = layout_of([])
    assert (layout.num_chips, layout.num_lines, layout.height) == (0, 0, 0)
    assert layout.at(0, 0) is None
    assert list(layout.places_between(0, 100)) == []


@given(
    st.lists(st.tuples(st.floats(1, 150), st.booleans()), max_size=60),
    st.floats(20, 300),
    st.floats(0, 400),
    st.floats(0, 200),
)
def test_lines_hold_every_chip_in_order(chips, room, top, height):
    layout = layout_of([width for width, _ in chips], [b for _, b in chips], room)
    for place, (_, is_end) in enumerate(chips):
        rect = layout.rect(place)
        assert rect.right() <= room + 1e-6
        if place + 1 < len(chips):
            after = layout.rect(place + 1)
            assert after.top() >= rect.top()
            assert after.top() > rect.top() or (after.left() > rect.right() and not is_end)
        center = rect.center()
        assert layout.at(center.x(), center.y()) == place
    shown = set(layout.places_between(top, top + height))
    for place in range(len(chips)):
        rect = layout.rect(place)
        if rect.top() < top + height and rect.bottom() > top:
            assert place in shown
    half = len(chips) // 2
    pieces = layout_of([w for w, _ in chips[:half]], [b for _, b in chips[:half]], room)
    pieces.add([w for w, _ in chips[half:]], [b for _, b in chips[half:]])
    assert [pieces.rect(n) for n in range(len(chips))] == [
        layout.rect(n) for n in range(len(chips))
    ]
    layout.set_room(room / 2)
    assert layout.num_chips == len(chips)
