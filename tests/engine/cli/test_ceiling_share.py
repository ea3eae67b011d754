"""Speeds as shares of ceilings, by hand."""

from dataclasses import replace

import pytest

from engine.cli import ceiling_share
from engine.cli.ceiling_share import kept_costs, share_of_ceiling
from engine.diagnosis.observation import PrefillCost, StepCost
from engine.roofline.ceilings import path_for, write_ceilings
from engine.tracing.costs import ModelCosts
from tests.engine.cli.test_plan import CEILINGS
from tests.helpers.fake_model import make_info
from tests.helpers.scheduling import make_config

INFO = make_info("fake.gguf", make_config(), 100)
# weights take 10 ms to read, each stream's cache 5 ms, each stream's arithmetic 1 ms
STEP = StepCost(100, 20, 10_000.0, 4_000.0, row_s=0.001, overhead_s=9.0)
PREFILL = PrefillCost(1_000, 10_000.0, {}, 500, 10_000.0)


@pytest.fixture
def costs(monkeypatch) -> ModelCosts:
    costs = ModelCosts(INFO, replace(CEILINGS, read_bytes_per_s=20_000.0))
    monkeypatch.setattr(ModelCosts, "step", lambda _self, context: STEP if context else None)
    monkeypatch.setattr(ModelCosts, "prefill", lambda *_: PREFILL)
    return costs


def rates(prefill: float | None, decode: float | None) -> dict[str, object]:
    return {"prefill_tokens_per_s": prefill, "decode_tokens_per_s": decode}


def test_one_stream(costs) -> None:
    # 30 ms a step, and 1.5 s for a prompt that could take 0.15 s
    found = share_of_ceiling(costs, (1, 300, 10), rates(200.0, 1_000 / 30))
    assert found == pytest.approx({"prefill": 0.1, "decode": 0.5, "bandwidth": 0.2})


def test_streams_read_the_weights_once(costs) -> None:
    # 4 tokens in 60 ms: 10 + 4 x 5 ms of reading
    found = share_of_ceiling(costs, (4, 300, 10), rates(200.0, 4_000 / 60))
    assert found == pytest.approx({"prefill": 0.1, "decode": 0.5, "bandwidth": 0.15})


def test_what_was_not_measured_has_no_share(costs, monkeypatch) -> None:
    assert share_of_ceiling(costs, (1, 300, 10), rates(200.0, None)) == pytest.approx(
        {"prefill": 0.1}
    )
    monkeypatch.setattr(ModelCosts, "prefill", lambda *_: None)
    assert share_of_ceiling(costs, (1, 300, 10), rates(200.0, 1.0)) is None


def test_ceilings_are_those_kept_for_the_threads(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(ceiling_share, "path_for", lambda threads: tmp_path / f"{threads}.json")
    assert kept_costs(INFO) is None
    write_ceilings(CEILINGS, tmp_path / f"{INFO.threads}.json")
    kept = kept_costs(INFO)
    assert kept is not None
    assert kept.ceilings == CEILINGS.of(is_cuda=False)
    assert path_for(INFO.threads).suffix == ".json"
