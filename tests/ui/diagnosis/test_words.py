"""Every diagnosis and every remedy has words, with its number in them."""

from pathlib import Path

import pytest
from PySide6.QtCore import QTranslator

from engine.api import Diagnosis, DiagnosisKind, Evidence, Remedy, Sentence
from ui.diagnosis.words import (
    evidence_words,
    factor,
    gain_words,
    kind_words,
    measured_words,
    remedy_words,
    sentence_words,
)
from ui.theme import RESOURCES

PLACES = (
    "ms share delay lost computed known now most others cores threads tokens queue prefill decode "
    "waited window stolen"
)
VALUES = dict.fromkeys(PLACES.split(), 0.5)


def test_every_kind_has_a_heading_of_its_own():
    assert len({kind_words(kind) for kind in DiagnosisKind}) == len(DiagnosisKind)


@pytest.mark.parametrize("sentence", Sentence)
def test_sentences_are_filled_in_and_translated_by_their_text(sentence):
    diagnosis = Diagnosis(DiagnosisKind.UNSURE, sentence, VALUES)
    assert sentence_words(diagnosis) == diagnosis.text
    chinese = QTranslator()
    assert chinese.load(str(Path(RESOURCES) / "translations" / "zh_CN.qm"))
    translated = chinese.translate("tokentide", sentence.value)
    assert translated
    assert "{" not in translated.format_map(VALUES)


def test_unsure_names_what_it_could_not_choose_from():
    kinds = (DiagnosisKind.THROTTLED, DiagnosisKind.CONTENDED)
    words = sentence_words(Diagnosis(DiagnosisKind.UNSURE, Sentence.SEVERAL, {}, candidates=kinds))
    assert words.endswith("Possible: Processor throttled, Other programs compute.")


@pytest.mark.parametrize(
    ("evidence", "number"),
    [
        (Evidence("reading_share", 0.87, "share"), "87%"),
        (Evidence("reading_share", 1.2, "share"), "100%"),
        (Evidence("paint_delay", 31.0, "ms"), "31.0 ms"),
        (Evidence("frequency", 2_100.0, "mhz"), "2,100 MHz"),
        (Evidence("other_cores", 1.75, "cores"), "1.8"),
        (Evidence("waited", 0.38, "share"), "38%"),
        (Evidence("stolen", 0.2375, "share"), "24%"),
        (Evidence("lost_tokens", 2_310.0, "tokens"), "2,310"),
    ],
)
def test_the_number_behind_it_is_written_in_its_unit(evidence, number):
    assert evidence_words(evidence)[0] == number
    assert evidence_words(evidence)[1] != evidence.name


def test_without_evidence_there_is_no_number():
    assert evidence_words(None) == ("", "")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("weights", "int4", "INT4 weights"),
        ("kv", "int8", "INT8 KV cache"),
        ("threads", 4, "4 threads"),
        ("kv_cache", True, "Use the KV cache"),
        ("prefix_cache", True, "Keep earlier prompts in the cache"),
        ("kv_budget_mib", 2_048, "A KV cache of 2,048 MiB"),
        ("gpu_budget_mib", 4_096, "4,096 MiB of the graphics card"),
        ("keep_cache", True, "Keep the cache with the conversation"),
        ("max_streams", 40, "40 answers at once"),
        ("draft", "off", "No guessing ahead"),
        ("power", None, "Full processor speed"),
        ("other_programs", None, "Close other programs"),
        ("quiet_host", None, "A quieter host: pause other virtual machines"),
    ],
)
def test_every_remedy_says_what_to_change(key, value, words):
    assert remedy_words(Remedy(key, value, 1.3, 10)).startswith(words)


def test_calculated_gains_are_marked():
    assert gain_words(1.314) == "~1.31 times as fast"
    assert factor(40.2) == "40"
    words = measured_words("Decode", 1.31, 1.24)
    assert words == "Decode: predicted ~1.31 times as fast, measured 1.24."
