"""Find the model a plan is about: a GGUF file, a folder, a configuration, or a shipped name.

Shipped configurations lie in resources/models, one JSON file each: ``config`` has the fields of
a published config.json, ``public_parameters`` and ``public_active_parameters`` what its makers
say of its size, ``title`` its name for people.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.errors import ModelMissingError, ModelUnsupportedError
from engine.model.config import corrupt
from engine.planner.blueprint import Blueprint
from engine.planner.deepseek import (
    COMPRESSED_TYPES,
    LATENT_TYPES,
    read_compressed,
    read_latent,
)
from engine.planner.families import read_family
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
            return read_gguf(path)
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
    inner = values.get("text_config")
    if isinstance(inner, dict):
        packed = values.get("quantization_config")
        values = {
            "quantization_config": packed,
            **inner,
            "model_type": inner.get("model_type", values.get("model_type")),
        }
    fields = HeaderFields(values, path)
    return keep_groups(_read_plain(fields, name), fields)


def _read_plain(fields: HeaderFields, name: str) -> Blueprint:
    model_type = fields.text("model_type")
    if model_type in LATENT_TYPES:
        return read_latent(fields, name)
    if model_type in COMPRESSED_TYPES:
        return read_compressed(fields, name)
    return read_family(fields, name)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long, or a NUL in it
        return False


def _from_folder(folder: Path) -> Blueprint:
    config = folder / "config.json"
    if config.is_file():
        blueprint = read_config(read_config_json(config), folder.resolve().name, str(config))
        return replace(blueprint, is_from_weights=any(folder.glob(_WEIGHTS)))
    files = sorted(folder.glob("*.gguf"))
    if len(files) == 1:
        return read_gguf(files[0])
    raise ModelMissingError(f"There is no config.json in {folder}.", path=str(folder))


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
