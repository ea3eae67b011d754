"""Counting parameters."""

from dataclasses import replace

from engine.model.footprint.blueprint import Product
from engine.planner.find import find_blueprint


def test_a_shared_table_counts_once():
    tied = find_blueprint("smollm2-135m")
    assert tied.head is None
    untied = replace(tied, head=Product(tied.vocab_size, tied.hidden_size))
    assert untied.num_parameters - tied.num_parameters == 49_152 * 576
    assert untied.active_parameters == tied.active_parameters


def test_a_token_uses_few_of_the_experts():
    mixtral = find_blueprint("mixtral-8x7b")
    assert mixtral.active_parameters < mixtral.num_parameters / 3
