import inspect

import pytest
from PySide6.QtCore import QTranslator
from typing_extensions import override

from engine import errors
from engine.api import Failure
from engine.errors import EngineError
from ui.failures import _SENTENCES, sentence


def test_every_code_with_details_has_a_sentence():
    codes = {
        cls.code
        for _name, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, EngineError)
    }
    assert codes == set(_SENTENCES)


@pytest.mark.parametrize(
    ("code", "details", "words"),
    [
        ("prompt_too_long", {"needed": 9120, "limit": 8192}, "needs 9,120 tokens"),
        ("out_of_memory", {"needed": 3 * 2**30, "available": 2**30}, "needs 3.0 GiB"),
        ("model_corrupt", {"path": "/m/a.gguf", "reason": "it is cut short"}, "a.gguf is damaged"),
        ("model_missing", {"path": "/m/a.gguf"}, "/m/a.gguf"),
        ("model_unsupported", {"path": "/m/a.gguf", "feature": "mamba"}, "uses mamba"),
        ("template_failed", {"reason": "endless loop"}, "endless loop"),
        ("invalid_request", {"reason": "top_p is 3"}, "top_p is 3"),
        ("load_cancelled", {}, "cancelled"),
        ("model_not_loaded", {}, "No model is loaded"),
        ("engine_fault", {}, "the text so far is kept"),
    ],
)
def test_sentences_carry_the_figures(code, details, words):
    assert words in sentence(Failure(code, "English from the engine.", details))


@pytest.mark.parametrize(
    "failure",
    [
        Failure("from_the_future", "The engine stopped."),
        Failure("prompt_too_long", "The engine stopped."),
        Failure("prompt_too_long", "The engine stopped.", {"needed": "many", "limit": 1}),
    ],
)
def test_unknown_codes_and_missing_details_fall_back_to_the_engines_words(failure):
    assert sentence(failure) == "The engine stopped."


class _Shouting(QTranslator):
    @override
    def translate(self, context, sourceText, disambiguation=None, n=-1):
        return sourceText.upper().replace("{NEEDED}", "{needed}").replace("{LIMIT}", "{limit}")

    @override
    def isEmpty(self):
        return False


def test_sentences_are_translated(qapp):
    translator = _Shouting()
    qapp.installTranslator(translator)
    try:
        told = sentence(Failure("prompt_too_long", "", {"needed": 9120, "limit": 8192}))
    finally:
        qapp.removeTranslator(translator)
    assert told == "THIS PROMPT NEEDS 9,120 TOKENS; THE MODEL READS 8,192. NOTHING WAS SENT."
