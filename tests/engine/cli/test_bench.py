"""What the bench refuses before it measures, and how many streams it lets run at once."""

import argparse
from dataclasses import replace

import pytest

from engine.cli.arguments import parse
from engine.cli.bench import bench_options, check_room
from engine.errors import InvalidRequestError
from tests.helpers.fake_model import make_info
from tests.helpers.scheduling import make_config

# 16 blocks of 4 tokens
INFO = make_info("fake.gguf", make_config(), 100)


def _options(prompt: int, new: int, streams: int) -> argparse.Namespace:
    words = f"bench --model x --prompt-tokens {prompt} --new-tokens {new} --streams {streams}"
    return parse(words.split())


def test_all_streams_run_at_once() -> None:
    assert bench_options(_options(1, 1, 100)).max_streams == 100
    assert bench_options(_options(1, 1, 1)).max_streams >= 1


@pytest.mark.parametrize(("prompt", "new", "streams"), [(40, 7, 1), (4, 1, 5), (4, 3, 5)])
def test_what_fits_is_measured(prompt: int, new: int, streams: int) -> None:
    check_room(INFO, _options(prompt, new, streams))


@pytest.mark.parametrize(
    ("prompt", "new", "streams", "reason"),
    [
        (40, 8, 1, "context"),
        (4, 1, 8, "kv cache"),  # 16 blocks, and none to spare
        (1, 1, 20, "kv cache"),  # 60 tokens of 64, in 20 blocks of 16
    ],
)
def test_what_would_wait_or_be_preempted_is_refused(
    prompt: int, new: int, streams: int, reason: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        check_room(INFO, _options(prompt, new, streams))
    assert caught.value.details["reason"] == reason


def test_the_room_is_the_cache_and_not_the_context() -> None:
    with pytest.raises(InvalidRequestError):
        check_room(replace(INFO, kv_budget_bytes=INFO.kv_budget_bytes // 2), _options(4, 1, 5))
