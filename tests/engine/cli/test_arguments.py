"""The command line: what it means, and what it refuses."""

import subprocess
import sys

import pytest

from engine.api import KVPrecision, Precision
from engine.cli.arguments import model_options, parse, sampling_params


def test_chat_defaults() -> None:
    options = parse(["chat", "--model", "m.gguf"])
    assert (options.prompt, options.system, options.raw, options.json) == (
        None,
        None,
        False,
        False,
    )
    model = model_options(options)
    assert (model.path, model.weights, model.kv_cache) == ("m.gguf", Precision.AUTO, True)
    assert model.threads is None
    assert model.context_length is None
    params = sampling_params(options)
    assert (params.temperature, params.max_tokens, params.seed) == (0.7, None, None)


def test_chat_settings() -> None:
    words = "chat --model m --prompt p --greedy --max-tokens 5 --weights int8 --threads 3"
    words += (
        " --context 99 --seed 7 --top-k 4 --top-p 0.5 --min-p 0 --stop a --stop b --no-kv-cache"
    )
    options = parse(words.split())
    model, params = model_options(options), sampling_params(options)
    assert (model.weights, model.threads, model.context_length) == (Precision.INT8, 3, 99)
    assert not model.kv_cache
    assert params.temperature == 0
    assert (params.max_tokens, params.seed, params.top_k) == (5, 7, 4)
    assert (params.top_p, params.min_p, params.stop) == (0.5, 0.0, ("a", "b"))


@pytest.mark.parametrize("command", ["chat", "bench", "eval"])
def test_calibrated_weights_are_a_choice_of_their_own(command: str) -> None:
    model = model_options(parse([command, "--model", "m", "--weights", "int4-calibrated"]))
    assert (model.weights, model.calibrated) == (Precision.INT4, True)
    plain = model_options(parse([command, "--model", "m", "--weights", "int4"]))
    assert (plain.weights, plain.calibrated) == (Precision.INT4, False)


@pytest.mark.parametrize("command", ["chat", "bench", "eval"])
def test_the_cache_and_the_guesses_are_choices(command: str) -> None:
    words = f"{command} --model m --kv int4 --spec ngram".split()
    model = model_options(parse(words))
    assert (model.kv, model.draft) == (KVPrecision.INT4, "ngram")
    assert model_options(parse(words[:3])).kv is KVPrecision.AUTO


def test_nf4_is_for_eval() -> None:
    options = parse(["eval", "--model", "m", "--weights", "nf4", "--progress"])
    assert options.progress
    assert model_options(options).weights is Precision.FP32


def test_a_mixed_bench_reads_a_long_prompt() -> None:
    assert parse(["bench", "--model", "m", "--mixed"]).prompt_tokens == 4_000
    assert parse(["bench", "--model", "m", "--mixed", "--prompt-tokens", "9"]).prompt_tokens == 9


def test_bench_defaults() -> None:
    options = parse(["bench", "--model", "m"])
    assert (options.prompt_tokens, options.new_tokens, options.streams) == (512, 128, 1)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "chat",
        "nonsense --model m",
        "chat --model m --weights int3",
        "chat --model m --weights nf4",
        "bench --model m --progress",
        "chat --model m --max-tokens 0",
        "chat --model m --max-tokens x",
        "chat --model m --temperature nan",
        "chat --model m --top-p 1.5",
        "chat --model m --seed -1",
        "chat --model m --json",
        "chat --model m --raw --system s",
        "bench --model m --streams 0",
        "bench --model m --kv int3",
        "bench --model m --threads 0",
        "bench --model m --prompt p",
    ],
)
def test_bad_arguments_end_with_code_2(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(words.split())
    assert caught.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_help_needs_no_torch() -> None:
    code = (
        "import sys\n"
        "from engine.__main__ import main\n"
        "try:\n    main(['chat', '--help'])\nexcept SystemExit as end:\n    code = end.code\n"
        "heavy = {'torch', 'numpy', 'tokenizers', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "--prompt" in done.stdout
