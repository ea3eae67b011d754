"""Reports on disk and back."""

import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.store.reports import decode_report, encode_report
from app.store.store import Store
from engine.api import (
    CacheMiss,
    CacheUse,
    DiagnosisKind,
    Evidence,
    KeptBytes,
    LeftOut,
    MissKind,
    PaintUse,
    Remedy,
)
from tests.helpers.reports import make_report

REPORT = make_report()


def full():
    """A report in which nothing is left out."""
    line = replace(
        REPORT.timeline,
        cache_miss=CacheMiss(MissKind.EVICTED, 4, 7),
        left_out=LeftOut(1, 3, 99),
        first_paint_ns=REPORT.timeline.first_token_ns + 9,
    )
    diagnosis = replace(
        REPORT.diagnosis,
        evidence=Evidence("host", 0.5, "share"),
        remedies=(Remedy("threads", 4, 1.5, 10), Remedy("kv_cache", True, 2.0, 20),
                  Remedy("weights", "int4", 1.2, 3), Remedy("power", None, 1.1, 1)),
        candidates=(DiagnosisKind.THROTTLED,),
    )  # fmt: skip
    cache = CacheUse(1, 2, 3, 4, "bfloat16", 5, 6, (KeptBytes("full", 1, 2, 3),))
    return replace(
        REPORT, timeline=line, diagnosis=diagnosis, cache=cache, paint=PaintUse(1, 2, 3, 4)
    )


@pytest.mark.parametrize("report", [REPORT, full()])
def test_a_report_comes_back_as_it_was(report):
    again = decode_report(encode_report(report))
    assert again == report
    assert again.diagnosis.text == report.diagnosis.text
    assert [type(r.value) for r in again.diagnosis.remedies] == [
        type(r.value) for r in report.diagnosis.remedies
    ]


def changed(change):
    values = json.loads(zlib.decompress(encode_report(REPORT)))
    change(values)
    return zlib.compress(json.dumps(values).encode())


def test_what_a_later_version_added_is_ignored():
    assert decode_report(changed(lambda values: values.update(weather="fine"))) == REPORT


def test_what_has_a_default_may_be_missing():
    def forget(values):
        del values["paint"]

    assert decode_report(changed(forget)) == replace(REPORT, paint=None)


def test_a_report_from_before_the_host_was_watched_is_read():
    told = replace(REPORT, machine=replace(REPORT.machine, stolen=0.24))
    assert decode_report(encode_report(told)) == told

    def forget(values):
        assert values["machine"].pop("stolen") is None

    assert decode_report(changed(forget)) == REPORT


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.pop("timeline"),
        lambda values: values.update(times_ns="soon"),
        lambda values: values.update(times_ns=[1, "2"]),
        lambda values: values.update(chunks=[[1, 2]]),
        lambda values: values.update(others=[[1, 2, 3]]),
        lambda values: values["diagnosis"].update(kind="bad_luck"),
        lambda values: values["diagnosis"].update(values=3),
        lambda values: values.update(is_complete=1),
    ],
)
def test_a_damaged_report_is_none(change):
    assert decode_report(changed(change)) is None


@given(st.binary(max_size=200))
def test_anything_else_is_none(stored):
    assert decode_report(stored) is None
    assert decode_report(zlib.compress(stored)) is None


def test_a_long_answer_takes_little_room():
    times = tuple(10_000_000 * n + n % 977 for n in range(10_000))
    stored = encode_report(replace(REPORT, times_ns=times, token_ids=tuple(range(10_000))))
    assert len(stored) < 150_000
    assert decode_report(stored).times_ns == times


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "conversations.sqlite3", tmp_path / "backups")
    assert store.open().failure is None
    yield store
    store.close()


def test_the_newest_report_of_an_answer_is_kept(store):
    answer = store.add_turn(None, None, "Hi", "m").answer.message_id
    assert store.report(answer) is None
    store.save_report(answer, replace(REPORT, model="first"))
    store.save_report(answer, REPORT)
    assert store.report(answer) == REPORT


def test_a_report_goes_with_its_message_and_needs_one(store):
    store.save_report(99, REPORT)
    assert store.report(99) is None
    turn = store.add_turn(None, None, "Hi", "m")
    store.save_report(turn.answer.message_id, REPORT)
    store.delete(turn.conversation.conversation_id)
    store.open()  # deleted ones are gone for good
    assert store.report(turn.answer.message_id) is None


def test_a_damaged_row_is_no_report(store):
    answer = store.add_turn(None, None, "Hi", "m").answer.message_id
    store.save_report(answer, REPORT)
    store._connection.execute("UPDATE reports SET report = x'00ff'")
    assert store.report(answer) is None
