"""The prompt by its tokens."""

from engine.api import ChunkTime
from tests.helpers.observations import MS, make_timeline
from ui.inspector.answer.lanes import pipeline_of
from ui.inspector.answer.prompt_strip import PromptStrip, prompt_words
from ui.theme import ThemeSource

CHUNKS = (ChunkTime(2 * MS, 50 * MS, 60, 30), ChunkTime(50 * MS, 102 * MS, 90, 10))


def test_cached_and_computed_tokens_are_told_apart(qtbot):
    strip = PromptStrip(ThemeSource())
    qtbot.addWidget(strip)
    strip.resize(202, 10)
    strip.set_pipeline(pipeline_of(make_timeline(prompt=100, cached=60), CHUNKS))
    words = "Prompt: 100 tokens, 60 from the cache (hatched), 40 computed in 2 chunks"
    assert strip.accessibleName() == strip.toolTip() == words
    shown = strip.grab().toImage()
    solid = shown.pixelColor(round(shown.width() * 0.7), shown.height() // 2)
    assert solid.name() == "#0072b2"
    hatched = {
        shown.pixelColor(x, shown.height() // 2).name() for x in range(4, shown.width() // 2)
    }
    assert len(hatched) > 1


def test_a_prompt_that_was_not_known_is_computed_whole():
    assert prompt_words(pipeline_of(make_timeline(prompt=42))) == (
        "Prompt: 42 tokens, all of them computed"
    )


def test_a_prompt_of_nothing_is_painted_as_nothing(qtbot):
    strip = PromptStrip(ThemeSource())
    qtbot.addWidget(strip)
    strip.grab()
    assert strip.accessibleName() == ""
