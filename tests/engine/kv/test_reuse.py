"""Why a prompt was not found in the cache: each reason, its place, and the memory it takes."""

import pytest

from engine.api import CacheMiss, MissKind
from engine.kv.manager import KVManager
from engine.kv.reuse import MAX_CONVERSATIONS, CacheIdentity, ReuseHistory, common_beginning

NOW = CacheIdentity("model", "int4", load=2)


def _kv(*, prefix_cache: bool = True, copies_tails: bool = True) -> KVManager:
    return KVManager(
        num_blocks=8, block_size=16, prefix_cache=prefix_cache, copies_tails=copies_tails
    )


def _history(tokens: range, identity: CacheIdentity = NOW) -> ReuseHistory:
    history = ReuseHistory()
    history.note("chat", identity, tokens)
    return history


def test_a_turn_that_goes_on_lost_nothing() -> None:
    prompt = range(60)
    assert _history(range(50)).explain("chat", NOW, prompt, 50, _kv()) is None
    blocks_only = _kv(copies_tails=False)
    assert _history(range(50)).explain("chat", NOW, prompt, 48, blocks_only) is None


def test_the_first_turn_and_an_unknown_conversation() -> None:
    expected = CacheMiss(MissKind.FIRST_TURN, 16, 59 - 16)
    assert ReuseHistory().explain("chat", NOW, range(60), 16, _kv()) == expected
    assert ReuseHistory().explain(None, NOW, range(60), 16, _kv()) == expected
    assert ReuseHistory().explain(None, NOW, range(60), 59, _kv()) is None


def test_a_changed_text_is_told_by_its_first_token_that_differs() -> None:
    prompt = [*range(20), 99, *range(21, 60)]
    miss = _history(range(50)).explain("chat", NOW, prompt, 20, _kv())
    assert miss == CacheMiss(MissKind.TEXT_CHANGED, 20, 30)


def test_another_branch_that_was_still_cached_is_no_loss() -> None:
    prompt = [*range(20), 99, *range(21, 60)]
    assert _history(range(50)).explain("chat", NOW, prompt, 48, _kv()) is None


def test_the_same_question_again_lost_nothing() -> None:
    assert _history(range(50)).explain("chat", NOW, range(40), 39, _kv()) is None


def test_what_others_took_is_evicted() -> None:
    miss = _history(range(50)).explain("chat", NOW, range(60), 16, _kv())
    assert miss == CacheMiss(MissKind.EVICTED, 16, 34)


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        (CacheIdentity("other", "int4", load=1), MissKind.MODEL_CHANGED),
        (CacheIdentity("model", "int8", load=1), MissKind.PRECISION_CHANGED),
        (CacheIdentity("model", "int4", load=1), MissKind.RELOADED),
    ],
)
def test_a_load_since(before: CacheIdentity, kind: MissKind) -> None:
    history = _history(range(50), before)
    assert history.explain("chat", NOW, range(60), 0, _kv()) == CacheMiss(kind, 0, 50)
    assert history.tokens("chat", NOW) == []
    assert history.tokens("chat", before) == list(range(50))


def test_off_and_short() -> None:
    off = _history(range(50)).explain("chat", NOW, range(60), 0, _kv(prefix_cache=False))
    assert off == CacheMiss(MissKind.CACHE_OFF, 0, 60)
    short = _history(range(9)).explain("chat", NOW, range(60), 0, _kv(copies_tails=False))
    assert short == CacheMiss(MissKind.SHORT, 0, 9)


def test_only_the_latest_conversations_are_remembered() -> None:
    history = ReuseHistory(max_tokens=100)
    history.note("a", NOW, range(60))
    history.note("b", NOW, range(40))
    history.note("b", NOW, range(30))
    assert history.num_tokens == 90
    history.note("c", NOW, range(20))
    assert (history.tokens("a", NOW), history.num_tokens) == ([], 50)
    for number in range(MAX_CONVERSATIONS + 5):
        history.note(str(number), NOW, [1])
    assert history.num_tokens == MAX_CONVERSATIONS
    history.forget("nobody")
    history.forget(str(MAX_CONVERSATIONS + 4))
    assert history.num_tokens == MAX_CONVERSATIONS - 1


def test_common_beginnings_of_any_length() -> None:
    long = list(range(2_000))
    for place in (0, 1, 255, 256, 257, 1_999, 2_000):
        other = [*long[:place], -1, *long[place:]]
        assert common_beginning(long, other) == place
    assert common_beginning([], long) == 0
