"""Where a model is cut, from numbers alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.offload import ModelParts, Split, by_layer, split_layers

PARTS = ModelParts(table=50, layers=(10, 20, 30, 40), head=60, kv_layer=5)
TOTAL = 50 + 100 + 4 * 5 + 60


@pytest.mark.parametrize(
    ("budget", "split"),
    [
        (TOTAL, Split(0, 0, TOTAL)),
        (TOTAL - 1, Split(1, 65, TOTAL - 65)),
        (60 + 45 + 35, Split(2, TOTAL - 140, 140)),
        (60 + 45 + 34, Split(3, TOTAL - 105, 105)),
        (60 + 44, Split(4, TOTAL, 0)),
        (0, Split(4, TOTAL, 0)),
        (-7, Split(4, TOTAL, 0)),
    ],
)
def test_the_gpu_takes_the_last_layers_that_fit(budget, split):
    assert split_layers(PARTS, budget) == split


SIZES = st.integers(0, 1 << 40)


@given(SIZES, st.lists(SIZES, min_size=1, max_size=40), SIZES, SIZES, SIZES)
def test_no_byte_is_lost_and_the_budget_holds(table, layers, head, kv_layer, budget):
    parts = ModelParts(table, layers, head, kv_layer)
    split = split_layers(parts, budget)
    assert split.gpu_bytes <= budget
    assert split.cpu_bytes + split.gpu_bytes == table + sum(layers) + head + len(layers) * kv_layer
    assert 0 <= split.cpu_layers <= len(layers)


@given(st.lists(SIZES, min_size=1, max_size=12), st.lists(SIZES, min_size=2, max_size=2))
def test_more_budget_never_means_fewer_layers(layers, budgets):
    parts = ModelParts(7, layers, 11, 3)
    less, more = (split_layers(parts, budget).cpu_layers for budget in sorted(budgets))
    assert more <= less


def test_parameters_are_sorted_by_the_first_number_in_their_name():
    sizes = {
        "embed": 100,
        "norm": 1,
        "layers.0.q": 10,
        "layers.0.experts.1.gate": 5,
        "layers.1.q": 20,
    }
    assert by_layer(sizes, 2, is_tied=True, kv_layer=3) == ModelParts(100, (15, 20), 101, 3)
    foreign = {
        "gpt_neox.embed_in.weight": 7,
        "embed_out.weight": 8,
        "gpt_neox.layers.1.mlp.weight": 9,
        "gpt_neox.final_layer_norm.weight": 2,
    }
    assert by_layer(foreign, 2, is_tied=False, kv_layer=0) == ModelParts(7, (0, 9), 10, 0)
