"""How the engine's evaluation is started, and what is read of it."""

import subprocess
import sys

from app.quality.evaluation import (
    ENGINE_WORD,
    engine_command,
    engine_folder,
    evaluation_arguments,
    failure_in,
    progress_in,
    result_in,
    sentence_in,
)
from engine.api import Failure
from engine.cli.arguments import parse


def test_the_interpreter_runs_the_engine_and_a_frozen_app_runs_itself(monkeypatch):
    assert engine_command() == [sys.executable, "-m", "engine"]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert engine_command() == [sys.executable, ENGINE_WORD]


def test_the_apps_own_program_is_the_engine_where_the_first_word_says_so():
    done = subprocess.run(
        [sys.executable, "-m", "app", ENGINE_WORD, "eval", "--help"],
        cwd=engine_folder(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--progress" in done.stdout


def test_it_is_started_beside_the_engine():
    assert (engine_folder() / "engine" / "__main__.py").is_file()


def test_the_engine_takes_these_arguments():
    for weights in ("int4", "int4-calibrated", "int8", "bf16"):
        options = parse(evaluation_arguments("/m/模型.gguf", weights))
        assert options.command == "eval"
        assert options.model == "/m/模型.gguf"
        assert options.json


def test_the_last_progress_counts():
    assert progress_in(['{"progress": 0.1}', "words", '{"progress": 0.25}', "more"]) == 0.25
    assert progress_in(['{"progress": 7}']) == 1.0
    assert progress_in(["words", '{"progress": true}', "[1]", "{"]) is None


def test_the_last_words_are_the_reason():
    assert sentence_in(["first", "Too large.", '{"progress": 0.5}', " "]) == "Too large."
    assert sentence_in([]) == ""


def test_a_failure_with_its_figures():
    told = (
        '{"failure": {"code": "out_of_memory", "message": "Too large.", "details": {"needed": 2}}}'
    )
    assert failure_in(["first", told, "Too large."]) == Failure(
        "out_of_memory", "Too large.", {"needed": 2}
    )
    assert failure_in(["Too large.", '{"failure": 3}', '{"failure": {"code": "x"}}']) is None


def test_the_result_is_one_object():
    assert result_in('{"perplexity": 2.5}\n') == {"perplexity": 2.5}
    assert result_in("no") == {}
    assert result_in("[1]") == {}
