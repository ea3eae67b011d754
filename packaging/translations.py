"""Collect the words a user reads, and keep their Chinese translation complete.

    python packaging/translations.py            update zh_CN.ts, compile zh_CN.qm
    python packaging/translations.py --check    fail when a word has no translation

Reads the source as a tree and runs none of it. Words are the literals given to ``tr``, ``tr_n``
and ``mark``, the labels and explanations of declared settings, and what a diagnosis can say: the
engine itself does not translate.
"""

import argparse
import ast
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("app", "ui")
SENTENCES = ("engine/api/diagnosis.py", "Sentence")  # a file, and its class of literals
CONTEXT = "tokentide"
LANGUAGE = "zh_CN"
CATALOGUE = ROOT / "resources" / "translations" / f"{LANGUAGE}.ts"
PLACEHOLDER = re.compile(r"\{(\w*)[^}]*\}")
# call -> its arguments that hold words: place or name
WORDS: Mapping[str, tuple[int | str, ...]] = {
    "tr": (0,),
    "tr_n": (0, 1),
    "mark": (0,),
    "Field": (3, 4, "label", "help", "unit", "automatic", "path_label"),
    "Choice": (1, "label"),
    "Section": (0, "title"),
}
# these take only literals; the others may also be given a value
LITERAL_ONLY = ("tr_n", "mark")


class UnreadableWordError(Exception):
    """A word that is put together at run time, which no catalogue can hold."""


def words_in(tree: ast.AST) -> Iterator[str]:
    """Yield the user-visible literals of one module, in order."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            for argument in _arguments(node, WORDS.get(name, ())):
                yield from _literals(argument, strict=name in LITERAL_ONLY)


def _literals(argument: ast.expr, *, strict: bool) -> Iterator[str]:
    match argument:
        case ast.Constant(value=str(text)):
            if text:
                yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from _literals(body, strict=strict)
            yield from _literals(orelse, strict=strict)
        case ast.JoinedStr() | ast.BinOp():
            raise UnreadableWordError(f"line {argument.lineno}: {ast.unparse(argument)[:60]}")
        case _:
            if strict:
                raise UnreadableWordError(f"line {argument.lineno}: {ast.unparse(argument)[:60]}")


def _arguments(call: ast.Call, places: Iterable[int | str]) -> Iterator[ast.expr]:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    for place in places:
        if isinstance(place, str):
            if place in named:
                yield named[place]
        elif place < len(call.args):
            yield call.args[place]


def sentences_in(tree: ast.AST, name: str) -> Iterator[str]:
    """Yield the texts that the class ``name`` gives names to."""
    classes = (n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == name)
    lines = (line for found in classes for line in found.body)
    for line in lines:
        if isinstance(line, ast.Assign):
            yield from _literals(line.value, strict=True)


def collect(root: Path) -> dict[str, str]:
    """Map each word to the file it was first seen in. Raises UnreadableWordError."""
    found: dict[str, str] = {}
    name, sentences = SENTENCES
    if (root / name).is_file():
        tree = ast.parse((root / name).read_text("utf-8"))
        found = dict.fromkeys(sentences_in(tree, sentences), name)
    for path in (path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))):
        name = path.relative_to(root).as_posix()
        try:
            words = list(words_in(ast.parse(path.read_text("utf-8"))))
        except UnreadableWordError as error:
            raise UnreadableWordError(f"{name}, {error}") from None
        for word in words:
            found.setdefault(word, name)
    return found


def read_catalogue(path: Path) -> dict[str, str]:
    """Map each word to its translation; words without one are left out."""
    if not path.exists():
        return {}
    tree = ET.parse(path)  # noqa: S314 - the project's own file
    return {
        message.findtext("source", ""): text
        for message in tree.iter("message")
        if (text := message.findtext("translation", ""))
    }


def write_catalogue(path: Path, words: Iterable[str], translations: Mapping[str, str]) -> None:
    """Write all ``words`` in order, those without a translation as unfinished."""
    top = ET.Element("TS", version="2.1", language=LANGUAGE, sourcelanguage="en")
    context = ET.SubElement(top, "context")
    ET.SubElement(context, "name").text = CONTEXT
    for word in sorted(words):
        message = ET.SubElement(context, "message")
        ET.SubElement(message, "source").text = word
        translation = ET.SubElement(message, "translation")
        if text := translations.get(word):
            translation.text = text
        else:
            translation.set("type", "unfinished")
    ET.indent(top)
    body = ET.tostring(top, encoding="unicode")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{body}\n', "utf-8")


def complaints(words: Mapping[str, str], translations: Mapping[str, str]) -> list[str]:
    """What is missing, left over or wrong, one line each."""
    lines = [f"{words[w]}: no translation for {w!r}" for w in words if w not in translations]
    lines += [f"no longer used: {w!r}" for w in translations if w not in words]
    lines += [
        f"other {{values}} in the translation of {word!r}"
        for word, text in translations.items()
        if set(PLACEHOLDER.findall(word)) != set(PLACEHOLDER.findall(text))
    ]
    return lines


def compile_catalogue(source: Path, target: Path) -> None:
    """Turn the catalogue into the form Qt loads. Raises CalledProcessError."""
    tool = Path(sys.executable).with_name("pyside6-lrelease")
    command = [str(tool), str(source), "-silent", "-qm", str(target)]
    subprocess.run(command, check=True, capture_output=True)


def is_compiled(catalogue: Path) -> bool:
    """Whether the compiled file is that of the present catalogue."""
    compiled = catalogue.with_suffix(".qm")
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / compiled.name
        compile_catalogue(catalogue, fresh)
        return compiled.exists() and compiled.read_bytes() == fresh.read_bytes()


def main(arguments: Sequence[str]) -> int:
    """Update or check; the exit code is 1 when something is missing."""
    parser = argparse.ArgumentParser(description="Keep the Chinese translation complete.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    try:
        words = collect(ROOT)
    except UnreadableWordError as error:
        print(f"a word must be one literal: {error}")
        return 1
    translations = read_catalogue(CATALOGUE)
    if not options.check:
        translations = {word: text for word, text in translations.items() if word in words}
        write_catalogue(CATALOGUE, words, translations)
        compile_catalogue(CATALOGUE, CATALOGUE.with_suffix(".qm"))
    lines = complaints(words, translations)
    if options.check and not lines and not is_compiled(CATALOGUE):
        lines = [f"{CATALOGUE.with_suffix('.qm').name} is older than {CATALOGUE.name}"]
    print("\n".join(lines) or f"{len(words)} words, all translated")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
