"""Perplexity and agreement on the command line."""

import json
import math

import pytest
import torch

from engine.__main__ import main
from engine.cli.eval import PASSAGES

pytestmark = pytest.mark.flow


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def evaluate(capsys, *arguments: str) -> dict:
    assert main(["eval", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_built_in_passages_are_short_and_utf8():
    texts = [path.read_text("utf-8") for path in PASSAGES.glob("*.txt")]
    assert len(texts) == 2
    assert all(500 < len(text.encode()) < 8_000 for text in texts)


def test_four_bits_stay_close(starter_model, capsys, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text((PASSAGES / "alice.txt").read_text("utf-8")[:700], "utf-8")
    result = evaluate(capsys, "--model", str(starter_model), "--text", str(text))
    assert set(result) == {"perplexity", "tokens", "top1_agreement", "mean_kl", "precision"}
    assert result["precision"] == "int4"
    assert result["top1_agreement"] > 0.85
    assert 0 <= result["mean_kl"] < 0.05
    exact = evaluate(
        capsys, "--model", str(starter_model), "--text", str(text), "--weights", "fp32"
    )
    assert exact["top1_agreement"] == 1
    assert exact["mean_kl"] == pytest.approx(0, abs=1e-9)
    assert exact["tokens"] == result["tokens"]
    assert math.isclose(exact["perplexity"], result["perplexity"], rel_tol=0.1)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00"])
def test_texts_that_cannot_be_used(starter_model, capsys, tmp_path, content):
    text = tmp_path / "text.txt"
    if content is not None:
        text.write_bytes(content)
    assert main(["eval", "--model", str(starter_model), "--text", str(text)]) == 1
    assert capsys.readouterr().err.strip().endswith(".")
