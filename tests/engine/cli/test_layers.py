"""A profile as JSON, and for people."""

from engine.api import LayerTime, Part, PassProfile
from engine.cli.layers import describe_layers, profile_json

PROFILE = PassProfile(
    100,
    50,
    4,
    (LayerTime(0, Part.QKV, 1_000_000), LayerTime(1, Part.QKV, 2_000_000), LayerTime(None, Part.HEAD, 1_000_000)),
    (LayerTime(0, Part.FFN, 30_000_000), LayerTime(None, Part.OTHER, 10_000_000)),
)  # fmt: skip


def test_json_is_in_milliseconds() -> None:
    values = profile_json(PROFILE)
    assert (values["context"], values["prompt_tokens"], values["num_steps"]) == (100, 50, 4)
    assert (values["decode_ms"], values["prefill_ms"]) == (4.0, 40.0)
    assert values["decode"] == [
        {"layer": 0, "part": "qkv", "ms": 1.0},
        {"layer": 1, "part": "qkv", "ms": 2.0},
        {"layer": None, "part": "head", "ms": 1.0},
    ]


def test_people_get_a_line_a_part_that_took_time() -> None:
    lines = describe_layers(profile_json(PROFILE))
    assert [line.split()[0] for line in lines[1:]] == ["qkv", "ffn", "head", "other"]
    assert lines[1].split() == ["qkv", "3.000", "ms", "75.0%", "0.000", "ms", "0.0%"]
    assert len({len(line) for line in lines[1:]}) == 1


def test_a_pass_of_no_time_divides_by_nothing() -> None:
    lines = describe_layers(profile_json(PassProfile(1, 1, 1, (), PROFILE.prefill)))
    assert "0.0%" in lines[1]
