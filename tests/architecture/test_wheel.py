"""What the program reads at run time goes into its wheel."""

from pathlib import Path

from setuptools import Distribution

ROOT = Path(__file__).resolve().parents[2]
# pictures for the README, and what translations are made from
LEFT_BEHIND = {"screenshots", ".ts"}


def packed_files(monkeypatch) -> set[str]:
    """The files that a wheel holds beside modules, by their place in the tree."""
    monkeypatch.chdir(ROOT)
    distribution = Distribution()
    distribution.parse_config_files(["pyproject.toml"])
    distribution.script_name = "setup.py"
    distribution.set_defaults()
    command = distribution.get_command_obj("build_py")
    command.ensure_finalized()
    return {
        Path(folder, name).as_posix()
        for _package, folder, _build, names in command.data_files
        for name in names
    }


def test_every_resource_is_packed(monkeypatch):
    packed = packed_files(monkeypatch)
    for path in (ROOT / "resources").rglob("*"):
        place = path.relative_to(ROOT)
        if path.is_dir() or LEFT_BEHIND & {*place.parts, path.suffix}:
            continue
        assert place.as_posix() in packed
