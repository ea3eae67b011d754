import pytest

from engine.api import Device, KVKindStats
from tests.helpers.sample_engine import MIB, MODEL, STATS, stats
from ui.meters.gauges import ChatUse, kv_parts, memory_parts, turns_left

LIVE = ChatUse(num_tokens=800, num_turns=4, is_live=True)
IDLE = ChatUse(num_tokens=800, num_turns=4)
KINDS = (
    KVKindStats("full", 3, None, 60, 40, 1_024, 3_000),
    KVKindStats("window", 15, 512, 50, 30, 168, 15_000),
)


def blocks(gauges, chat):
    return [part.amount / gauges.kv_block_bytes for part in kv_parts(gauges, MODEL, chat)]


@pytest.mark.parametrize(
    ("running", "chat", "expected"),
    [
        (1, LIVE, [150, 0, 50, 312]),  # alone: every live block is this chat's
        (2, LIVE, [50, 100, 50, 312]),  # 800 tokens in blocks of 16
        (1, IDLE, [0, 150, 50, 312]),  # somebody else's
    ],
)
def test_blocks_are_divided_among_chats(running, chat, expected):
    assert blocks(stats(num_running=running), chat) == expected


@pytest.mark.parametrize(
    ("num_chats", "name"), [(0, "an experiment"), (1, "other chats"), (None, "other chats")]
)
def test_what_runs_while_no_chat_does_is_an_experiment(num_chats, name):
    parts = kv_parts(stats(num_running=1), MODEL, IDLE, num_chats)
    assert parts[1].label == f"{name} 52.7 MiB"


def test_the_parts_are_the_whole_pool():
    parts = kv_parts(STATS, MODEL, LIVE)
    assert sum(part.amount for part in parts) == STATS.kv_total_blocks * STATS.kv_block_bytes
    assert [part.label for part in parts] == [
        "this chat 52.7 MiB",
        "",
        "kept for reuse 17.6 MiB",
        "",
    ]
    assert parts[-1].description == "free 110 MiB"


def test_bytes_are_summed_over_all_kinds_of_layers():
    gauges = stats(num_running=2, kv_kinds=KINDS)
    parts = kv_parts(gauges, MODEL, ChatUse(num_tokens=800, num_turns=4, is_live=True))
    # 800 tokens: 50 blocks of the full layers, and of the others no more than a window of 512
    own = 50 * 3_000 + 32 * 15_000
    live, cached = 60 * 3_000 + 50 * 15_000, 40 * 3_000 + 30 * 15_000
    free = 1_024 * 3_000 + 168 * 15_000 - live - cached
    assert [part.amount for part in parts] == [own, live - own, cached, free]
    assert memory_parts(gauges, Device.CPU)[1].amount == live + cached


def test_windows_alone_leave_the_context_to_its_end():
    gauges = stats(kv_total_blocks=100, kv_kinds=KINDS[1:])
    assert turns_left(gauges, MODEL, ChatUse(2_000, 10)) == (8192 - 2_000) // 200


def test_turns_left_follow_the_mean_turn_and_the_tighter_limit():
    assert turns_left(STATS, MODEL, ChatUse(2_000, 10)) == (8192 - 2_000) // 200
    small_pool = stats(kv_total_blocks=200)
    assert turns_left(small_pool, MODEL, ChatUse(2_000, 10)) == (3_200 - 2_000) // 200
    assert turns_left(STATS, MODEL, ChatUse(9_000, 10)) == 0


def test_turns_left_are_unknown_before_the_first_turn():
    assert turns_left(STATS, MODEL, ChatUse()) is None
    assert turns_left(STATS, MODEL, ChatUse(100, 0)) is None


def test_memory_is_told_apart():
    parts = memory_parts(STATS, Device.CUDA)
    assert [part.amount / MIB for part in parts] == [92, 180, 328, 5_000]
    assert parts[-1].label == "other programs 4.9 GiB"


def test_a_cpus_pool_counts_as_far_as_it_is_used():
    parts = memory_parts(STATS, Device.CPU)
    assert parts[1].amount == 200 * STATS.kv_block_bytes
    assert sum(part.amount for part in parts[:3]) == STATS.process_bytes


def test_working_memory_is_never_negative():
    parts = memory_parts(stats(process_bytes=10 * MIB), Device.CPU)
    assert parts[2].amount == 0
    assert parts[2].label == ""
