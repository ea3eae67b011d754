"""The command line: names, defaults and ranges. Imports nothing heavy, so that --help is quick."""

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from engine.api import Device, KVPrecision, ModelOptions, Precision, SamplingParams

CALIBRATED = "int4-calibrated"
NF4 = "nf4"
_WEIGHTS = (*(precision.value for precision in Precision), CALIBRATED)


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse ``argv``; ends the process with code 2 and one sentence for bad arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m engine", description="Run a language model without the window."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chat = commands.add_parser("chat", help="answer one prompt, or chat on the terminal")
    _add_chat(chat)
    bench = commands.add_parser("bench", help="measure prefill and decode speed")
    _add_bench(bench)
    evaluate = commands.add_parser("eval", help="measure how good the chosen weights are")
    _add_eval(evaluate)
    compressed = commands.add_parser("compressed", help="measure what DeepSeek-V4 saves")
    _add_compressed(compressed)
    _add_plan(commands.add_parser("plan", help="what a model will take, before it is loaded"))
    _add_trace(commands.add_parser("trace", help="see where one answer's time and memory go"))
    _add_roofline(commands.add_parser("roofline", help="measure what this machine can do"))
    options = parser.parse_args(argv)
    if options.command == "bench" and options.prompt_tokens is None:
        options.prompt_tokens = 4_000 if options.mixed else 512
    if options.command == "chat":
        if options.json and options.prompt is None:
            chat.error("--json needs --prompt")
        if options.raw and options.system is not None:
            chat.error("--raw leaves no place for --system")
    return options


def model_options(options: argparse.Namespace) -> ModelOptions:
    """What the command line says about the model."""
    return ModelOptions(
        path=options.model,
        weights=_precision(options.weights),
        calibrated=options.weights == CALIBRATED,
        threads=options.threads,
        context_length=options.context,
        kv=KVPrecision(options.kv),
        kv_cache=not options.no_kv_cache,
        draft=options.spec,
    )


def sampling_params(options: argparse.Namespace) -> SamplingParams:
    """How the command line wants tokens chosen."""
    return SamplingParams(
        temperature=0.0 if options.greedy else options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        min_p=options.min_p,
        repetition_penalty=options.repetition_penalty,
        seed=options.seed,
        max_tokens=options.max_tokens,
        stop=tuple(options.stop),
        typical_p=options.typical_p,
        presence_penalty=options.presence_penalty,
        frequency_penalty=options.frequency_penalty,
        json_schema=options.json_schema,
    )


def _precision(weights: str) -> Precision:
    """The precision behind a choice of weights; NF4 is rounded so and computed in FP32."""
    if weights == CALIBRATED:
        return Precision.INT4
    return Precision.FP32 if weights == NF4 else Precision(weights)


def _add_model(parser: argparse.ArgumentParser, more_weights: Sequence[str] = ()) -> None:
    add = parser.add_argument
    add("--model", required=True, metavar="PATH", help="a .gguf file, or a folder")
    add(
        "--weights",
        choices=[*_WEIGHTS, *more_weights],
        default=Precision.AUTO.value,
        help="how weights are kept in memory (default: auto); int4-calibrated: INT4 chosen with "
        "an eye on the model's own activations, which takes minutes once",
    )
    add("--threads", type=_integer(1), metavar="N", help="default: the physical cores")
    add("--context", type=_integer(1), metavar="N", help="context length in tokens")
    kinds = [kind.value for kind in KVPrecision]
    add("--kv", choices=kinds, default=KVPrecision.AUTO.value, help="how the cache is kept")
    add("--spec", metavar="DRAFT", help="guess tokens ahead: ngram, or the path of a small model")
    add("--no-kv-cache", action="store_true", help="recompute everything at each step")
    add("--json", action="store_true", help="print one JSON object")


def _add_trace(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    add = parser.add_argument
    add("--prompt", metavar="TEXT", required=True, help="what to answer")
    add("--chrome", type=Path, metavar="FILE", help="write a trace for Chrome or Perfetto")
    add("--layers", action="store_true", help="time each part of each layer as well")
    add("--roofline", type=Path, metavar="FILE", help="the machine's ceilings, kept there")
    _add_sampling(parser)


def _add_chat(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    add = parser.add_argument
    add("--prompt", metavar="TEXT", help="answer this and leave; without it, chat")
    add("--system", metavar="TEXT", help="a system prompt")
    _add_sampling(parser)


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    defaults = SamplingParams()
    add("--raw", action="store_true", help="continue the prompt without the chat template")
    add("--max-tokens", type=_integer(1), metavar="N", help="default: up to the context's end")
    add("--stop", action="append", default=[], metavar="TEXT", help="ends the answer; repeatable")
    add("--json-schema", metavar="JSON", help="let only answers through that it describes")
    add("--greedy", action="store_true", help="always take the likeliest token")
    add("--seed", type=_integer(0), metavar="N", help="makes sampling repeatable")
    numbers: tuple[tuple[str, Callable[[str], float | int], float], ...] = (
        ("temperature", _number(0.0, 100.0), defaults.temperature),
        ("top-k", _integer(0), defaults.top_k),
        ("top-p", _number(0.0, 1.0), defaults.top_p),
        ("min-p", _number(0.0, 1.0), defaults.min_p),
        ("typical-p", _number(0.0, 1.0), defaults.typical_p),
        ("presence-penalty", _number(-100.0, 100.0), defaults.presence_penalty),
        ("frequency-penalty", _number(-100.0, 100.0), defaults.frequency_penalty),
        ("repetition-penalty", _number(0.01, 100.0), defaults.repetition_penalty),
    )
    for name, kind, default in numbers:
        add(f"--{name}", type=kind, default=default, metavar="X", help=f"default: {default:g}")


def _add_bench(parser: argparse.ArgumentParser) -> None:
    _add_model(parser)
    add = parser.add_argument
    prompt = "default: 512; with --mixed 4000"
    add("--prompt-tokens", type=_integer(1), metavar="N", help=prompt)
    add(
        "--new-tokens",
        type=_integer(1),
        default=128,
        metavar="N",
        help="tokens decoded after each stream's first one (default: 128)",
    )
    add("--streams", type=_integer(1), default=1, metavar="N", help="answers at once (default: 1)")
    add("--seed", type=_integer(0), default=0, metavar="N", help="of the random prompts")
    mixed = "what a stream feels of a long prompt, with and without chunks"
    add("--mixed", action="store_true", help=mixed)
    pieces = "the largest piece of a prompt that a step takes, and always that"
    add("--max-batch-tokens", type=_integer(1), metavar="N", help=pieces)


def _add_eval(parser: argparse.ArgumentParser) -> None:
    _add_model(parser, [NF4])
    add = parser.add_argument
    add("--text", metavar="FILE", help="default: two built-in passages")
    add("--progress", action="store_true", help='lines {"progress": 0 to 1} on stderr')


def _add_compressed(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    contexts = [131_072, 1_048_576]
    help_text = "contexts to measure (default: 131072 1048576)"
    add("--tokens", type=_integer(1), nargs="+", default=contexts, metavar="N", help=help_text)
    add("--json", action="store_true", help="print one JSON object")


def _add_plan(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a .gguf file, a folder, a config.json, or a shipped name")
    weights = [precision.value for precision in Precision]
    add("--weights", choices=weights, default=Precision.AUTO.value, help="default: auto")
    kinds = [*(kind.value for kind in KVPrecision), "fp16"]
    kept = "how the cache is kept (default: auto, as the engine computes)"
    add("--kv", choices=kinds, default=KVPrecision.AUTO.value, help=kept)
    add("--context", type=_integer(1), metavar="N", help="default: the trained one, up to 8192")
    add("--streams", type=_integer(1), default=1, metavar="N", help="answers at once (default: 1)")
    add("--device", choices=[d.value for d in Device], default=Device.AUTO.value)
    budget = "the most weights and cache may take on a graphics card; the CPU runs the rest"
    add("--gpu-budget", type=_integer(0), metavar="BYTES", help=budget)
    freed = "what the model it replaces gives back"
    add("--bytes-to-free", type=_integer(0), default=0, metavar="N", help=freed)
    add("--roofline", type=Path, metavar="FILE", help="the machine's ceilings, kept there")
    add("--no-speed", action="store_true", help="predict no speed, and measure nothing")
    add("--json", action="store_true", help="print one JSON object")


def _add_roofline(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--roofline", type=Path, metavar="FILE", help="where to keep what was measured")
    add("--threads", type=_integer(1), metavar="N", help="default: the physical cores")
    add("--json", action="store_true", help="print one JSON object")


def _integer(least: int) -> Callable[[str], int]:
    def parse_integer(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is below {least}")
        return value

    return parse_integer


def _number(least: float, most: float) -> Callable[[str], float]:
    def parse_number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
        if not (math.isfinite(value) and least <= value <= most):
            raise argparse.ArgumentTypeError(f"{text} is not between {least:g} and {most:g}")
        return value

    return parse_number
