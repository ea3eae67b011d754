"""Where models may lie already: the hub's cache, and the folders of other programs.

Knows each program's own rules for each system, as far as they are public. Looks whether a folder
is there and into no folder.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MAC, WINDOWS = "darwin", "win32"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of another program. ``program``: its name, for people."""

    path: Path
    program: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the rules depend on: the variables, the user's folder and ``sys.platform``."""

    variables: Mapping[str, str]
    home: Path
    platform: str

    @classmethod
    def here(
        cls,
        variables: Mapping[str, str] | None = None,
        home: Path | None = None,
        platform: str | None = None,
    ) -> "Surroundings":
        """Those of this process, save what is given."""
        return cls(
            os.environ if variables is None else variables,
            home or Path.home(),
            platform or sys.platform,
        )

    def named(self, variable: str) -> Path | None:
        """The folder a variable names; None where it is not set or empty."""
        value = self.variables.get(variable)
        return Path(value).expanduser() if value else None

    @property
    def cache(self) -> Path:
        """Where programs that follow the system keep what they can fetch again."""
        match self.platform:
            case "win32":
                return self.named("LOCALAPPDATA") or self.home / "AppData" / "Local"
            case "darwin":
                return self.home / "Library" / "Caches"
            case _:
                return self.named("XDG_CACHE_HOME") or self.home / ".cache"

    @property
    def roaming(self) -> Path:
        """Where programs that follow the system keep what is the user's."""
        match self.platform:
            case "win32":
                return self.named("APPDATA") or self.home / "AppData" / "Roaming"
            case "darwin":
                return self.home / "Library" / "Application Support"
            case _:
                return self.named("XDG_DATA_HOME") or self.home / ".local" / "share"

    @property
    def local(self) -> Path:
        """The same, for what does not follow the user to other computers."""
        return self.cache if self.platform == WINDOWS else self.roaming


def hub_cache(around: Surroundings) -> Path:
    """The folder in which huggingface_hub keeps repositories, by its own rules."""
    if named := around.named("HF_HUB_CACHE"):
        return named
    if named := around.named("HF_HOME"):
        return named / "hub"
    root = around.named("XDG_CACHE_HOME") or around.home / ".cache"
    return root / "huggingface" / "hub"


def known_places(around: Surroundings | None = None) -> list[Place]:
    """The folders of other programs that are there, each once."""
    here = around or Surroundings.here()
    places: dict[Path, Place] = {}
    for path, program in _rules(here):
        if _is_folder(path):
            places.setdefault(path, Place(path, program))
    return list(places.values())


def _rules(here: Surroundings) -> Iterator[tuple[Path, str]]:
    yield hub_cache(here), "Hugging Face"
    yield _lm_studio_home(here) / "models", "LM Studio"
    yield here.home / ".cache" / "lm-studio" / "models", "LM Studio"
    jan = here.roaming / "Jan" / "data"
    for path in (jan / "llamacpp" / "models", jan / "models", here.home / "jan" / "models"):
        yield path, "Jan"
    yield here.local / "nomic.ai" / "GPT4All", "GPT4All"
    yield here.named("OLLAMA_MODELS") or here.home / ".ollama" / "models", "Ollama"
    if here.platform not in {MAC, WINDOWS}:  # where the service that Linux installs keeps them
        yield Path("/usr/share/ollama/.ollama/models"), "Ollama"
    for folder in ("text-generation-webui", "textgen"):
        yield here.home / folder / "user_data" / "models", "text-generation-webui"
        yield here.home / folder / "models", "text-generation-webui"
    yield here.named("LLAMA_CACHE") or here.cache / "llama.cpp", "llama.cpp"


def _lm_studio_home(here: Surroundings) -> Path:
    """Its folder; a small file in the user's folder tells where it was moved to."""
    try:
        told = (here.home / ".lmstudio-home-pointer").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        told = ""
    return Path(told) if told and "\0" not in told else here.home / ".lmstudio"


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a folder above it that may not be entered
        return False
