from hypothesis import given
from hypothesis import strategies as st

from ui.richtext.tint import place_ranges


def shown(source, ranges, *texts):
    placed = place_ranges(source, ranges, texts)
    return [[text[a:b] for a, b in marks] for text, marks in zip(texts, placed, strict=True)]


def test_markup_is_passed_over():
    source = "The **tide** turns [here](https://example.org/here) twice."
    text = "The tide turns here twice."
    start = source.index("tide")
    assert shown(source, [(start, start + 4)], text) == [["tide"]]
    start = source.index("twice")
    assert shown(source, [(start, start + 6)], text) == [["twice."]]


def test_ranges_go_on_from_one_text_to_the_next():
    source = "One two.\n\n```py\nx = 1\n```\n\nEnd."
    at = source.index("two"), source.index("End") + 3
    assert shown(source, [at], "One two.", "x = 1", "End.") == [["two."], ["x = 1"], ["End"]]


def test_neighbours_become_one_mark_unless_a_line_ends():
    source = "a b c\nd"
    assert shown(source, [(0, 1), (2, 3), (4, 5), (6, 7)], "a b c\nd") == [["a b c", "d"]]


def test_letters_around_markup_inside_a_word():
    source = "un**believ**able 海**水**涨"
    start = source.index("believ")
    assert shown(source, [(start, start + 6)], "unbelievable 海水涨") == [["believ"]]
    start = source.index("水")
    assert shown(source, [(start, start + 1)], "unbelievable 海水涨") == [["水"]]


@given(st.text(max_size=200), st.integers(0, 199), st.integers(1, 50))
def test_plain_text_keeps_its_ranges(text, start, length):
    (marks,) = place_ranges(text, [(start, start + length)], [text])
    marked = "".join("".join(text[a:b].split()) for a, b in marks)
    assert marked == "".join(text[start : start + length].split())
    assert all(0 <= a < b <= len(text) for a, b in marks)
