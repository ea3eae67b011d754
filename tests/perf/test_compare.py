"""What a comparison keeps is what its table says."""

import argparse
from pathlib import Path

from tests.perf.compare import Contender, as_json, shares, table


def _contender(name: str, rates: list[float], *, is_peer: bool, share: float | None) -> Contender:
    results = [
        {
            "prefill_tokens_per_s": 10 * rate,
            "decode_tokens_per_s": rate,
            **({} if share is None else {"share_of_ceiling": {"decode": share * rate}}),
        }
        for rate in rates
    ]
    return Contender(name, [], is_peer, results)


def test_medians_of_those_that_ran() -> None:
    found = [
        _contender("engine int4", [90.0, 110.0, 100.0], is_peer=False, share=0.005),
        _contender("llamacpp", [50.0], is_peer=True, share=None),
        _contender("vllm", [], is_peer=True, share=None),
    ]
    options = argparse.Namespace(
        model=Path("a/b.Q4_1.gguf"), prompt_tokens=5, new_tokens=6, streams=7, threads=8
    )
    kept = as_json(found, options)
    assert kept["model"] == "b.Q4_1"
    assert [row["name"] for row in kept["contenders"]] == ["engine int4", "llamacpp"]
    first, second = kept["contenders"]
    assert (first["decode_tokens_per_s"], first["prefill_tokens_per_s"]) == (100.0, 1_000.0)
    assert first["share_of_ceiling"] == {"decode": 0.5}
    assert (first["is_peer"], second["is_peer"], first["rounds"]) == (False, True, 3)
    assert second["share_of_ceiling"] == {}
    assert shares(found[0]) == "engine int4, of the ceilings: decode 50%"
    assert "100.0    1.00       3" in table(found)
