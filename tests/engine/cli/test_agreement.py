"""Perplexity, agreement and divergence against sums written out."""

import itertools
import math
from types import SimpleNamespace

import pytest
import torch

from engine.cli.agreement import measure_quality
from engine.config import KVFormat, KVGeometry
from engine.errors import EngineError, InvalidRequestError

VOCAB = 7


class Table:
    """A decoder that knows one row of logits a token."""

    def __init__(self, logits: torch.Tensor) -> None:
        self.logits = logits

    def forward(self, batch, *_) -> torch.Tensor:
        return self.logits[batch.token_ids]


def model(logits: torch.Tensor, context: int = 64) -> SimpleNamespace:
    return SimpleNamespace(
        decoder=Table(logits),
        storage=SimpleNamespace(device=torch.device("cpu")),
        tokenizer=SimpleNamespace(encode_prompt=lambda text: [int(c) for c in text]),
        info=SimpleNamespace(context_length=context),
        config=SimpleNamespace(kv=KVGeometry(1, 1, 2, 16, 8, KVFormat.FLOAT32)),
    )


def test_against_sums_written_out():
    ours, truth = torch.randn(VOCAB, VOCAB), torch.randn(VOCAB, VOCAB)
    texts = ["0123456" * 9, "654"]
    seen = []
    quality = measure_quality(
        model(ours), model(truth), texts, lambda done, total: seen.append((done, total)), bool
    )
    pairs = [(int(a), int(b)) for text in texts for a, b in itertools.pairwise(text)]
    q, p = ours.log_softmax(-1), truth.log_softmax(-1)
    assert quality.num_tokens == len(pairs)
    loss = -sum(float(q[a, b]) for a, b in pairs) / len(pairs)
    assert quality.perplexity == pytest.approx(math.exp(loss), rel=1e-5)
    loss = -sum(float(p[a, b]) for a, b in pairs) / len(pairs)
    assert quality.reference_perplexity == pytest.approx(math.exp(loss), rel=1e-5)
    same = [int(q[a].argmax()) == int(p[a].argmax()) for a, _ in pairs]
    assert quality.top1_agreement == sum(same) / len(same)
    kl = [float((p[a].exp() * (p[a] - q[a])).sum()) for a, _ in pairs]
    assert quality.mean_kl == pytest.approx(sum(kl) / len(kl), rel=1e-5)
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] == 66


def test_a_model_agrees_with_itself():
    one = model(torch.randn(VOCAB, VOCAB))
    quality = measure_quality(one, one, ["0123"], lambda *_: None, bool)
    assert (quality.top1_agreement, quality.mean_kl) == (1, 0)
    assert quality.perplexity == quality.reference_perplexity


def test_without_a_reference():
    quality = measure_quality(
        model(torch.zeros(VOCAB, VOCAB)), None, ["012"], lambda *_: None, bool
    )
    assert quality.perplexity == pytest.approx(VOCAB)
    assert quality.top1_agreement is quality.mean_kl is quality.reference_perplexity is None


def test_refusals():
    with pytest.raises(InvalidRequestError):
        measure_quality(model(torch.zeros(VOCAB, VOCAB)), None, ["0"], lambda *_: None, bool)
    broken = model(torch.full((VOCAB, VOCAB), math.nan))
    with pytest.raises(EngineError):
        measure_quality(broken, None, ["012"], lambda *_: None, bool)
