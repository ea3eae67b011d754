"""Markdown that grows gives the same blocks however it arrives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.richtext.pieces import PIECES
from ui.richtext import stream as stream_module
from ui.richtext.blocks import LINE_BREAK, Code, Place, Prose, Rule, Span, Table
from ui.richtext.stream import BLOCK_LIMIT, MarkdownStream, parse_markdown


def grow(text, sizes):
    stream = MarkdownStream()
    blocks = []
    position = 0
    for size in sizes:
        stream.append(text[position : position + size])
        position += size
        blocks += stream.look().frozen
        if position >= len(text):
            break
    stream.append(text[position:])
    return (*blocks, *stream.finish().frozen)


@given(st.lists(st.sampled_from(PIECES), max_size=40), st.lists(st.integers(1, 12), max_size=80))
def test_any_chunking_gives_the_same_blocks(pieces, sizes):
    text = "".join(pieces)
    assert grow(text, sizes) == parse_markdown(text)


@given(
    st.lists(st.sampled_from([*PIECES, "x" * 70, "y" * 30 + "\n"]), max_size=60),
    st.lists(st.integers(1, 60), max_size=60),
)
def test_forced_ends_do_not_depend_on_chunking(pieces, sizes):
    text = "".join(pieces)
    limits = stream_module.BLOCK_LIMIT, stream_module.LITERAL_PIECE
    stream_module.BLOCK_LIMIT, stream_module.LITERAL_PIECE = 60, 20
    try:
        assert grow(text, sizes) == parse_markdown(text)
    finally:
        stream_module.BLOCK_LIMIT, stream_module.LITERAL_PIECE = limits


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_the_tail_at_each_moment_is_what_a_whole_parse_shows_last(pieces):
    stream = MarkdownStream()
    frozen, text = [], ""
    for piece in pieces:
        stream.append(piece)
        text += piece
        growth = stream.look()
        frozen += growth.frozen
        whole = parse_markdown(text)
        assert tuple(frozen) == whole[: len(frozen)]


@given(
    st.lists(st.sampled_from([*PIECES, "w", "x-", "y.", "z ", "12", "_"]), max_size=40),
    st.lists(st.integers(1, 9), max_size=90),
)
def test_plain_words_are_added_as_a_parser_would(pieces, sizes):
    text = "".join(pieces)
    quick, slow = MarkdownStream(), MarkdownStream()
    position = 0
    for size in (*sizes, len(text)):
        for stream in (quick, slow):
            stream.append(text[position : position + size])
        slow._seen = ("", [])
        position += size
        assert quick.look() == slow.look()


ROWS = (
    "| a | b |\n", "| *x* | `y|z` |\n", "|one|\n", "| 1 | 2 | 3 |\n", "|\n", "| a \\| b | c |",
    "bare | row\n", "\n", " | x | y |\n", "words\n", "- item\n", "> quote\n", "    | code |\n", "# H\n",
)  # fmt: skip


@given(
    st.sampled_from(("", "Before.\n\n", "Before.\n", "- item\n\n  ")),
    st.lists(st.sampled_from(ROWS), max_size=12),
    st.lists(st.integers(1, 9), max_size=90),
)
def test_rows_are_added_as_a_parser_would(before, rows, sizes):
    text = f"{before}| A | B |\n|:--|--:|\n{''.join(rows)}"
    quick, slow = MarkdownStream(), MarkdownStream()
    position = 0
    for size in (*sizes, len(text)):
        for stream in (quick, slow):
            stream.append(text[position : position + size])
        slow._seen = ("", [])
        position += size
        assert quick.look() == slow.look()
    assert quick.finish() == slow.finish()


def test_finished_rows_are_not_read_again(monkeypatch):
    stream, read = MarkdownStream(), []
    stream.append("| A | B |\n|---|---|\n" + "| a | b |\n" * 50)
    stream.look()
    parse = stream._parser.parse
    monkeypatch.setattr(stream._parser, "parse", lambda text: read.append(text) or parse(text))
    stream.append("| c | d |\n| e")
    (table,) = stream.look().tail
    assert len(table.rows) == 53
    assert read == ["| A | B |\n|---|---|\n| c | d |\n| e"]


def test_a_table_as_long_as_a_block_may_be_is_ended_as_ever():
    text = "| A | B |\n|---|---|\n" + "| some words | and more |\n" * 400
    assert len(text) > BLOCK_LIMIT
    assert grow(text, [50] * 300) == parse_markdown(text)


def test_plain_words_need_no_parser(monkeypatch):
    stream = MarkdownStream()
    stream.append("A **bold** start ")
    stream.look()
    monkeypatch.setattr(stream_module, "flatten", None)
    stream.append(" and more, ")
    stream.append("isn't it? ")
    (last,) = stream.look().tail
    assert last.spans[-1] == Span(" start  and more, isn't it?")


@pytest.mark.parametrize(
    ("old", "added"),
    [
        ("1", "2"),
        ("word", "*"),
        ("word*", "s"),
        ("# Title", " word"),
        ("word", "\n"),
        ("", "word"),
    ],
)
def test_a_parser_is_asked_where_it_might_know_better(old, added):
    stream = MarkdownStream()
    stream.append(old)
    assert stream_module.extended(old, list(stream.look().tail), old + added) is None


def test_kinds_of_blocks():
    blocks = parse_markdown(
        "# Title\n\nA *b* **c** `d`\nnext\n\n---\n\n| a | b |\n|:--|--:|\n| 1 | **2** |\n\n"
        "```python title\nx = 1\n```\n"
    )
    assert blocks == (
        Prose((Span("Title"),), 1),
        Prose(
            (
                Span("A "),
                Span("b", is_italic=True),
                Span(" "),
                Span("c", is_bold=True),
                Span(" "),
                Span("d", is_code=True),
                Span(LINE_BREAK + "next"),
            )
        ),
        Rule(),
        Table(
            (((Span("a"),), (Span("b"),)), ((Span("1"),), (Span("2", is_bold=True),))),
            ("left", "right"),
        ),
        Code("x = 1", "python"),
    )


def test_lists_number_on_across_frozen_items():
    blocks = grow("3. a\n3. b\n   - c\n3. d\n", [1] * 40)
    assert [(block.place.marker, block.place.lists) for block in blocks] == [
        ("3.", 1),
        ("4.", 1),
        ("\u25e6", 2),
        ("5.", 1),
    ]


def test_items_are_frozen_while_the_list_still_grows():
    stream = MarkdownStream()
    stream.append("- a\n- b\n- c")
    growth = stream.look()
    assert [block.spans[0].text for block in growth.frozen] == ["a"]
    assert [block.spans[0].text for block in growth.tail] == ["b", "c"]


def test_open_code_grows_and_hides_a_fence_that_is_being_typed():
    stream = MarkdownStream()
    stream.append("```py\na\nb\n``")
    assert stream.look().tail == (Code("a\nb", "py", is_open=True),)
    stream.append("`\nafter")
    assert stream.look().frozen == (Code("a\nb", "py"),)


def test_html_stays_text_and_images_are_links():
    blocks = parse_markdown('<script>alert("x")</script>\n\n![a](file:///etc/passwd)')
    assert blocks[0] == Prose((Span('<script>alert("x")</script>'),))
    assert blocks[1].spans[0].text == "![a](file:///etc/passwd)" or blocks[1].spans[0].href


@pytest.mark.parametrize("link", ["javascript:alert(1)", "vbscript:x", "file:///etc/passwd"])
def test_links_that_run_or_open_files_are_no_links(link):
    (block,) = parse_markdown(f"[a]({link})")
    assert all(not span.href for span in block.spans)


def test_deep_quotes_stay_bounded():
    blocks = parse_markdown(">" * 5_000 + " x\n")
    assert all(block.place.quotes <= 20 for block in blocks)


def test_a_megabyte_in_one_line_becomes_plain_pieces():
    text = "word **x** " * 95_000
    blocks = grow(text, [4_000] * 300)
    assert "".join(block.spans[0].text for block in blocks) == text


def test_an_endless_block_is_ended_at_a_line():
    line = "words " * 15 + "\n"
    blocks = parse_markdown(line * 400)
    lengths = [sum(len(span.text) for span in block.spans) for block in blocks]
    assert len(blocks) > 1
    assert max(lengths) <= BLOCK_LIMIT + len(line)


def test_nested_code_keeps_its_place():
    blocks = parse_markdown("1. run\n\n   ```sh\n   ls\n   ```\n\n> ```\n> q\n> ```\n")
    codes = [block for block in blocks if isinstance(block, Code)]
    assert codes == [Code("ls", "sh", place=Place(0, 1)), Code("q", place=Place(1, 0))]
