"""Answers bound to a JSON Schema: which tokens may come next.

The parser is llguidance's (Rust): it takes the bytes of every token and says, state by state, which
of them keep the answer on a path to a document that the schema describes. Knows the tokenizer and
the answer so far; nothing of logits.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from llguidance import LLMatcher, LLTokenizer
from llguidance import TokenizerWrapper as _TokenizerWrapper
from typing_extensions import override

from engine.errors import EngineError, InvalidRequestError
from engine.sampling.constraint import TokenConstraint
from engine.text.tokenizer import Tokenizer

_LONGEST_SCHEMA = 1 << 20
_LARGEST_WHOLE = (1 << 53) - 1  # what every reader of JSON tells apart (RFC 8259, section 6)
_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_VALUES = frozenset({"const", "enum", "default", "examples"})  # hold documents, not schemas


@dataclass(frozen=True, slots=True, eq=False)
class _Vocabulary:
    """What llguidance asks of a tokenizer."""

    eos_token_id: int
    bos_token_id: int | None
    tokens: list[bytes]
    special_token_ids: list[int]
    tokenizer: Tokenizer

    def __call__(self, text: bytes | str) -> list[int]:
        plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        return self.tokenizer.encode(plain, parse_special=False)


class JsonGrammars:
    """Makes the constraints of one model's answers.

    The table of tokens is made when the first schema arrives, a fraction of a second for a large
    vocabulary.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._table: LLTokenizer | None = None

    def constrain(self, schema: str) -> "JsonConstraint":
        """A constraint for one answer. Raises InvalidRequestError for what is no JSON Schema."""
        grammar = _grammar(schema)
        table = self._table = self._table or _make_table(self._tokenizer)
        matcher = LLMatcher(table, grammar, log_level=0)
        if matcher.is_error():
            raise _refusal(_shortened(matcher.get_error()))
        return JsonConstraint(matcher, self._tokenizer.vocab_size)


class JsonConstraint(TokenConstraint):
    """One answer's place in its grammar. Not thread-safe."""

    def __init__(self, matcher: LLMatcher, vocab_size: int) -> None:
        self._matcher = matcher
        self._vocab_size = vocab_size
        self._followed: list[int] = []

    @override
    def allowed(self, output_ids: Sequence[int]) -> npt.NDArray[np.bool_]:
        self._go_to(output_ids)
        packed = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        allowed = np.unpackbits(packed, bitorder="little")[: self._vocab_size].view(np.bool_)
        if self._matcher.is_error() or not allowed.any():
            raise EngineError(
                "The answer cannot be brought into the form that was asked for, and ends here; "
                "the text so far was kept. Simplify the JSON Schema, then send again."
            )
        return allowed

    def _go_to(self, output_ids: Sequence[int]) -> None:
        """Follow the answer; where it went back (a draft was wrong), go back with it."""
        common = len(self._followed)
        if list(output_ids[:common]) != self._followed:
            common = next(
                (
                    place
                    for place, (old, new) in enumerate(
                        zip(self._followed, output_ids, strict=False)
                    )
                    if old != new
                ),
                min(common, len(output_ids)),
            )
            self._matcher.rollback(len(self._followed) - common)
            del self._followed[common:]
        fresh = list(output_ids[common:])
        if fresh:
            self._matcher.consume_tokens(fresh)
            self._followed += fresh


def check_schema(schema: str) -> None:
    """Raise InvalidRequestError, with the reason in a sentence, for what is no JSON Schema."""
    problem = LLMatcher.validate_grammar(_grammar(schema))
    if problem and not problem.startswith("WARNING"):
        raise _refusal(_shortened(problem))


def _grammar(schema: str) -> str:
    if len(schema) > _LONGEST_SCHEMA:
        raise _refusal("it is longer than a million characters")
    try:
        parsed: Any = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise _refusal(f"it is not JSON ({error})") from error
    if not isinstance(parsed, dict):
        raise _refusal("it is not a JSON object")
    # as most JSON is written in what models were trained on; free white space has no end
    return LLMatcher.grammar_from_json_schema(
        _bounded(parsed),
        overrides={
            "whitespace_flexible": False,
            "item_separator": ", ",
            "key_separator": ": ",
        },
    )


def _bounded(schema: Any) -> Any:
    """The same with an end to whole numbers that have none: a model can add digits for ever."""
    if isinstance(schema, list):
        return [_bounded(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    bounded = {k: v if k in _VALUES else _bounded(v) for k, v in schema.items()}
    if schema.get("type") == "integer" and not any(limit in schema for limit in _LIMITS):
        bounded |= {"minimum": -_LARGEST_WHOLE, "maximum": _LARGEST_WHOLE}
    return bounded


def _make_table(tokenizer: Tokenizer) -> LLTokenizer:
    ids = range(tokenizer.vocab_size)
    special = [i for i in ids if tokenizer.is_special(i)]
    ends = sorted(tokenizer.eos_ids)
    if not ends:
        raise _refusal("this model has no token that ends an answer")
    vocabulary = _Vocabulary(
        eos_token_id=ends[0],
        bos_token_id=tokenizer.bos_id,
        tokens=[tokenizer.token_bytes(i) for i in ids],
        special_token_ids=special,
        tokenizer=tokenizer,
    )
    return LLTokenizer(_TokenizerWrapper(vocabulary), eos_token=ends)


def _shortened(text: str) -> str:
    return " ".join(text.split())[:200].rstrip(".") or "it is not understood"


def _refusal(reason: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"The request was not started, because its JSON Schema cannot be used: {reason}. "
        "Correct the schema, then send again.",
        reason=reason,
    )
