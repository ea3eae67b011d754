"""Parameters outside their range are refused by name."""

import math

import pytest

from engine.api import SamplingParams
from engine.errors import InvalidRequestError
from engine.sampling.params import check_params


def test_defaults_and_extremes_pass() -> None:
    check_params(SamplingParams())
    check_params(SamplingParams(temperature=0, top_k=0, top_p=1, min_p=0, max_tokens=1, seed=0))
    check_params(SamplingParams(temperature=100, top_p=0.001, min_p=1, seed=2**64 - 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_k", -1),
        ("top_p", 0),
        ("top_p", 1.01),
        ("min_p", -0.1),
        ("min_p", 1.1),
        ("repetition_penalty", 0),
        ("repetition_window", -1),
        ("max_tokens", 0),
        ("seed", -1),
        ("seed", 2**64),
        ("typical_p", 0),
        ("presence_penalty", 101),
        ("frequency_penalty", -101),
        ("logit_bias", ((3, math.inf),)),
        ("logit_bias", ((-1, 1.0),)),
    ],
)
def test_out_of_range_is_named(name: str, value: float) -> None:
    with pytest.raises(InvalidRequestError, match=name) as caught:
        check_params(SamplingParams(**{name: value}))
    assert name in str(caught.value.details["reason"])


def test_empty_stop_string() -> None:
    with pytest.raises(InvalidRequestError, match="stop string"):
        check_params(SamplingParams(stop=("a", "")))
