"""Where models may lie already: the app's own folder, the hub's cache, folders of other apps."""

import os
from collections.abc import Mapping
from pathlib import Path

# below the home folder; those of them that are there are looked into
_OTHER_APPS = (
    (".lmstudio", "models"),
    (".cache", "lm-studio", "models"),
    (".local", "share", "nomic.ai", "GPT4All"),
    (".cache", "llama.cpp"),
)


def hub_cache(environ: Mapping[str, str] | None = None, home: Path | None = None) -> Path:
    """The folder in which huggingface_hub keeps repositories, by its own rules."""
    variables = os.environ if environ is None else environ
    if named := variables.get("HF_HUB_CACHE"):
        return Path(named).expanduser()
    if named := variables.get("HF_HOME"):
        return Path(named).expanduser() / "hub"
    cache = variables.get("XDG_CACHE_HOME")
    root = Path(cache) if cache else (home or Path.home()) / ".cache"
    return root / "huggingface" / "hub"


def known_places(environ: Mapping[str, str] | None = None, home: Path | None = None) -> list[Path]:
    """The folders of other programs that are there."""
    base = home or Path.home()
    places = [hub_cache(environ, home), *(base.joinpath(*parts) for parts in _OTHER_APPS)]
    return [place for place in places if place.is_dir()]
