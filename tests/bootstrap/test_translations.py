"""Collecting the words of the window, and the Chinese catalogue as it stands."""

import ast

import pytest
import translations
from PySide6.QtCore import QTranslator
from translations import UnreadableWordError, complaints, words_in

SOURCE = """
tr("plain {value}", value=1)
i18n.tr_n("one", "many", n)
tr("yes" if ok else "no")
tr(field.label)
MARKED = mark("marked")
Field("key", "int", 1, "label", "help", unit="unit", automatic="auto")
Field(key="k", label="other label", help="joined "
      "help")
Choice("value", "choice")
Section("title", ())
other("never seen")
"""


def test_every_kind_of_word_is_found():
    assert set(words_in(ast.parse(SOURCE))) == {
        "plain {value}", "one", "many", "yes", "no", "marked", "label", "help", "unit", "auto",
        "other label", "joined help", "choice", "title",
    }  # fmt: skip


@pytest.mark.parametrize(
    "code", ['tr(f"made {up}")', 'tr("made " + up)', "mark(name)", 'tr_n("a", many, 2)']
)
def test_a_word_made_at_run_time_is_refused(code):
    with pytest.raises(UnreadableWordError, match="line 1"):
        list(words_in(ast.parse(code)))


def test_a_catalogue_survives_the_round(tmp_path):
    path = tmp_path / "zh_CN.ts"
    translations.write_catalogue(path, ["b", "a", "<&>"], {"a": "甲", "<&>": "〈与〉"})
    assert translations.read_catalogue(path) == {"a": "甲", "<&>": "〈与〉"}
    assert path.read_text("utf-8").count('type="unfinished"') == 1


def test_an_absent_catalogue_is_empty(tmp_path):
    assert translations.read_catalogue(tmp_path / "none.ts") == {}


def test_what_is_missing_left_over_or_wrong_is_said():
    words = {"a {x}": "ui/a.py", "b": "ui/b.py"}
    lines = complaints(words, {"a {x}": "甲 {y}", "c": "丙"})
    assert lines == [
        "ui/b.py: no translation for 'b'",
        "no longer used: 'c'",
        "other {values} in the translation of 'a {x}'",
    ]


def test_every_word_of_the_window_has_a_translation(capsys):
    code = translations.main(["--check"])
    assert code == 0, capsys.readouterr().out


@pytest.mark.usefixtures("qapp")
def test_a_compiled_catalogue_speaks_chinese(tmp_path):
    source, target = tmp_path / "zh_CN.ts", tmp_path / "zh_CN.qm"
    translations.write_catalogue(source, ["Send"], {"Send": "发送"})
    translations.compile_catalogue(source, target)
    translator = QTranslator()
    assert translator.load(str(target))
    assert translator.translate(translations.CONTEXT, "Send") == "发送"


def test_what_a_diagnosis_can_say_is_collected(tmp_path):
    source = tmp_path / "engine" / "api" / "diagnosis.py"
    source.parent.mkdir(parents=True)
    source.write_text(
        'class Other(StrEnum):\n    A = "a"\n\n'
        'class Sentence(StrEnum):\n    """Words."""\n\n    B = "b {n:.0f}"\n    C = ("c " "d")\n'
    )
    assert translations.collect(tmp_path) == dict.fromkeys(
        ("b {n:.0f}", "c d"), "engine/api/diagnosis.py"
    )
