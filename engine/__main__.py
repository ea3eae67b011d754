"""``python -m engine``: the engine without a window.

Parses arguments and hands over; torch is imported only when a command runs.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

from engine.api import Failure
from engine.cli.arguments import parse
from engine.errors import EngineError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code: 0, 1 for a failure, 130 when interrupted."""
    options = parse(argv)
    os.environ["HF_HUB_OFFLINE"] = "1"  # nothing here needs the network, and nothing may use it
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # a console of another code page must not fail on an emoji
            reconfigure(encoding="utf-8", errors="replace")
    try:
        return _run(options)
    except EngineError as error:
        if getattr(options, "json", False):  # a program that reads this tells it in its own words
            print(json.dumps({"failure": asdict(_failure(error))}), file=sys.stderr)
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader left, for example `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _failure(error: EngineError) -> Failure:
    """What the engine's core reported, where that is what failed."""
    reported = getattr(error, "failure", None)
    return reported if isinstance(reported, Failure) else Failure.of(error)


def _run(options: argparse.Namespace) -> int:
    if options.command == "bench":
        from engine.cli.bench import run_bench  # noqa: PLC0415 - imports torch

        return run_bench(options)
    if options.command == "eval":
        from engine.cli.eval import run_eval  # noqa: PLC0415 - imports torch

        return run_eval(options)
    if options.command == "compressed":
        from engine.cli.compressed import run_compressed  # noqa: PLC0415 - imports torch

        return run_compressed(options)
    if options.command == "trace":
        from engine.cli.trace import run_trace  # noqa: PLC0415 - imports torch

        return run_trace(options)
    if options.command in {"plan", "roofline"}:
        from engine.cli.plan import run_plan, run_roofline  # noqa: PLC0415 - as above

        return run_plan(options) if options.command == "plan" else run_roofline(options)
    from engine.cli.chat import run_chat  # noqa: PLC0415 - imports torch

    return run_chat(options)


if __name__ == "__main__":
    sys.exit(main())
