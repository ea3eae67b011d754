"""Files and functions stay small, documented and tested."""

import ast

from tests.helpers.sources import CODE, ROOT, name_of, python_files, tree_of

MAX_FILE_LINES = 400
# a test file is a list of small things; its length hides nothing
MAX_TEST_LINES = 600
MAX_FUNCTION_LINES = 60
# tests here are about more than one source file
NO_TWIN = ("architecture", "flows", "helpers", "oracle", "perf", "property")
# tests/bootstrap mirrors packaging/, whose name belongs to a library
ELSEWHERE = {"bootstrap": "packaging"}


def test_no_file_is_too_long():
    lengths = {
        name_of(path): len(path.read_text("utf-8").splitlines())
        for path in python_files(*CODE, "tests")
    }
    too_long = {
        name: n
        for name, n in lengths.items()
        if n > (MAX_TEST_LINES if name.startswith("tests/") else MAX_FILE_LINES)
    }
    assert too_long == {}


def test_no_function_is_too_long():
    too_long = {
        f"{name_of(path)}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for path in python_files(*CODE)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno >= MAX_FUNCTION_LINES
    }
    assert too_long == {}


def test_every_module_says_what_it_is():
    silent = [
        name_of(path)
        for path in python_files(*CODE, "tests/helpers", "tests/architecture")
        if not ast.get_docstring(tree_of(path))
    ]
    assert silent == []


def test_every_test_file_has_a_source_twin():
    lonely = []
    for path in (ROOT / "tests").rglob("test_*.py"):
        folder, *inside = path.relative_to(ROOT / "tests").parts
        if folder in NO_TWIN:
            continue
        twin = ROOT.joinpath(ELSEWHERE.get(folder, folder), *inside)
        stem = path.stem.removeprefix("test_")
        if not twin.with_name(f"{stem}.py").exists() and not twin.with_name(stem).is_dir():
            lonely.append(name_of(path))
    assert lonely == []


def test_no_module_is_named_after_nothing():
    vague = {"utils", "helpers", "common", "misc"}
    assert [name_of(path) for path in python_files(*CODE) if path.stem in vague] == []
