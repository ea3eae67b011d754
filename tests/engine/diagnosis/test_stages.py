"""Shares of an answer's time."""

from dataclasses import astuple, replace

import pytest

from engine.diagnosis.observation import MachineState
from engine.diagnosis.stages import (
    beside_others,
    computing_share,
    decode_host_share,
    lost_share,
    prefill_host_share,
    reading_share,
    shares_of,
    taken_share,
    waited_share,
)
from tests.helpers.observations import MS, make_seen, make_timeline


@pytest.mark.parametrize("late", [0, 500])
def test_all_shares_add_up(late: int) -> None:
    line = make_timeline(queue=30, template=20, tokenize=10, prefill=100, detokenize=7)
    line = replace(line, first_paint_ns=line.end_ns + late * MS)
    seen = make_seen(line)
    shares = shares_of(seen)
    assert sum(astuple(shares)) == pytest.approx(1)
    assert shares.text == pytest.approx(37 * MS / seen.total_ns)
    assert shares.paint == pytest.approx(late * MS / seen.total_ns)
    assert shares.largest == "decode"


def test_loading_counts_for_nothing() -> None:
    line = replace(make_timeline(queue=500), load_wait_ns=400 * MS)
    seen = make_seen(line)
    assert shares_of(seen).queue == pytest.approx(100 * MS / seen.total_ns)


def test_shares_of_a_step() -> None:
    seen = make_seen(make_timeline(host=0.1), reading=0.8)
    assert reading_share(seen) == pytest.approx(0.8)
    assert computing_share(seen) == pytest.approx(0.6)
    assert decode_host_share(seen) == pytest.approx(0.1)
    assert prefill_host_share(seen) == pytest.approx(0.1)
    assert lost_share(seen) == 0
    # 0.2 ms of 10 in each step, outside the native core
    assert decode_host_share(replace(seen, is_native=False)) == pytest.approx(0.12)


def test_waiting_for_a_core() -> None:
    seen = make_seen(make_timeline(), reading=0.6)
    counted = replace(seen, machine=MachineState(2, 2, other_cores=1.0, own_cores=0.1, waited=0.2))
    assert waited_share(counted) == 0.2
    assert beside_others(counted, 0.6) == pytest.approx(0.75)
    assert beside_others(counted, 0.9) == 1.0  # more cannot be
    # where nothing is counted: 0.5 cores are missing, a quarter to each of the two threads
    derived = replace(seen, machine=MachineState(2, 2, other_cores=0.4, own_cores=0.1))
    assert waited_share(derived) == pytest.approx(0.25)
    roomy = replace(seen, machine=MachineState(8, 2, other_cores=1.0, own_cores=0.1))
    assert waited_share(roomy) == 0
    assert waited_share(seen) is None
    assert beside_others(seen, 0.6) == 0.6
    assert beside_others(counted, None) is None


def test_time_that_others_had_here_and_outside() -> None:
    seen = make_seen(make_timeline(), reading=0.6)
    assert taken_share(seen) is None
    inside = replace(seen, machine=MachineState(2, 2, other_cores=1.0, waited=0.2))
    assert taken_share(inside) == 0.2
    outside = replace(seen, machine=MachineState(2, 2, stolen=0.25))
    assert taken_share(outside) == 0.25
    assert beside_others(outside, 0.6) == pytest.approx(0.8)
    # what waits for a core has none that could be taken
    both = replace(seen, machine=MachineState(2, 2, other_cores=1.0, waited=0.2, stolen=0.25))
    assert taken_share(both) == pytest.approx(0.4)
    assert beside_others(both, 0.3) == pytest.approx(0.5)


def test_what_was_not_measured_has_no_share() -> None:
    seen = make_seen(make_timeline(host=None), reading=None)
    shares = (reading_share, computing_share, decode_host_share, prefill_host_share)
    assert [share(seen) for share in shares] == [None] * 4
    drafted = replace(seen, timeline=replace(make_timeline(), num_drafted_tokens=1))
    assert decode_host_share(drafted) is None
