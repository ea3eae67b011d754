"""Folders of other programs."""

from pathlib import Path

from app.catalog.places import hub_cache, known_places


def test_the_hub_cache_by_its_own_rules(tmp_path):
    assert hub_cache({"HF_HUB_CACHE": "/a"}) == Path("/a")
    assert hub_cache({"HF_HOME": "/b"}) == Path("/b/hub")
    assert hub_cache({"XDG_CACHE_HOME": "/c"}) == Path("/c/huggingface/hub")
    assert hub_cache({}, tmp_path) == tmp_path / ".cache" / "huggingface" / "hub"


def test_only_what_is_there(tmp_path):
    assert known_places({}, tmp_path) == []
    (tmp_path / ".lmstudio" / "models").mkdir(parents=True)
    hub_cache({}, tmp_path).mkdir(parents=True)
    assert known_places({}, tmp_path) == [
        hub_cache({}, tmp_path),
        tmp_path / ".lmstudio" / "models",
    ]
