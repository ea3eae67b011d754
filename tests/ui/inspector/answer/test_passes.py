"""A profile by part and by layer."""

from engine.api.profile import LayerTime, Part, PassProfile
from tests.helpers.observations import MS
from ui.inspector.answer.passes import (
    decode_pass,
    group_names,
    part_words,
    parts_table,
    prefill_pass,
)

DECODE = (
    LayerTime(0, Part.QKV, 1 * MS),
    LayerTime(0, Part.OUTPUT, 1 * MS),
    LayerTime(0, Part.FFN, 4 * MS),
    LayerTime(1, Part.FFN, 3 * MS),
    LayerTime(None, Part.HEAD, 1 * MS),
)
PREFILL = (LayerTime(0, Part.FFN, 30 * MS), LayerTime(1, Part.ATTENTION, 10 * MS))
PROFILE = PassProfile(320, 204, 16, DECODE, PREFILL)


def test_parts_are_drawn_in_groups_and_by_layer():
    shown = decode_pass(PROFILE)
    assert shown.total_ns == 10 * MS == sum(shown.groups)
    named = dict(zip(group_names(), shown.groups, strict=True))
    assert named["FFN"] == 7 * MS
    assert named["attention's products"] == 2 * MS
    assert [sum(layer) for layer in shown.layers] == [6 * MS, 3 * MS]


def test_the_sentence_names_the_largest_part():
    assert decode_pass(PROFILE).sentence() == (
        "A token with 320 before it: 10.00 ms, 70% of it FFN."
    )
    assert prefill_pass(PROFILE).sentence() == "A prompt of 204 tokens: 40.00 ms, 75% of it FFN."


def test_a_model_that_cannot_be_looked_into_is_one_part():
    shown = decode_pass(PassProfile(1, 1, 1, (LayerTime(None, Part.OTHER, MS),), ()))
    assert shown.layers == ()
    assert decode_pass(PassProfile(1, 1, 1, (), ())).sentence() == (
        "A token with 1 before it: 0.00 ms"
    )


def test_the_table_has_both_passes_and_adds_up():
    table = parts_table(PROFILE)
    assert ("FFN", "7.00", "70.0%", "30.00", "75.0%") in table.rows
    assert ("attention", "0.00", "0.0%", "10.00", "25.0%") in table.rows
    assert table.rows[-1] == ("all", "10.00", "100.0%", "40.00", "100.0%")
    assert {len(row) for row in table.rows} == {len(table.headings)}


def test_every_part_has_a_name_of_its_own():
    assert len({part_words(part) for part in Part}) == len(Part)
