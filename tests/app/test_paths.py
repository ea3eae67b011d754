"""Where files go."""

from pathlib import Path

from app.paths import STARTER_MODEL, app_paths, resources_folder


def test_home_holds_everything(tmp_path):
    paths = app_paths(tmp_path)
    for place in (paths.data, paths.config, paths.cache, paths.logs, paths.settings):
        assert place.is_relative_to(tmp_path)
    assert paths.starter_model == tmp_path / "models" / STARTER_MODEL


def test_environment_names_the_home(tmp_path):
    assert app_paths(None, {"TOKENTIDE_HOME": str(tmp_path)}).data == tmp_path


def test_home_argument_wins_over_the_environment(tmp_path):
    assert app_paths(tmp_path / "a", {"TOKENTIDE_HOME": "/elsewhere"}).data == tmp_path / "a"


def test_platform_folders_without_a_home():
    paths = app_paths(None, {})
    assert "tokentide" in str(paths.data)
    assert paths.database.parent == paths.data


def test_create_makes_the_folders(tmp_path):
    paths = app_paths(tmp_path / "ümlaut 中文")
    paths.create()
    assert paths.models.is_dir()
    assert paths.config.is_dir()


def test_resources_lie_beside_the_source(monkeypatch):
    assert (resources_folder() / "style.qss").is_file()
    monkeypatch.setattr("sys._MEIPASS", "/frozen", raising=False)
    assert resources_folder() == Path("/frozen/resources")
