"""Folders of other programs."""

from pathlib import Path

import pytest

from app.catalog.places import Place, Surroundings, hub_cache, known_places


def around(variables=None, home=Path("/nobody"), platform="linux"):
    return Surroundings.here(variables or {}, home, platform)


def test_the_hub_cache_by_its_own_rules():
    assert hub_cache(around({"HF_HUB_CACHE": "/a"})) == Path("/a")
    assert hub_cache(around({"HF_HOME": "/b"})) == Path("/b/hub")
    assert hub_cache(around({"XDG_CACHE_HOME": "/c"})) == Path("/c/huggingface/hub")
    assert hub_cache(around()) == Path("/nobody/.cache/huggingface/hub")
    assert hub_cache(around(platform="win32")) == Path("/nobody/.cache/huggingface/hub")


def test_only_what_is_there(tmp_path):
    here = around(home=tmp_path)
    assert known_places(here) == []
    (tmp_path / ".lmstudio" / "models").mkdir(parents=True)
    hub_cache(here).mkdir(parents=True)
    assert known_places(here) == [
        Place(hub_cache(here), "Hugging Face"),
        Place(tmp_path / ".lmstudio" / "models", "LM Studio"),
    ]


@pytest.mark.parametrize(
    ("platform", "program", "folder"),
    [
        ("linux", "Jan", ".local/share/Jan/data/llamacpp/models"),
        ("darwin", "Jan", "Library/Application Support/Jan/data/llamacpp/models"),
        ("win32", "Jan", "AppData/Roaming/Jan/data/llamacpp/models"),
        ("linux", "GPT4All", ".local/share/nomic.ai/GPT4All"),
        ("darwin", "GPT4All", "Library/Application Support/nomic.ai/GPT4All"),
        ("win32", "GPT4All", "AppData/Local/nomic.ai/GPT4All"),
        ("linux", "llama.cpp", ".cache/llama.cpp"),
        ("darwin", "llama.cpp", "Library/Caches/llama.cpp"),
        ("win32", "llama.cpp", "AppData/Local/llama.cpp"),
        ("linux", "Ollama", ".ollama/models"),
        ("darwin", "Ollama", ".ollama/models"),
        ("win32", "Ollama", ".ollama/models"),
        ("linux", "text-generation-webui", "text-generation-webui/user_data/models"),
        ("win32", "LM Studio", ".lmstudio/models"),
    ],
)
def test_each_program_on_each_system(tmp_path, platform, program, folder):
    (tmp_path / folder).mkdir(parents=True)
    assert Place(tmp_path / folder, program) in known_places(around({}, tmp_path, platform))


def test_variables_say_where_else(tmp_path):
    for name in ("ollama", "llama", "roaming"):
        (tmp_path / name).mkdir()
    (tmp_path / "roaming" / "Jan" / "data" / "models").mkdir(parents=True)
    variables = {
        "OLLAMA_MODELS": str(tmp_path / "ollama"),
        "LLAMA_CACHE": str(tmp_path / "llama"),
        "APPDATA": str(tmp_path / "roaming"),
    }
    places = {p.program: p.path for p in known_places(around(variables, tmp_path, "win32"))}
    assert places == {
        "Ollama": tmp_path / "ollama",
        "llama.cpp": tmp_path / "llama",
        "Jan": tmp_path / "roaming" / "Jan" / "data" / "models",
    }


def test_lm_studio_elsewhere(tmp_path):
    moved = tmp_path / "другой диск"
    (moved / "models").mkdir(parents=True)
    (tmp_path / ".lmstudio-home-pointer").write_text(f"{moved}\n", encoding="utf-8")
    assert known_places(around(home=tmp_path)) == [Place(moved / "models", "LM Studio")]
    (tmp_path / ".lmstudio-home-pointer").write_bytes(b"\xff\xfe")
    assert known_places(around(home=tmp_path)) == []
