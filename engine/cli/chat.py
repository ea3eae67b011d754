"""``python -m engine chat``: one answer, or a conversation on the terminal.

The answer goes to stdout as it comes, everything else to stderr.
"""

import argparse
import json
import sys
import time

from engine.api import FinishReason, GenerationRequest, Message, SamplingParams
from engine.cli.arguments import model_options, sampling_params
from engine.cli.session import Answer, Session
from engine.cli.terminal import LoadLine, StopOnInterrupt, write_quiet
from engine.errors import EngineError

_INTERRUPTED = 130


def run_chat(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code. Raises EngineError."""
    progress = LoadLine()
    try:
        session = Session(model_options(options), progress)
    finally:
        progress.clear()
    params = sampling_params(options)
    if options.prompt is None:
        return _converse(session, options, params)
    sent_ns = time.perf_counter_ns()
    messages = () if options.raw else (*_system(options), Message("user", options.prompt))
    request = GenerationRequest(
        request_id=session.next_id(),
        sent_ns=sent_ns,
        params=params,
        messages=messages,
        prompt=options.prompt if options.raw else None,
    )
    answer = _answer(session, request, is_shown=not options.json)
    if options.json:
        _write_json(session, answer)
    return _INTERRUPTED if answer.finish_reason is FinishReason.CANCELLED else 0


def _converse(session: Session, options: argparse.Namespace, params: SamplingParams) -> int:
    """Read a line, answer it, and so on until Ctrl+D."""
    is_terminal = sys.stdin.isatty()
    if is_terminal:
        write_quiet(f"{session.info.name}. Ctrl+C stops an answer, Ctrl+D leaves.")
    history = list(_system(options))
    while True:
        try:
            line = input("> " if is_terminal else "")
        except EOFError:
            return 0
        except KeyboardInterrupt:
            print(file=sys.stderr)
            continue
        if not line.strip():
            continue
        turn = Message("user", line)
        request = GenerationRequest(
            request_id=session.next_id(),
            sent_ns=time.perf_counter_ns(),
            params=params,
            messages=() if options.raw else (*history, turn),
            prompt=line if options.raw else None,
        )
        try:
            answer = _answer(session, request, is_shown=True)
        except EngineError as error:
            print(error, file=sys.stderr)
            continue
        history += [turn, Message("assistant", answer.text)]


def _answer(session: Session, request: GenerationRequest, *, is_shown: bool) -> Answer:
    with StopOnInterrupt() as interrupt:
        write = _write_text if is_shown else _write_nothing
        (answer,) = session.run([request], write, interrupt.is_stopped)
    if is_shown:
        print(flush=True)
        write_quiet(_summary(answer))
    return answer


def _write_text(text: str) -> None:
    print(text, end="", flush=True)


def _write_nothing(_text: str) -> None:
    return


def _system(options: argparse.Namespace) -> tuple[Message, ...]:
    return () if options.system is None else (Message("system", options.system),)


def _summary(answer: Answer) -> str:
    line = answer.timeline
    count = len(answer.token_ids)
    parts = [f"{count} {'token' if count == 1 else 'tokens'}"]
    if line is not None:
        parts.append(f"TTFT {line.ttft_ns / 1e6:.0f} ms")
        if line.decode_tokens_per_s is not None:
            parts.append(f"{line.decode_tokens_per_s:.1f} tokens/s")
    if answer.finish_reason is not None:
        parts.append(answer.finish_reason.value.replace("_", " "))
    return " · ".join(parts)


def _write_json(session: Session, answer: Answer) -> None:
    reason = answer.finish_reason
    result = {
        "text": answer.text,
        "token_ids": answer.token_ids,
        "finish_reason": None if reason is None else reason.value,
        **answer.metrics(),
        "load_s": session.info.load_ns / 1e9,
        "model": session.info.name,
        "precision": session.info.precision.value,
    }
    print(json.dumps(result, ensure_ascii=False))
