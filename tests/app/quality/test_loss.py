"""Measurements survive the disk and belong to one content."""

import json
import os
from dataclasses import replace

import pytest

from app.quality.loss import Loss, LossBook, loss_of, model_key

LOSS = Loss(28.4, 992, 0.9345, 0.0056, 28.1, 51.0, 134_515_008)


def test_a_book_survives_the_disk(tmp_path):
    book = LossBook()
    book.add("a", "int8", LOSS)
    book.add("a", "int4", Loss(31.2, 992, None, None, None, 40.0, 7))
    book.add("b", "int8", LOSS)
    book.copy().write(tmp_path / "losses.json")
    read = LossBook.read(tmp_path / "losses.json")
    assert read.of_model("a") == book.of_model("a")
    assert read.of_model("unknown") == {}
    assert len(read.all()) == 3


def test_what_is_no_measurement_is_left_out(tmp_path):
    path = tmp_path / "losses.json"
    sound = dict(zip(("perplexity", "tokens", "top1_agreement"), (2.0, 3, 0.5), strict=True))
    sound |= {"mean_kl": 0.1, "reference_perplexity": 1.9, "seconds": 1.0, "num_parameters": 9}
    wrong = [None, [], {"perplexity": 1.0}, {**sound, "seconds": "1"}, {**sound, "more": 1}]
    models = {"a": {f"w{n}": value for n, value in enumerate(wrong)}, "b": 7}
    models["c"] = {"int8": sound, "int4": {**sound, "perplexity": True}}
    path.write_text(json.dumps({"models": models}), "utf-8")
    read = LossBook.read(path)
    assert read.of_model("a") == {}
    assert list(read.of_model("c")) == ["int8"]
    assert LossBook.read(tmp_path / "missing.json").all() == []


def test_below_nine_tenths_is_a_bad_bargain():
    assert replace(LOSS, top1_agreement=0.899).is_bad
    assert not replace(LOSS, top1_agreement=0.90).is_bad
    assert not replace(LOSS, top1_agreement=None).is_bad


def test_the_key_follows_the_content_and_not_the_folder(tmp_path):
    here = tmp_path / "m.gguf"
    here.write_bytes(b"GGUF one")
    key = model_key(str(here))
    assert key
    there = tmp_path / "模型"
    there.mkdir()
    copy = there / "m.gguf"
    copy.write_bytes(b"GGUF one")
    stamp = here.stat().st_mtime_ns
    os.utime(copy, ns=(stamp, stamp))
    assert model_key(str(copy)) == key
    os.utime(here, ns=(stamp, stamp + 1_000_000_000))
    assert model_key(str(here)) != key


def test_every_part_of_a_split_model_counts(tmp_path):
    for number in (1, 2):
        (tmp_path / f"m-0000{number}-of-00002.gguf").write_bytes(b"GGUF")
    first = str(tmp_path / "m-00001-of-00002.gguf")
    key = model_key(first)
    (tmp_path / "m-00002-of-00002.gguf").write_bytes(b"GGUF and more")
    assert model_key(first) != key


def test_what_is_not_there_has_no_key(tmp_path):
    assert model_key(str(tmp_path / "gone.gguf")) == ""


@pytest.mark.parametrize(
    "result", [None, {}, {"perplexity": float("nan"), "tokens": 1}, {"perplexity": 2.0}]
)
def test_another_result_is_no_loss(result):
    assert loss_of(result, 1.0, 2) is None


def test_what_the_engine_prints_is_a_loss():
    printed = {"perplexity": 28.4, "tokens": 992, "top1_agreement": 0.9345, "mean_kl": 0.0056}
    printed["reference_perplexity"] = 28.1
    assert loss_of({**printed, "precision": "int8"}, 51.0, 134_515_008) == LOSS
    alone = {"perplexity": 28.4, "tokens": 992, "top1_agreement": None}
    assert loss_of(alone, 51.0, 1) == Loss(28.4, 992, None, None, None, 51.0, 1)
