"""The settings in force."""

import os
import stat
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.settings.declared import FIELDS, INT4_CALIBRATED, problem_with
from app.settings.file import read_values, write_values
from app.settings.values import MAX_RECENT_MODELS, Settings, write_settings
from engine.api import ModelOptions, Precision, SamplingParams


def values_of(field):
    strategies = {
        "bool": st.booleans(),
        "int": st.integers(int(field.minimum or 0), int(field.maximum or 100)),
        "float": st.floats(field.minimum or 0.0, field.maximum or 1.0),
        "choice": st.sampled_from([choice.value for choice in field.choices] or [""]),
    }
    valid = strategies.get(field.kind, st.text())
    return valid if field.automatic is None else valid | st.none()


ALL_VALUES = st.fixed_dictionaries({}, optional={k: values_of(f) for k, f in FIELDS.items()})


@given(stored=ALL_VALUES)
def test_settings_survive_the_files(tmp_path_factory, stored):
    folder = tmp_path_factory.mktemp("settings")
    files = folder / "settings.json", folder / "data" / "secrets.json"
    settings = Settings(stored)
    write_settings(*files, settings.snapshot())
    assert Settings.load(*files).values() == settings.values()
    assert {key: settings[key] for key in stored} == stored


@given(stored=ALL_VALUES)
def test_the_engine_gets_what_is_set(stored):
    settings = Settings(stored)
    params = settings.sampling_params()
    assert params.temperature == settings["temperature"]
    assert params.seed == settings["seed"]
    options = settings.model_options("/m.gguf")
    assert options.path == "/m.gguf"
    assert options.weights.value == settings.text("weights").removesuffix("-calibrated")
    assert options.calibrated == (settings["weights"] == INT4_CALIBRATED)
    assert options.kv.value == settings["kv"]


def test_defaults_are_the_engines_own():
    settings = Settings()
    assert settings.sampling_params() == SamplingParams()
    assert settings.model_options("m") == ModelOptions("m", weights=Precision.AUTO)


def test_invalid_stored_values_give_the_default_and_a_log_line(logfail):
    logfail.expect("Setting temperature: 'hot'")
    settings = Settings({"temperature": "hot", "top_k": 40})
    assert settings["temperature"] == FIELDS["temperature"].default
    assert settings["top_k"] == 40


def test_unknown_keys_are_kept():
    assert Settings({"from_the_future": {"a": [1]}}).snapshot()["from_the_future"] == {"a": [1]}


def test_setting_what_is_not_declared_so_is_refused():
    settings = Settings()
    with pytest.raises(ValueError, match="temperature"):
        settings.set("temperature", 9.0)
    with pytest.raises(KeyError):
        settings.set("warp", 9)
    assert problem_with(FIELDS["temperature"], settings["temperature"]) is None


def test_stop_strings_are_lines():
    settings = Settings({"stop": "END\n\n  two words \n"})
    assert settings.sampling_params().stop == ("END", "  two words ")


def test_budgets_are_in_mebibytes():
    options = Settings({"kv_budget_mib": 64, "gpu_budget_mib": 512}).model_options("m")
    assert options.kv_budget_bytes == 64 << 20
    assert options.gpu_budget_bytes == 512 << 20


def test_the_name_of_a_recent_model_whose_file_has_none():
    settings = Settings()
    settings.remember_model("/blobs/sha256-1")
    settings.remember_model("/m.gguf")
    settings.remember_model("/blobs/sha256-1", "Tiny Llama")
    assert settings.recent_entries() == ["/blobs/sha256-1\tTiny Llama", "/m.gguf"]
    assert settings.recent_models() == ["/blobs/sha256-1", "/m.gguf"]


def test_a_name_of_several_lines_is_one_recent_model():
    settings = Settings()
    settings.remember_model("/blobs/sha256-1", "Tiny\nLlama\u2028\t2")
    assert settings.recent_entries() == ["/blobs/sha256-1\tTiny Llama 2"]


def test_recent_models_are_latest_first_without_doubles():
    settings = Settings()
    for number in range(MAX_RECENT_MODELS + 4):
        settings.remember_model(f"/m{number}.gguf")
    settings.remember_model("/m9.gguf")
    recent = settings.recent_models()
    assert recent[0] == "/m9.gguf"
    assert len(recent) == len(set(recent)) == MAX_RECENT_MODELS


# ---------------------------------------------------------------------- secrets

TOKEN = "hf_not-for-the-eyes-of-others"


@pytest.fixture
def files(tmp_path):
    return tmp_path / "config" / "settings.json", tmp_path / "data" / "secrets.json"


def test_a_token_lies_in_its_own_file_for_its_owner_alone(files):
    settings = Settings({"hub_token": TOKEN, "zoom": 1.5})
    write_settings(*files, settings.snapshot())
    assert TOKEN not in files[0].read_text()
    assert read_values(files[1]) == {"hub_token": TOKEN}
    if sys.platform != "win32":  # there the user's profile folder is what keeps others out
        assert stat.S_IMODE(files[1].stat().st_mode) == 0o600
    assert Settings.load(*files).text("hub_token") == TOKEN
    assert Settings.load(*files)["zoom"] == 1.5


def test_a_token_that_is_taken_away_leaves_no_file(files):
    write_settings(*files, Settings({"hub_token": TOKEN}).snapshot())
    write_settings(*files, Settings().snapshot())
    assert not files[1].exists()
    assert Settings.load(*files).text("hub_token") == ""


def test_a_token_among_the_settings_of_an_earlier_version_moves(files):
    write_values(files[0], {"hub_token": TOKEN, "zoom": 1.5, "from_the_future": 7})
    settings = Settings.load(*files)
    assert settings.text("hub_token") == TOKEN
    assert read_values(files[0]) == {"zoom": 1.5, "from_the_future": 7}
    assert read_values(files[1]) == {"hub_token": TOKEN}


def test_a_token_that_cannot_move_stays_and_is_not_told(files, monkeypatch, logfail):
    logfail.expect("Secrets stay among the settings: .*No space left")
    write_values(files[0], {"hub_token": TOKEN})

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert Settings.load(*files).text("hub_token") == TOKEN
    assert read_values(files[0]) == {"hub_token": TOKEN}


def test_no_complaint_shows_a_token(logfail, caplog):
    logfail.expect("Setting hub_token: .a secret. is not of kind text")
    settings = Settings({"hub_token": [TOKEN]})
    with pytest.raises(ValueError, match="a secret") as refused:
        settings.set("hub_token", [TOKEN])
    assert TOKEN not in str(refused.value) + caplog.text
