"""Rules that no linter knows: what may stand in a file, and how often."""

import ast
import re
import tokenize
from functools import cache

from tests.helpers.sources import CODE, PRODUCT, name_of, python_files, text_files, tree_of

# split, so that this file does not break its own rules
HOSTS = tuple("".join(parts) for parts in (("pypi", ".org"), ("python", "hosted.org"),
    ("hugging", "face.co"), ("hf", ".co"), ("download.py", "torch.org"), ("deb", ".debian.org"),
    ("npm", "js.com")))  # fmt: skip
MARKS = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")))
MAX_TYPE_IGNORES = 10
# one reason each: the engine's loop, the task runner, the crash hook
BROAD_EXCEPTS = {"engine/service.py", "app/tasks.py", "app/crash.py"}
FORBIDDEN_CALLS = {"eval", "exec", "os.system", "os.popen", "marshal.loads"}
NEIGHBOURS = {"nextInFocusChain", "previousInFocusChain", "focusProxy", "childAt"}
FORBIDDEN_MODULES = {"pickle", "shelve", "marshal", "dill", "cloudpickle"}


def test_no_file_names_a_registry():
    named = [
        f"{name_of(path)}: {host}"
        for path in text_files()
        for host in HOSTS
        if host in path.read_text("utf-8")
    ]
    assert named == []


def test_nothing_is_left_to_do():
    marked = [
        f"{name_of(path)}:{number}"
        for path in text_files()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if MARKS.search(line)
    ]
    assert marked == []


def test_neighbours_are_asked_for_in_one_place_alone():
    """For PySide a widget owns what these return, and takes it with it when it goes."""
    found = [
        f"{name_of(path)}:{node.lineno} {node.attr}"
        for path in python_files(*CODE, "tests")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr in NEIGHBOURS
    ]
    assert {line.split(":")[0] for line in found} == {"ui/widgets/tab_order.py"}, found


def test_no_code_is_made_from_data():
    found = [
        f"{name_of(path)}:{node.lineno} {ast.unparse(node)}"
        for path in python_files(*CODE)
        for node in ast.walk(tree_of(path))
        if _runs_data(node)
    ]
    assert found == []


def _runs_data(node):
    if isinstance(node, ast.Call):
        return _dotted(node.func) in FORBIDDEN_CALLS
    if isinstance(node, ast.Import):
        return bool({alias.name for alias in node.names} & FORBIDDEN_MODULES)
    return isinstance(node, ast.ImportFrom) and node.module in FORBIDDEN_MODULES


def _dotted(node):
    """The name of what is called; empty where it has none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := _dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


def test_torch_load_is_never_called():
    calls = [
        f"{name_of(path)}:{node.lineno}"
        for path in python_files(*PRODUCT)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and _dotted(node.func) == "torch.load"
    ]
    assert calls == []


def test_exemptions_from_types_are_few_and_have_reasons():
    comments = [
        (f"{name_of(path)}:{token.start[0]}", token.string)
        for path in python_files(*CODE)
        for token in _comments(path)
        if "type: ignore" in token.string
    ]
    bare = [
        place for place, text in comments if not re.search(r"type: ignore\[[\w, -]+\].*\w", text)
    ]
    assert bare == []
    assert len(comments) <= MAX_TYPE_IGNORES, comments


def test_lint_exemptions_name_a_rule_and_a_reason():
    bare = [
        f"{name_of(path)}:{token.start[0]} {token.string}"
        for path in python_files(*CODE)
        for token in _comments(path)
        if "noqa" in token.string
        and not re.search(r"noqa: [A-Z]+\d+(, ?[A-Z]+\d+)*\W+\w", token.string)
    ]
    assert bare == []


def test_broad_excepts_that_swallow_stand_in_three_places():
    places = [
        name_of(path)
        for path in python_files(*CODE)
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler) and _swallows_anything(node)
    ]
    assert set(places) <= BROAD_EXCEPTS
    assert len(places) <= len(BROAD_EXCEPTS)


def _swallows_anything(handler):
    """A broad handler that tidies up and raises again hides nothing."""
    broad = handler.type is None or ast.unparse(handler.type) in {"Exception", "BaseException"}
    return broad and not isinstance(handler.body[-1], ast.Raise)


@cache
def _comments(path):
    with path.open("rb") as file:
        return [
            token for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT
        ]
