"""``python -m engine`` on the real starter model, in processes of its own."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.flow

ROOT = Path(__file__).resolve().parents[2]
# asked plainly, "The" and "L'" tie within 0.1 in full precision, and any rounding may decide it
QUESTION = "Name the capital of France in one sentence."


def engine(*words: str, stdin: str = "", code: int = 0) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [sys.executable, "-m", "engine", *words],
        cwd=ROOT,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def chat_json(model: Path, *words: str) -> dict[str, Any]:
    done = engine("chat", "--model", str(model), "--json", *words)
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert isinstance(result, dict)
    return result


def test_an_answer_streams_to_stdout_and_figures_go_to_stderr(starter_model: Path) -> None:
    words = ("--prompt", QUESTION, "--greedy", "--max-tokens", "24")
    done = engine("chat", "--model", str(starter_model), *words)
    assert "Paris" in done.stdout
    (line,) = done.stderr.splitlines()
    for part in ("tokens", "TTFT", "tokens/s", "end of text"):
        assert part in line


def test_json_answer(starter_model: Path) -> None:
    words = ("--prompt", QUESTION, "--greedy", "--max-tokens", "12", "--weights", "fp32")
    result = chat_json(starter_model, *words)
    assert result["text"] == "The capital of France is Paris."
    assert result["finish_reason"] == "end_of_text"
    assert result["output_tokens"] == len(result["token_ids"])
    assert sum(result["ttft_parts_ms"].values()) == pytest.approx(result["ttft_ms"])
    assert set(result["itl_ms"]) == {"p50", "p95", "max"}
    assert result["prefill_tokens_per_s"] > 0
    assert result["decode_tokens_per_s"] > 0
    assert (result["cached_tokens"], result["precision"]) == (0, "fp32")


def test_raw_continues_the_text_and_stops_where_told(starter_model: Path) -> None:
    words = ("--raw", "--prompt", "One, two, three, four,", "--greedy", "--stop", " seven")
    result = chat_json(starter_model, *words, "--max-tokens", "20")
    assert result["text"].startswith(" five")
    assert "seven" not in result["text"]
    assert result["finish_reason"] == "stop_string"
    assert result["prompt_tokens"] < 12


def test_a_seed_makes_sampling_repeatable(starter_model: Path) -> None:
    words = ("--prompt", "Tell me a story.", "--temperature", "1.5", "--max-tokens", "12")
    first = chat_json(starter_model, *words, "--seed", "6")
    assert chat_json(starter_model, *words, "--seed", "6")["token_ids"] == first["token_ids"]
    assert first["finish_reason"] == "max_tokens"


def test_a_conversation_goes_on_until_the_input_ends(starter_model: Path) -> None:
    lines = f"{QUESTION}\n\nIn which country is that?\n"
    words = ("--greedy", "--max-tokens", "12")
    done = engine("chat", "--model", str(starter_model), *words, stdin=lines)
    assert done.stdout.startswith("The capital of France is Paris.\n")
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be sent Ctrl+C alone")
def test_ctrl_c_stops_the_answer_and_keeps_its_text(starter_model: Path) -> None:
    words = ["chat", "--model", str(starter_model), "--greedy", "--raw", "--prompt", "1 2 3 4 5"]
    with subprocess.Popen(
        [sys.executable, "-m", "engine", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate()
    assert first == " "  # SmolLM2 writes a number as a space and its digits
    assert rest.endswith("\n")
    assert "cancelled" in errors
    assert "Traceback" not in errors
    assert process.returncode == 130


def test_bench(starter_model: Path) -> None:
    words = ("--prompt-tokens", "40", "--new-tokens", "6", "--streams", "2", "--weights", "int8")
    result = json.loads(engine("bench", "--model", str(starter_model), *words, "--json").stdout)
    assert (result["prompt_tokens"], result["new_tokens"], result["streams"]) == (40, 6, 2)
    assert (result["precision"], result["kv_cache"]) == ("int8", True)
    for name in (
        "prefill_tokens_per_s",
        "decode_tokens_per_s",
        "ttft_ms",
        "load_s",
        "weights_bytes",
        "kv_bytes_per_token",
        "peak_rss_bytes",
        "threads",
    ):
        assert result[name] > 0, name
    assert result["itl_ms"]["p50"] <= result["itl_ms"]["p95"] <= result["itl_ms"]["max"]
    assert result["kernels"]


def test_bench_with_guesses_and_a_narrow_cache(starter_model: Path) -> None:
    words = ("--prompt-tokens", "24", "--new-tokens", "40", "--streams", "3", "--kv", "int4")
    words += ("--spec", "ngram", "--weights", "int8")
    result = json.loads(engine("bench", "--model", str(starter_model), *words, "--json").stdout)
    assert (result["kv"], result["same_answers"]) == ("int4", True)
    assert 0 <= result["accepted_tokens"] <= result["drafted_tokens"]
    assert result["tokens_per_step"] >= 1
    assert result["guessing_gain"] > 0


def test_bench_without_kv_cache(starter_model: Path) -> None:
    words = ("--prompt-tokens", "8", "--new-tokens", "3", "--no-kv-cache")
    done = engine("bench", "--model", str(starter_model), *words)
    assert "kv_cache" in done.stdout
    assert "False" in done.stdout


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--prompt-tokens", "9000"), "context"),
        (("--streams", "100000"), "streams"),
    ],
)
def test_bench_says_what_does_not_fit(
    starter_model: Path, words: tuple[str, ...], part: str
) -> None:
    done = engine("bench", "--model", str(starter_model), *words, code=1)
    assert part in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_failures_are_one_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\xff" * 64)
    for path in (tmp_path / "missing.gguf", broken):
        done = engine("chat", "--model", str(path), "--prompt", "x", code=1)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert "Traceback" not in done.stderr


def test_who_reads_json_is_told_the_failure_with_its_figures(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.gguf")
    done = engine("bench", "--model", missing, "--json", code=1)
    line, sentence = done.stderr.splitlines()
    failure = json.loads(line)["failure"]
    assert (failure["code"], failure["message"]) == ("model_missing", sentence)
    assert failure["details"] == {"path": missing}


def test_bad_arguments_end_with_code_2() -> None:
    done = engine("chat", code=2)
    assert "--model" in done.stderr
