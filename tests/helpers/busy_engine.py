"""An engine whose answers come and go while others are computed."""

from collections.abc import Sequence

import torch

from engine.api import GenerationRequest, RequestFailed, SamplingParams, TokensProduced
from engine.core import EngineCore, never


def answers(
    core: EngineCore, requests: Sequence[tuple[int, GenerationRequest]]
) -> tuple[dict[str, list[int]], int]:
    """Tokens by request, each sent before the step of its number; and how many gave way."""
    tokens: dict[str, list[int]] = {}
    preempted = 0
    for number in range(2_000):
        for at, request in requests:
            if at == number:
                core.submit(request)
        if number > max(at for at, _ in requests) and not core.has_work:
            return tokens, preempted
        for event in core.step(never):
            if isinstance(event, TokensProduced):
                tokens.setdefault(event.request_id, []).extend(event.token_ids)
                preempted = max(preempted, event.num_preemptions)
            assert not isinstance(event, RequestFailed)
    raise AssertionError("the answers do not end")


def staggered_requests() -> list[tuple[int, GenerationRequest]]:
    """Answers of many lengths, greedy and seeded, each with the step before which it is asked for."""
    draw = torch.Generator().manual_seed(3)

    def request(index: int) -> GenerationRequest:
        length = 3 + 13 * index % 40
        ids = torch.randint(3, 90, (length,), generator=draw).tolist()
        heat = 0.0 if index % 3 else 0.9
        params = SamplingParams(
            max_tokens=16 + 6 * index, ignore_eos=True, temperature=heat, seed=index
        )
        return GenerationRequest(f"r{index}", 0, params, prompt_ids=tuple(ids))

    return [(3 * index, request(index)) for index in range(5)]
