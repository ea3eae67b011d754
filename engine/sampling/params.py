"""The ranges of the sampling parameters. Every value from outside passes here once."""

import math

from engine.api import SamplingParams
from engine.errors import InvalidRequestError

_LARGEST_SEED = 2**64 - 1
_LARGEST_BIAS = 100.0
# Below, the likeliest token has all the probability that float32 can tell from none.
_COLDEST = 1e-5


def is_greedy(params: SamplingParams) -> bool:
    """Whether the likeliest token is always taken."""
    return params.temperature < _COLDEST


def check_params(params: SamplingParams) -> None:
    """Raise InvalidRequestError, naming the parameter, for the first one outside its range."""
    _check_number("temperature", params.temperature, 0.0, 100.0)
    _check_number("top_p", params.top_p, 0.0, 1.0)
    _check_number("min_p", params.min_p, 0.0, 1.0)
    _check_number("typical_p", params.typical_p, 0.0, 1.0)
    _check_number("presence_penalty", params.presence_penalty, -_LARGEST_BIAS, _LARGEST_BIAS)
    _check_number("frequency_penalty", params.frequency_penalty, -_LARGEST_BIAS, _LARGEST_BIAS)
    _check_number("repetition_penalty", params.repetition_penalty, 0.01, 100.0)
    _check_number("top_k", params.top_k, 0, 2**31)
    _check_number("repetition_window", params.repetition_window, 0, 2**31)
    if params.top_p <= 0:
        raise _refusal("top_p must be above 0")
    if params.typical_p <= 0:
        raise _refusal("typical_p must be above 0")
    for token_id, bias in params.logit_bias:
        _check_number("the token of a logit_bias", token_id, 0, 2**31)
        _check_number("logit_bias", bias, -_LARGEST_BIAS, _LARGEST_BIAS)
    if params.max_tokens is not None:
        _check_number("max_tokens", params.max_tokens, 1, 2**31)
    if params.seed is not None:
        _check_number("seed", params.seed, 0, _LARGEST_SEED)
    if not all(params.stop):
        raise _refusal("a stop string must not be empty")


def _check_number(name: str, value: float, low: float, high: float) -> None:
    if not (math.isfinite(value) and low <= value <= high):
        raise _refusal(f"{name} must lie between {low} and {high}, and is {value}")


def _refusal(reason: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"The request was not started: {reason}. Change the value and send again.", reason=reason
    )
