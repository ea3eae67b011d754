"""Answers followed through the engine's events."""

from dataclasses import replace

from engine.api import (
    Finished,
    FinishReason,
    PrefillProgress,
    PromptTokenized,
    TokensProduced,
)
from engine.tracing.recorder import Chunk, Recorder
from tests.helpers.observations import make_timeline
from tests.helpers.scheduling import Bench, make_config


def _tokens(name: str, *times: int, preemptions: int = 0) -> TokensProduced:
    ids = tuple(range(len(times)))
    return TokensProduced(name, "", ids, times, num_preemptions=preemptions)


def test_chunks_are_computed_tokens_behind_cached_ones() -> None:
    recorder = Recorder()
    recorder.take([PromptTokenized("a", 100)])
    for computed, start, end in ((60, 5, 9), (100, 10, 14)):
        recorder.take([PrefillProgress("a", computed, 20, 100, start, end)])
    trace = recorder.trace("a")
    assert trace is not None
    assert trace.chunks == (Chunk(20, 40, 5, 9), Chunk(60, 40, 10, 14))
    assert trace.others == ()


def test_the_first_chunk_begins_with_the_prefill() -> None:
    recorder = Recorder()
    line = make_timeline(queue=10)
    recorder.take([PromptTokenized("a", 9), PrefillProgress("a", 9, 0, 9, 3, line.prefill_end_ns)])
    recorder.take([Finished("a", FinishReason.MAX_TOKENS, line)])
    trace = recorder.trace("a")
    assert trace is not None
    assert trace.chunks[0].start_ns == line.prefill_start_ns


def test_who_was_ahead_and_whose_prompt_came_between() -> None:
    recorder = Recorder()
    recorder.take([PromptTokenized("a", 4), PromptTokenized("b", 4)])
    recorder.take([Finished("a", FinishReason.CANCELLED, None), PromptTokenized("c", 4)])
    recorder.take([PrefillProgress("b", 4, 0, 4, 1, 2)])
    aheads = [recorder.trace(name) for name in "abc"]
    assert [trace.num_ahead for trace in aheads if trace] == [0, 1, 1]
    assert [trace.others for trace in aheads if trace] == [((1, 2),), (), ((1, 2),)]


def test_tokens_after_a_preemption_are_marked() -> None:
    recorder = Recorder()
    recorder.take([PromptTokenized("a", 4), _tokens("a", 1), _tokens("a", 2)])
    recorder.take([_tokens("a", 9, 9, preemptions=1), _tokens("a", 10, preemptions=1)])
    trace = recorder.trace("a")
    assert trace is not None
    assert (trace.times_ns, trace.preempted) == ((1, 2, 9, 9, 10), (2,))


def test_only_ended_answers_are_forgotten() -> None:
    recorder = Recorder(most=2)
    recorder.take([PromptTokenized("kept", 1)])
    for name in "abcd":
        recorder.take([PromptTokenized(name, 1), Finished(name, FinishReason.CANCELLED, None)])
    assert [recorder.trace(name) is not None for name in ("kept", "a", "c", "d")] == [
        True,
        False,
        False,
        True,
    ]
    recorder.take([_tokens("unknown", 1), PrefillProgress("unknown", 1, 0, 1)])
    assert recorder.trace("unknown") is None


def test_the_scheduler_says_when_its_steps_were_and_who_gave_way() -> None:
    bench = Bench(make_config(num_blocks=4, max_batch_tokens=4))
    bench.add("a", range(7), max_tokens=8)
    bench.add("b", range(5), max_tokens=8)
    bench.run()
    recorder = Recorder()
    recorder.take([PromptTokenized("a", 7), PromptTokenized("b", 5), *bench.events])
    first, second = recorder.trace("a"), recorder.trace("b")
    assert first is not None
    assert second is not None
    assert [chunk.num_tokens for chunk in first.chunks] == [4, 3]
    assert all(chunk.start_ns < chunk.end_ns for chunk in first.chunks)
    assert second.timeline is not None
    assert first.timeline is not None
    given_way = first.timeline.num_preemptions + second.timeline.num_preemptions
    assert given_way == len(first.preempted) + len(second.preempted) > 0


def test_an_answer_under_way_has_a_line_to_its_latest_token() -> None:
    recorder = Recorder()
    start = replace(make_timeline(tokens=1, decode=0), text_end_ns=None)
    at = start.first_token_ns
    recorder.take([PromptTokenized("a", 4)])
    assert recorder.trace("a").line is None
    first = replace(_tokens("a", at), is_first=True, timeline=start)
    recorder.take([first, replace(_tokens("a", at + 5, at + 5), num_accepted=1)])
    line = recorder.trace("a").line
    assert (line.decode_ns, line.num_output_tokens, line.num_accepted_tokens) == (5, 3, 1)
    assert line.decode_forward_ns is None
    end = replace(line, decode_forward_ns=4)
    recorder.take([Finished("a", FinishReason.MAX_TOKENS, end)])
    assert recorder.trace("a").line == end
