"""What shows answers: imported right after the window's first paint, before one can come."""

from app.late.parts import Steps, imports

ANSWERS = "answers"


def steps_to_answers() -> Steps:
    """Markdown, colours of code, and the widgets made of both, a few milliseconds each."""
    yield from imports(
        "html.entities",
        "mdurl",
        "markdown_it",
        "ui.richtext.flatten",
        "ui.richtext.stream",
        "pygments.lexers",
        "ui.richtext.code_view",
        "ui.richtext.markdown_view",
        "ui.chat.stats_line",
        "ui.chat.thought_block",
        "ui.chat.assistant_item",
    )
