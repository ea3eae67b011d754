"""Perplexity and agreement on the command line."""

import json
import math
import os
import signal
import subprocess
import sys

import pytest
import torch

from engine.__main__ import main
from engine.cli.eval import PASSAGES
from tests.helpers.tiny_models import write_tiny_model

pytestmark = pytest.mark.flow


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


KEYS = {
    "perplexity",
    "tokens",
    "top1_agreement",
    "mean_kl",
    "precision",
    "kv",
    "kv_bytes_per_token",
    "weights",
    "weights_bytes",
    "reference_perplexity",
    "reference_bytes",
}


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
    assert set(result) == KEYS
    assert (result["precision"], result["weights"]) == ("int4", "int4")
    assert 0 < result["weights_bytes"] < result["reference_bytes"] / 3
    assert result["top1_agreement"] > 0.85
    assert 0 <= result["mean_kl"] < 0.05
    exact = evaluate(
        capsys, "--model", str(starter_model), "--text", str(text), "--weights", "fp32"
    )
    assert exact["top1_agreement"] == 1
    assert exact["mean_kl"] == pytest.approx(0, abs=1e-9)
    assert exact["tokens"] == result["tokens"]
    assert exact["perplexity"] == exact["reference_perplexity"]
    assert exact["perplexity"] == pytest.approx(result["reference_perplexity"])
    assert math.isclose(exact["perplexity"], result["perplexity"], rel_tol=0.1)


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00"])
def test_texts_that_cannot_be_used(starter_model, capsys, tmp_path, content):
    text = tmp_path / "text.txt"
    if content is not None:
        text.write_bytes(content)
    assert main(["eval", "--model", str(starter_model), "--text", str(text)]) == 1
    assert capsys.readouterr().err.strip().endswith(".")


@pytest.fixture
def tiny(tmp_path):
    return write_tiny_model(tmp_path / "tiny.gguf")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("TheQuickBrownFoxJumpsOverTheLazyDog,AndTheDogSleepsOn." * 2, "utf-8")
    return path


def test_nf4_is_measured_without_a_graphics_card(tiny, text, capsys):
    arguments = ["--model", str(tiny), "--text", str(text), "--weights", "nf4"]
    result = evaluate(capsys, *arguments)
    assert set(result) == KEYS
    assert (result["weights"], result["precision"]) == ("nf4", "fp32")
    assert 0 < result["mean_kl"] < 0.2
    values = 2 * (64 * (64 + 32 + 32 + 64) + 3 * 64 * 96)  # of the layers' matrices
    others = 128 * 64 + 5 * 64
    assert result["weights_bytes"] == values // 2 + values // 64 * 4 + others * 2
    assert main(["eval", *arguments]) == 0
    assert "bitsandbytes" in capsys.readouterr().out


def test_what_another_cache_costs_is_measured_when_asked_for(tiny, text, capsys):
    arguments = ["--model", str(tiny), "--text", str(text), "--weights", "fp32"]
    full = evaluate(capsys, *arguments)
    assert (full["kv"], full["mean_kl"], full["top1_agreement"]) == ("float32", 0, 1)
    narrow = evaluate(capsys, *arguments, "--kv", "bf16")
    assert narrow["kv"] == "float16"
    assert narrow["kv_bytes_per_token"] * 2 == full["kv_bytes_per_token"]
    assert 0 < narrow["mean_kl"] < 0.01
    assert narrow["reference_perplexity"] == full["perplexity"]


def test_progress_is_lines_that_grow_to_one(tiny, text, capsys):
    arguments = ["--model", str(tiny), "--text", str(text), "--progress", "--json"]
    assert main(["eval", *arguments]) == 0
    told = [json.loads(line)["progress"] for line in capsys.readouterr().err.splitlines()]
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0, 1)
    assert len(told) > 5


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without a signal")
def test_a_request_to_end_is_obeyed_quietly(starter_model):
    with subprocess.Popen(
        [sys.executable, "-m", "engine", "eval", "--model", str(starter_model), "--progress"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=PASSAGES.parents[1],
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()  # the first sign of life
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert all("progress" in json.loads(line) for line in err.splitlines())
