"""``python -m engine compressed``: what DeepSeek-V4's attention saves, measured on a small one.

A model with random weights, the published V4-Pro with widths and head counts divided by 16 and six
of its 61 layers, remembers random hidden states, as many as a long context has; then it decodes a
token for real. Beside it stands V3.2, divided in the same way. Strides, window and the numbers of
chosen entries are the published ones, so that what a context costs is in proportion.

Bytes are those of the tensors allocated, and how much the process grew; FLOPs are counted by torch
as the products run (2 for a multiplication and an addition). Nothing here is an estimate but the
last lines, which the planner works out for the published models.
"""

import argparse
import gc
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import psutil
import torch
from torch.utils.flop_counter import FlopCounterMode

from engine.api import KVPrecision
from engine.cli.compressed_model import TWIN, build_small_v4, random_states
from engine.cli.latent_twin import LatentTwin
from engine.config import KVFormat
from engine.kv.compressed import CompressedStorage
from engine.kv.compressed_geometry import CompressedGeometry, EntryForm
from engine.model.architectures.deepseek_v4.decoder import V4Decoder
from engine.model.batch import ForwardBatch, Segment
from engine.model.footprint.cache import attention_flops, cache_bytes
from engine.planner.find import find_blueprint

_CHUNK = 8_192  # tokens remembered at once, whole blocks
_CPU = torch.device("cpu")
_PUBLISHED = ("deepseek-v4-pro", "deepseek-v3.2")
# V3.2 keeps 16 bits a value, and so does the form that is compared with it
_FORM = EntryForm.BF16


def run_compressed(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code."""
    decoder = build_small_v4()
    contexts = sorted(set(options.tokens))
    result: dict[str, list[dict[str, object]]] = {
        "measured": [_measure(decoder, context) for context in contexts],
        "forms": _compare_forms(decoder, contexts[0]),
        "published": [_planned(context) for context in contexts],
    }
    print(json.dumps(result) if options.json else describe(result))
    return 0


def make_storage(decoder: V4Decoder, tokens: int, form: EntryForm) -> CompressedStorage:
    """A cache for one request of ``tokens`` tokens, whole blocks; 16 bits a value outside entries."""
    base, shape = decoder.config.base, decoder.config.compression
    geometry = CompressedGeometry(
        num_layers=base.num_layers,
        num_kv_heads=1,
        head_dim=base.head_dim,
        block_size=shape.block_size,
        num_blocks=math.ceil(tokens / shape.block_size),
        format=KVFormat.BFLOAT16,
        compression=shape,
        form=form,
    )
    return CompressedStorage(geometry, _CPU)


def grow(decoder: V4Decoder, context: int, form: EntryForm) -> CompressedStorage:
    """A cache of ``context`` random hidden states, with room for one token more."""
    storage = make_storage(decoder, context + 1, form)
    for first in range(0, context, _CHUNK):
        _remember(decoder, storage, first, min(_CHUNK, context - first))
    return storage


@torch.inference_mode()
def _remember(decoder: V4Decoder, storage: CompressedStorage, context: int, length: int) -> None:
    step = storage.begin(_blocks(storage), context, length)
    positions = torch.arange(context, context + length)
    turns = [rotation.turns(positions) for rotation in decoder.rotations]
    x = random_states(decoder, context, length)
    for layer in decoder.layers:
        number = layer.attention.rotation
        layer.attention.absorb(x, step, turns[number], decoder.rotations[number])
    step.finish()


def decode_one(decoder: V4Decoder, storage: CompressedStorage, context: int) -> torch.Tensor:
    """Logits of one more token after ``context``, float32 [vocab_size]."""
    place = torch.tensor([context])
    batch = ForwardBatch(
        token_ids=torch.tensor([1]),
        positions=place,
        slots=place,
        segments=(Segment(0, 1, context, _blocks(storage)),),
        logit_rows=torch.tensor([0]),
    )
    return decoder.forward(batch, storage, _never)[0]


def count_flops(run: Callable[[], torch.Tensor]) -> int:
    """FLOPs of the products that ``run()`` runs."""
    with FlopCounterMode(display=False) as counter:
        run()
    return int(counter.get_total_flops())


def _measure(decoder: V4Decoder, context: int) -> dict[str, object]:
    before = _process_bytes()
    storage = grow(decoder, context, _FORM)
    process = _process_bytes() - before
    flops = count_flops(partial(decode_one, decoder, storage, context))
    ours = storage.entry_bytes + storage.geometry.ring_bytes
    twin = LatentTwin(TWIN, context, torch.bfloat16)
    sparse = count_flops(partial(twin.step, context))
    full = count_flops(partial(twin.step, context, is_sparse=False))
    return {
        "context": context,
        "cache_bytes": ours,
        "entry_bytes": storage.entry_bytes,
        "ring_bytes": storage.geometry.ring_bytes,
        "pending_bytes": storage.state_bytes - storage.geometry.ring_bytes,
        "process_growth_bytes": process,
        "v32_cache_bytes": twin.cache_bytes,
        "cache_share": ours / twin.cache_bytes,
        "flops": flops,
        "v32_flops": sparse,
        "v3_flops": full,
        "flops_share": flops / sparse,
        "flops_share_of_v3": flops / full,
    }


def _compare_forms(decoder: V4Decoder, context: int) -> list[dict[str, object]]:
    """The same entries in every form: bytes, and how far the next token's distribution moves."""
    rows: list[dict[str, object]] = []
    exact = decode_one(decoder, grow(decoder, context, EntryForm.FP32), context).log_softmax(-1)
    for form in (EntryForm.BF16, EntryForm.FP8, EntryForm.INT8, EntryForm.INT4):
        storage = grow(decoder, context, form)
        logs = decode_one(decoder, storage, context).log_softmax(-1)
        divergence = float((exact.exp() * (exact - logs)).sum())
        rows.append(
            {
                "form": form.value,
                "context": context,
                "entry_bytes": storage.entry_bytes,
                "divergence_nats": max(0.0, divergence),
            }
        )
    return rows


def _planned(context: int) -> dict[str, object]:
    """The planner's line for the published models, bf16."""
    planned = []
    for name in _PUBLISHED:
        blueprint = find_blueprint(name)
        flops = 2 * blueprint.active_parameters + attention_flops(blueprint.tracks, context)
        planned.append((cache_bytes(blueprint.tracks, context, KVPrecision.BF16), flops))
    (size, flops), (v32_size, v32_flops) = planned
    return {
        "context": context,
        "cache_bytes": size,
        "v32_cache_bytes": v32_size,
        "cache_share": size / v32_size,
        "flops": flops,
        "v32_flops": v32_flops,
        "flops_share": flops / v32_flops,
    }


def describe(result: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Tables for people: one line a context, then one a form."""
    measured, forms, published = result["measured"], result["forms"], result["published"]
    lines = [
        "Measured: V4-Pro and V3.2 with widths / 16, 6 layers, random weights, bf16 entries",
        "  context       cache  of V3.2  MFLOP/token  of V3.2   of V3",
    ]
    lines += [
        f"{row['context']:>9,}  {row['cache_bytes'] / 2**20:>6.2f} MiB {row['cache_share']:>8.1%}"
        f"  {row['flops'] / 1e6:>11.1f} {row['flops_share']:>8.1%}"
        f" {row['flops_share_of_v3']:>7.1%}"
        for row in measured
    ]
    lines.append(
        f"Entries of {forms[0]['context']:,} tokens by form; divergence of the next token"
    )
    lines += [
        f"{row['form']:>15}  {row['entry_bytes'] / 2**20:>6.2f} MiB"
        f"  {row['divergence_nats']:.2e} nats"
        for row in forms
    ]
    lines.append("Planned: the published models, bf16")
    lines += [
        f"{row['context']:>9,}  ~{row['cache_bytes'] / 2**30:.2f} GiB of"
        f" ~{row['v32_cache_bytes'] / 2**30:.2f} GiB ({row['cache_share']:.1%}),"
        f" ~{row['flops'] / 1e9:.0f} GFLOP a token of ~{row['v32_flops'] / 1e9:.0f}"
        f" ({row['flops_share']:.1%})"
        for row in published
    ]
    return "\n".join(lines)


def _blocks(storage: CompressedStorage) -> tuple[int, ...]:
    return tuple(range(storage.geometry.num_blocks))


def _process_bytes() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def _never() -> bool:
    return False
