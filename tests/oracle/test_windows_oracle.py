"""Models with windows against transformers, after what the windows left behind was given back.

Texts run past several windows, in odd chunks and token by token, branch off, are found again and
evicted, beside each other in small pools: the logits stay those of one pass without any cache.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.config import KVFormat
from engine.model.hf_source import HfSource
from engine.model.native import NativeDecoder
from tests.helpers.decoding import build_native
from tests.helpers.windowed import Served, one_kind, window_geometry

pytestmark = pytest.mark.oracle

WINDOW, CHUNK, BLOCK = 11, 19, 8
NUM_TOKENS = 96  # more than eight windows
BASE: Mapping[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "sliding_window": WINDOW,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
CASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "gemma3": (
        "gemma3_text",
        {"num_key_value_heads": 1, "num_hidden_layers": 7, "query_pre_attn_scalar": 24},
    ),
    "gemma2": ("gemma2", {"query_pre_attn_scalar": 24, "attn_logit_softcapping": 2.0}),
    "qwen2, windows above": ("qwen2", {"use_sliding_window": True, "max_window_layers": 1}),
    "mistral, windows alone": ("mistral", {}),
}


@dataclass(frozen=True)
class Pair:
    """Our decoder and the model of transformers that has its weights."""

    decoder: NativeDecoder
    reference: PreTrainedModel

    def serve(self, window_blocks: int = 9, num_blocks: int = 40, **more: Any) -> Served:
        geometry = window_geometry(
            self.decoder.config,
            num_blocks=num_blocks,
            window_blocks=window_blocks,
            block_size=BLOCK,
            chunk=CHUNK,
        )
        return Served(self.decoder, geometry, **more)

    def check(self, ids: list[int], logits: torch.Tensor) -> None:
        """``logits``: those after the last tokens of ``ids``."""
        with torch.inference_mode():
            whole = self.reference(torch.tensor([ids]), use_cache=False).logits[0]
        expected = whole[len(ids) - len(logits) :]
        torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    kind, changes = request.param
    folder = tmp_path_factory.mktemp("model")
    settings = AutoConfig.for_model(kind, **{**BASE, **changes})
    model = AutoModelForCausalLM.from_config(settings, attn_implementation="eager").float().eval()
    draw = torch.Generator().manual_seed(3)
    for name, values in model.named_parameters():
        noise = torch.randn(values.shape, generator=draw)
        values.data = (
            noise * 0.3 + (1.0 if "norm" in name else 0.0) if values.dim() == 1 else noise * 0.15
        )
    model.save_pretrained(folder)
    with closing(HfSource.open(folder)) as source:
        decoder = build_native(source)
    assert any(decoder.config.sliding_layers)
    return Pair(decoder, model)


def _text(seed: int, length: int = NUM_TOKENS) -> list[int]:
    return torch.randint(97, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


def _live(served: Served) -> int:
    """Blocks of windows that are in use."""
    return next(use.num_live for use in served.kv.uses if use.window)


@pytest.mark.parametrize("lengths", [(CHUNK,), (7, 1, 19, 2, 1, 13), (1,)], ids=str)
def test_past_many_windows(pair: Pair, lengths: tuple[int, ...]) -> None:
    served, ids = pair.serve(), _text(1)
    served.open("a", ids)
    pair.check(ids, served.finish("a", ids, lengths))
    assert _live(served) <= 4  # of twelve


def test_branches_and_turns_go_on_where_windows_gave_back(pair: Pair) -> None:
    served, ids = pair.serve(window_blocks=40), _text(2)
    served.open("a", ids)
    served.finish("a", ids, (CHUNK, 3))
    served.close("a")
    turn = [*ids, *_text(3, 21)]
    assert served.open("turn", turn) == len(ids)
    branch = [*ids[:61], *_text(4, 30)]
    assert served.open("branch", branch) == 61
    again = ids[: 70 + BLOCK]
    assert served.open("again", again) >= 70
    turned, branched = (
        torch.cat(parts)
        for parts in zip(
            *(served.read({"turn": turn, "branch": branch}, [n, m]) for n, m in [(1, 9), (17, 2)]),
            strict=True,
        )
    )
    pair.check(turn[: served.done["turn"]], turned)
    pair.check(branch[: served.done["branch"]], branched)
    pair.check(again, served.finish("again", again, (1,)))
    pair.check(turn, served.finish("turn", turn, (2, 1)))
    pair.check(branch, served.finish("branch", branch, (1, 5)))


def test_in_pools_that_are_always_full(pair: Pair) -> None:
    """Every text drives out something of another; what is found of it is right all the same."""
    served = pair.serve(window_blocks=11, num_blocks=24)
    texts = [_text(seed) for seed in (5, 6)]
    cached = []
    for number in range(10):
        ids = texts[number % 2][: 40 + 5 * number]
        ids = [*ids, *_text(100 + number, 6)]
        cached.append(served.open("a", ids))
        pair.check(ids, served.finish("a", ids, (CHUNK, 4, 1)))
        served.close("a")
    assert any(cached), "nothing was ever found"


@pytest.mark.parametrize("kept", [KVFormat.FLOAT32, KVFormat.INT8, KVFormat.INT4])
def test_answers_are_those_of_a_cache_that_gives_nothing_back(pair: Pair, kept: KVFormat) -> None:
    geometry = window_geometry(
        pair.decoder.config,
        num_blocks=40,
        window_blocks=40,
        block_size=BLOCK,
        chunk=CHUNK,
        kept=kept,
    )
    ours = Served(pair.decoder, geometry)
    plain = Served(pair.decoder, one_kind(geometry, 80), prefix_cache=False)
    first = _text(7)
    for served in (ours, plain):
        served.open("first", first)
        served.finish("first", first, (CHUNK,))
        served.close("first")
    whole = 4 * CHUNK  # in chunks that both compute alike, since codes are rounded
    second = [*first[:whole], *_text(8, 20)]
    found = ours.open("second", second)
    plain.open("second", second)
    assert found == whole
    logits = ours.finish("second", second, (1,))
    expected = plain.finish("second", second, (*(CHUNK,) * 4, *(1,) * 20))[found:]
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)
