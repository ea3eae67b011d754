"""Find the model a plan is about: a GGUF file, a folder, a configuration, or a shipped name.

Shipped configurations lie in resources/models, one JSON file each: ``config`` has the fields of
a published config.json, ``public_parameters`` and ``public_active_parameters`` what its makers
say of its size, ``title`` its name for people.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.errors import ModelMissingError, ModelUnsupportedError
from engine.model.config import corrupt
from engine.model.footprint.blueprint import Blueprint
from engine.model.wrapped_text import text_values
from engine.planner.deepseek import (
    COMPRESSED_TYPES,
    LATENT_TYPES,
    read_compressed,
    read_latent,
)
from engine.planner.families import estimate_note, read_family
from engine.planner.gguf_header import read_gguf
from engine.planner.header import HeaderFields, read_config_json
from engine.planner.prequantized import keep_groups

SHIPPED = Path(__file__).resolve().parents[2] / "resources" / "models"
_WEIGHTS = "*.safetensors"


def shipped_names() -> list[str]:
    """Names a plan can be made for without any file, sorted."""
    return sorted(path.stem for path in SHIPPED.glob("*.json"))


def find_blueprint(model: str | Path) -> Blueprint:
    """Read what ``model`` names; nothing but headers and configurations is opened.

    A path that exists wins over a shipped name.

    Raises:
        ModelMissingError: no such file, folder or name.
        ModelCorruptError, ModelUnsupportedError: what is there cannot be planned for.
    """
    text = str(model)
    path = Path(model).expanduser()
    if not _exists(path):
        return _shipped(text)
    if path.is_dir():
        return _from_folder(path)
    match path.suffix.lower():
        case ".json":
            return read_config(read_config_json(path), path.resolve().parent.name, str(path))
        case ".safetensors":
            return _from_folder(path.parent)
        case ".gguf":
            return _from_gguf(path)
        case _ if _begins_as_gguf(path):  # stores such as Ollama's name files by their content
            return _from_gguf(path)
        case _:
            raise ModelUnsupportedError(
                f"{path.name} is not something a plan can be made for. Choose a .gguf file, a "
                "folder with config.json, or a name such as llama-3.1-8b.",
                path=text,
                feature=path.suffix or "no suffix",
            )


def read_config(values: Mapping[str, Any], name: str, path: str) -> Blueprint:
    """The blueprint of a configuration's fields; of its language part where it has several.

    Raises ModelCorruptError or ModelUnsupportedError naming ``path``.
    """
    return _read(_text_fields(values, path), name)


def _text_fields(values: Mapping[str, Any], path: str) -> HeaderFields:
    """The fields of the language part, the folder's quantisation with them."""
    if not isinstance(values.get("text_config"), dict):
        return HeaderFields(values, path)
    packed = values.get("quantization_config")
    return HeaderFields({"quantization_config": packed, **text_values(values)}, path)


def _read(fields: HeaderFields, name: str) -> Blueprint:
    return keep_groups(_read_plain(fields, name), fields)


def _read_plain(fields: HeaderFields, name: str) -> Blueprint:
    model_type = fields.text("model_type")
    if model_type in LATENT_TYPES:
        return read_latent(fields, name)
    if model_type in COMPRESSED_TYPES:
        return read_compressed(fields, name)
    return read_family(fields, name)


def _begins_as_gguf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"GGUF"
    except OSError:
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, or a NUL in it
        return False


def _from_folder(folder: Path) -> Blueprint:
    config = folder / "config.json"
    if config.is_file():
        if any(folder.glob(_WEIGHTS)):
            return _from_weights(folder)
        return read_config(read_config_json(config), folder.resolve().name, str(config))
    files = sorted(folder.glob("*.gguf"))
    if len(files) == 1:
        return _from_gguf(files[0])
    raise ModelMissingError(f"There is no config.json in {folder}.", path=str(folder))


def _from_gguf(path: Path) -> Blueprint:
    """The tensors as the loader would read them, or by the header of a file it would refuse."""
    from engine.model.footprint.checkpoint import (  # noqa: PLC0415 - imports torch
        blueprint_of,
    )
    from engine.model.gguf_source import GgufSource  # noqa: PLC0415 - imports torch

    try:
        with closing(GgufSource.open(path)) as source:
            return blueprint_of(source)
    except ModelUnsupportedError:
        blueprint = read_gguf(path)
        return replace(blueprint, notes=(estimate_note(blueprint.model_type),))


def _from_weights(folder: Path) -> Blueprint:
    """As ``_from_gguf``, for a folder of safetensors files."""
    from engine.model.footprint.checkpoint import (  # noqa: PLC0415 - imports torch
        blueprint_of,
    )
    from engine.model.hf_source import HfSource  # noqa: PLC0415 - imports torch
    from engine.planner.unknown import read_unknown_folder  # noqa: PLC0415 - imports torch

    try:
        with closing(HfSource.open(folder)) as source:
            return blueprint_of(source)
    except ModelUnsupportedError:
        config = folder / "config.json"
        fields = _text_fields(read_config_json(config), str(config))
        return read_unknown_folder(folder, fields)


def _shipped(name: str) -> Blueprint:
    path = SHIPPED / f"{name}.json"
    if name not in shipped_names():
        raise ModelMissingError(
            f"There is no model at {name[:200]}, and no configuration of that name. Names are: "
            f"{', '.join(shipped_names())}.",
            path=name[:200],
        )
    card = read_config_json(path)
    config = card.get("config")
    if not isinstance(config, dict):
        raise corrupt(str(path), "it has no config")
    return read_config(config, name, str(path))
