"""What a recording that breaks leaves behind, by torch's own rules, without a card."""

import gc
from typing import Any

import pytest
import torch

from engine.model.captured.device import CudaGraphs


class Stream:
    """Notes whom it waits for."""

    device = torch.device("cpu")

    def __init__(self, _device: object = None) -> None:
        self.waited: list[Stream] = []

    def wait_stream(self, other: "Stream") -> None:
        self.waited.append(other)


class Card:
    """``torch.cuda`` as far as recording goes: pools, and which stream is the present one."""

    def __init__(self) -> None:
        self.main = self.present = Stream()
        self.pools: list[int] = []
        self.num_pools = 0

    def stream(self, stream: Stream) -> Any:
        return _Present(self, stream)

    def current_stream(self, _device: object) -> Stream:
        return self.present

    def graph_pool_handle(self) -> int:
        self.num_pools += 1
        return self.num_pools

    def graph(self, _graph: object, pool: int, stream: Stream, _mode: str) -> Any:
        self.pools.append(pool)
        return _Recording(self, stream)


class _Present:
    def __init__(self, card: Card, stream: Stream) -> None:
        self.card, self.stream, self.before = card, stream, card.present

    def __enter__(self) -> None:
        self.before, self.card.present = self.card.present, self.stream

    def __exit__(self, kind: object, *_error: object) -> None:
        self.card.present = self.before


class _Recording(_Present):
    """torch's raises of its own when a recording broke, and forgets the stream it had changed."""

    def __exit__(self, kind: object, *_error: object) -> None:
        if kind is not None:
            raise RuntimeError("operation failed due to a previous error during capture")
        self.card.present = self.before


class Graph:
    def replay(self) -> None:
        """Nothing to do."""


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Card:
    card = Card()
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    for name in ("stream", "current_stream", "graph_pool_handle", "graph"):
        monkeypatch.setattr(torch.cuda, name, getattr(card, name))
    return card


def _broken_at(call: int) -> Any:
    calls = []

    def step() -> torch.Tensor:
        calls.append(None)
        if len(calls) == call:
            raise RuntimeError("not while it is recorded")
        return torch.zeros(1)

    return step


def test_graphs_share_a_pool_while_one_of_them_lives(card: Card) -> None:
    graphs = CudaGraphs(torch.device("cpu"))
    kept = [graphs.capture(_broken_at(0)) for _ in range(3)]
    assert len(set(card.pools)) == 1
    kept.clear()
    gc.collect()
    graphs.capture(_broken_at(0))
    assert len(set(card.pools)) == 2


def test_the_stream_is_the_one_before_when_a_recording_broke(card: Card) -> None:
    graphs = CudaGraphs(torch.device("cpu"))
    with pytest.raises(RuntimeError):
        graphs.capture(_broken_at(2))
    assert card.present is card.main
    graphs.capture(_broken_at(0))
    assert len(set(card.pools)) == 2


def test_what_warmed_up_is_waited_for_when_it_fails(card: Card) -> None:
    graphs = CudaGraphs(torch.device("cpu"))
    with pytest.raises(RuntimeError):
        graphs.capture(_broken_at(1))
    assert card.main.waited == [graphs._stream]
    assert card.present is card.main
    assert not card.pools
