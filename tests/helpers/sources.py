"""The project's own files, for the tests that read them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("app", "engine", "ui")
CODE = (*PRODUCT, "packaging")
TEXT = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".ts", ".desktop", ".qss", ".svg", ""}
GENERATED = {".git", ".venv", "__pycache__", "build", "dist", "node_modules"}


def python_files(*folders: str) -> list[Path]:
    """All Python files below the folders, in order."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def text_files() -> Iterator[Path]:
    """All text files that belong to the project."""
    for path in sorted(ROOT.rglob("*")):
        inside = path.relative_to(ROOT).parts
        hidden = any(part.startswith(".") and part != ".ci" for part in inside[:-1])
        if hidden or GENERATED & set(inside) or any(p.endswith(".egg-info") for p in inside):
            continue
        if path.is_file() and path.suffix in TEXT:
            yield path


@cache
def tree_of(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(path.read_text("utf-8"))


def name_of(path: Path) -> str:
    """The path inside the project, with slashes."""
    return path.relative_to(ROOT).as_posix()
