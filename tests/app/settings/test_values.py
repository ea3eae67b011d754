"""The settings in force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.settings.declared import FIELDS, problem_with
from app.settings.file import write_values
from app.settings.values import MAX_RECENT_MODELS, Settings
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
def test_settings_survive_the_file(tmp_path_factory, stored):
    path = tmp_path_factory.mktemp("settings") / "settings.json"
    settings = Settings(stored)
    write_values(path, settings.snapshot())
    assert Settings.load(path).values() == settings.values()
    assert {key: settings[key] for key in stored} == stored


@given(stored=ALL_VALUES)
def test_the_engine_gets_what_is_set(stored):
    settings = Settings(stored)
    params = settings.sampling_params()
    assert params.temperature == settings["temperature"]
    assert params.seed == settings["seed"]
    options = settings.model_options("/m.gguf")
    assert options.path == "/m.gguf"
    assert options.weights.value == settings["weights"]


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


def test_the_kv_budget_is_in_mebibytes():
    assert Settings({"kv_budget_mib": 64}).model_options("m").kv_budget_bytes == 64 << 20


def test_recent_models_are_latest_first_without_doubles():
    settings = Settings()
    for number in range(MAX_RECENT_MODELS + 4):
        settings.remember_model(f"/m{number}.gguf")
    settings.remember_model("/m9.gguf")
    recent = settings.recent_models()
    assert recent[0] == "/m9.gguf"
    assert len(recent) == len(set(recent)) == MAX_RECENT_MODELS
