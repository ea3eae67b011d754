"""A text that grows ends up as the same document as one shown whole."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QUrl
from PySide6.QtGui import QImage, QTextDocument

from tests.ui.richtext.pieces import PIECES
from ui.richtext.blocks import Table
from ui.richtext.code_view import CodeView
from ui.richtext.markdown_view import SLICE_ROWS, MarkdownView
from ui.richtext.render import BlockRenderer
from ui.richtext.text_view import TextView
from ui.theme import ThemeSource


@pytest.fixture
def make_view(qtbot):
    look = ThemeSource()

    def make():
        view = MarkdownView(look)
        qtbot.addWidget(view)
        return view

    return make


def picture(view):
    """Texts and formats of all parts, comparable."""
    return [
        ("code", part.block) if isinstance(part, CodeView) else ("text", describe(part.document()))
        for part in view.parts
    ]


def describe(document):
    lines = []
    block = document.begin()
    while block.isValid():
        form = block.blockFormat()
        spans = []
        iterator = block.begin()
        while not iterator.atEnd():
            fragment = iterator.fragment()
            char = fragment.charFormat()
            spans.append((fragment.text(), char.fontWeight(), char.anchorHref()))
            iterator += 1
        lines.append((form.leftMargin(), form.topMargin(), form.headingLevel(), spans))
        block = block.next()
    return lines


def shown_whole(view, text):
    view.append(text)
    view.finish()
    return picture(view)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.lists(st.integers(1, 15), max_size=40))
def test_growing_and_whole_texts_look_the_same(make_view, pieces, sizes):
    text = "".join(pieces)
    view = make_view()
    position = 0
    for size in sizes:
        view.append(text[position : position + size])
        position += size
    view.append(text[position:])
    view.finish()
    assert picture(view) == shown_whole(make_view(), text)


def test_set_text_arrives_in_slices_and_is_the_same(qtbot, make_view):
    text = "# Title\n\n" + "A paragraph with **bold** words.\n\n```py\nx = 1\n```\n\n" * 60
    view = make_view()
    view.set_text(text)
    assert view.is_building
    qtbot.waitUntil(lambda: not view.is_building)
    assert picture(view) == shown_whole(make_view(), text)


def test_frozen_text_is_not_touched_again(make_view):
    view = make_view()
    view.append("First paragraph.\n\nSecond\npara")
    (part,) = view.parts
    assert isinstance(part, TextView)
    changes = []
    part.document().contentsChange.connect(lambda at, *_: changes.append(at))
    for word in ("graph ", "that ", "grows.\n\n", "Third."):
        view.append(word)
    assert changes
    assert min(changes) > len("First paragraph.")


def test_code_is_one_part_that_grows(make_view):
    view = make_view()
    view.append("Before\n\n```python\na = 1\n")
    code = view.parts[1]
    view.append("b = 2\n")
    assert view.parts[1] is code
    assert code.block.text == "a = 1\nb = 2"
    view.append("```\nAfter")
    view.finish()
    assert view.parts[1] is code
    assert [type(part) for part in view.parts] == [TextView, CodeView, TextView]


@pytest.mark.parametrize(
    "text",
    [
        "![x](file:///etc/passwd)",
        "![x](file://host/share/x.png)",
        "![x](https://example.org/x.png)",
        '<img src="file:///etc/passwd">',
        "![x](data:image/png;base64,AAAA)",
    ],
)
def test_nothing_is_loaded(make_view, text):
    view = make_view()
    view.append(text + " tail\n\n")
    view.finish()
    for part in view.parts:
        document = part.document()
        for address in ("file:///etc/passwd", "https://example.org/x.png"):
            kind = QTextDocument.ResourceType.ImageResource.value
            loaded = document.resource(kind, QUrl(address))
            assert not loaded or (isinstance(loaded, QImage) and loaded.isNull())
        assert "\ufffc" not in document.toPlainText()


def test_javascript_is_no_link(make_view):
    view = make_view()
    view.append("[a](javascript:alert(1)) [b](https://example.org/)")
    view.finish()
    assert "javascript" not in view.parts[0].document().toHtml().split("href")[-1]


def test_hostile_texts_do_not_hang(qtbot, make_view):
    for text in ("word " * 40_000, ">" * 5_000 + " deep\n", "[" * 6_000, "*a **b " * 900):
        view = make_view()
        view.set_text(text)
        qtbot.waitUntil(lambda view=view: not view.is_building, timeout=60_000)
        assert view.height_for(600) > 0


def test_links_are_reported_not_opened(qtbot, make_view):
    view = make_view()
    view.append("[a](https://example.org/x?y=1)")
    view.finish()
    with qtbot.waitSignal(view.link_clicked) as signal:
        view.parts[0].anchorClicked.emit(QUrl("https://example.org/x?y=1"))
    assert signal.args == ["https://example.org/x?y=1"]


def test_a_tint_is_painted_under_its_words_and_goes_again(qtbot):
    look = ThemeSource()
    view = MarkdownView(look)
    qtbot.addWidget(view)
    view.resize(300, 80)
    view.set_text("One **two** three.")
    view.setGeometry(0, 0, 300, view.height_for(300))
    view.show()
    soft = look.color("accent_soft").rgb()

    def tinted_columns():
        image = view.grab().toImage()
        return [
            x
            for x in range(image.width())
            if any(image.pixel(x, y) == soft for y in range(image.height()))
        ]

    assert tinted_columns() == []
    view.tint("One **two** three.", [(6, 9)])
    columns = tinted_columns()
    assert columns
    assert columns[0] > 10
    assert columns[-1] < 120
    view.tint("One **two** three.", ())
    assert tinted_columns() == []


def test_a_tint_in_a_table_and_under_a_heading_lies_on_its_words(qtbot):
    look = ThemeSource()
    text = "## One two\n\nWords.\n\n| a | b |\n|---|---|\n| c | moon |\n"
    view = MarkdownView(look)
    qtbot.addWidget(view)
    view.set_text(text)
    view.setGeometry(0, 0, 300, view.height_for(300))
    view.show()
    view.tint(text, [(text.index("moon"), text.index("moon") + 4)])
    image = view.grab().toImage()
    soft = look.color("accent_soft").rgb()
    spots = [
        (x, y)
        for x in range(image.width())
        for y in range(image.height())
        if image.pixel(x, y) == soft
    ]
    assert min(x for x, _y in spots) > 100, "in the second column"
    assert min(y for _x, y in spots) > image.height() // 2, "in the last row"


def test_what_changed_quietly_before_code_that_came_whole_is_painted(make_view):
    view = make_view()
    view.append("Some words", is_quiet=True)
    view.refresh()
    view.append(" and more.\n\n```\nx\n```\n\nThe rest", is_quiet=True)
    assert any(part.is_stale for part in view.parts if isinstance(part, TextView))
    view.refresh()
    assert not any(part.is_stale for part in view.parts if isinstance(part, TextView))


def test_a_table_that_grows_is_the_table_shown_at_once(make_view, monkeypatch):
    head = "Before.\n\n| Layer | Time |\n|:--|--:|\n"
    rows = "| attention | **1.2** ms |\n| a longer name than the others | 3 ms |\n| `x` | |\n"
    grown, whole = make_view(), make_view()
    made = []
    replace_tail = TextView._replace_tail
    monkeypatch.setattr(
        TextView,
        "_replace_tail",
        lambda *given, **more: made.append(1) or replace_tail(*given, **more),
    )
    grown.append(head)
    made.clear()
    for start in range(0, len(rows), 5):
        grown.append(rows[start : start + 5], is_quiet=True)
        grown.refresh()
    assert made == []
    whole.append(head + rows)
    pictures = []
    for view in (grown, whole):
        view.resize(500, view.height_for(500))
        pictures.append(view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32))
    assert pictures[0] == pictures[1]
    assert grown.height_for(500) == whole.height_for(500)
    assert picture(grown) == picture(whole)
    for view in (grown, whole):
        view.append("\nAfter.\n\nThe end.")
    assert picture(grown) == picture(whole)


def test_what_is_shown_already_is_not_made_anew_when_it_is_final(make_view, monkeypatch):
    view, dropped = make_view(), []
    view.append("Words.\n\n| A | B |\n|---|---|\n| a | b |\n")
    drop_tail = TextView._drop_tail
    monkeypatch.setattr(
        TextView,
        "_drop_tail",
        lambda text, *given, **more: dropped.append(text._tail) or drop_tail(text, *given, **more),
    )
    for piece in ("\nAfter", " all", ".\n", "\nThe", " end."):
        view.append(piece)
    view.finish()
    assert not any(isinstance(block, Table) for tail in dropped for block in tail)
    whole = make_view()
    whole.set_text("Words.\n\n| A | B |\n|---|---|\n| a | b |\n\nAfter all.\n\nThe end.")
    assert picture(view) == picture(whole)


def test_a_long_table_is_shown_in_slices(make_view, monkeypatch):
    rows = "".join(f"| row {n} | {n * n} |\n" for n in range(3 * SLICE_ROWS))
    text = f"Before.\n\nAnd.\n\n| A | B |\n|---|---|\n{rows}\nAfter.\n\n```\ncode\n```\n\n{rows}"
    view, whole, shown = make_view(), make_view(), []
    fill = BlockRenderer._fill
    monkeypatch.setattr(
        BlockRenderer,
        "_fill",
        lambda renderer, table, block, rows: (
            shown.append(len(rows)) or fill(renderer, table, block, rows)
        ),
    )
    view.set_text(text, is_patient=True)
    while view.is_building:
        view.build()
    assert max(shown) <= SLICE_ROWS
    assert sum(shown) >= 3 * SLICE_ROWS + 1
    whole.append(text)
    whole.finish()
    assert picture(view) == picture(whole)
