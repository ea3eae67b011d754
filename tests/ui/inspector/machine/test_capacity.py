"""What a budget would give, done by hand. The model: 2,048 tokens, 23,040 bytes each."""

from dataclasses import replace

from engine.api import CacheGroup
from ui.inspector.machine.capacity import bytes_of, capacity_words, context_in

FULL = 2_048 * 23_040


def test_full_contexts(info):
    assert capacity_words((), info, 3 * FULL + 5, None) == (
        "Gives the full context of 2,048 tokens to ~3 chats at once."
    )
    assert capacity_words((), info, FULL, None).endswith("~1 chat at once.")


def test_less_than_a_context(info):
    words = capacity_words((), info, FULL // 2 + 100, None)
    assert words == "Gives a context of ~1,024 tokens, for one chat."
    assert context_in((), info, 1_000 * 23_040, 2_048) == 992


def test_less_than_the_context_that_is_set(info):
    words = capacity_words((), info, FULL // 2, 2_048)
    assert words.startswith("Too little for the context of 2,048 tokens that is set; 1,024")


def test_a_shorter_context_for_more_chats(info):
    assert "512 tokens to ~4 chats" in capacity_words((), info, FULL, 512)


def test_layers_with_a_window_take_no_more(info):
    groups = (
        CacheGroup("full", 1, None, 16, 1_600, ()),
        CacheGroup("window", 4, 100, 16, 6_400, ()),
    )
    assert bytes_of(groups, info, 50) == 50 * 500
    assert bytes_of(groups, info, 1_000) == 1_000 * 100 + 100 * 400
    assert context_in(groups, info, 140_000, 2_048) == 992  # whole blocks of 1,000
    assert context_in(groups, replace(info, kv_block_size=1), 140_000, 2_048) == 1_000
