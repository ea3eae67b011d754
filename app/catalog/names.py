"""Names from elsewhere: which may become files here, and what they say of a model.

A repository is a stranger's: its file names are checked as if they meant harm.
"""

import re
import unicodedata
from pathlib import Path, PurePosixPath

from app.catalog.errors import InvalidRepositoryError, unsafe_name

_REPOSITORY = re.compile(r"[\w][\w.-]{0,95}/[\w][\w.-]{0,95}", re.ASCII)
_SPLIT = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_QUANT = re.compile(
    r"(?:^|[-._])((?:UD[-_])?(?:I?Q\d(?:_[0-9A-Z]+)*|BF16|FP?16|FP?32|MXFP4))(?=[-._]|$)",
    re.IGNORECASE,
)
_FORBIDDEN = frozenset('<>:"|?*\\')
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
)
_MAX_PART = 200
# bits a weight of a file, scales included; the name's first part that is listed counts
_BITS = {"Q2": 3.0, "Q3": 3.8, "Q4": 4.8, "Q5": 5.6, "Q6": 6.6, "Q8": 8.5, "IQ1": 1.9, "IQ2": 2.6}
_BITS |= {"IQ3": 3.5, "IQ4": 4.4, "BF16": 16, "F16": 16, "FP16": 16, "F32": 32, "FP32": 32}
_BITS |= {"MXFP4": 4.4}


def check_repository(text: str) -> str:
    """The owner/name in what a person typed or pasted; an address's path counts too.

    Raises InvalidRepositoryError.
    """
    name = text.strip().strip("/")
    if "://" in name:
        name = "/".join(name.partition("://")[2].split("/")[1:3])
    if _REPOSITORY.fullmatch(name) is None or ".." in name or name.endswith(".git"):
        shown = text.strip()[:80]
        raise InvalidRepositoryError(
            f"“{shown}” is not a repository. Write owner/name, as on the hub's page.", name=shown
        )
    return name


def safe_parts(name: str) -> tuple[str, ...]:
    """The parts of a relative path that every system can keep. Raises UnsafeNameError."""
    parts = tuple(name.split("/"))
    if len(parts) > 8 or not all(_is_safe(part) for part in parts):
        raise unsafe_name(name)
    return parts


def place_in(folder: Path, name: str) -> Path:
    """Where ``name`` goes below ``folder``; never outside, through links neither.

    Raises UnsafeNameError.
    """
    place = folder.joinpath(*safe_parts(name))
    if not place.resolve().is_relative_to(folder.resolve()):
        raise unsafe_name(name)
    return place


def split_of(name: str) -> tuple[str, int, int] | None:
    """Stem, number (from 1) and count of one file of a split GGUF; None for any other name."""
    match = _SPLIT.fullmatch(PurePosixPath(name).name)
    if match is None or int(match["count"]) < 2:
        return None
    return match["stem"], int(match["number"]), int(match["count"])


def quant_of(name: str) -> str:
    """The quantisation a GGUF file's name tells ("Q4_K_M"); an empty string where it does not."""
    found = _QUANT.findall(PurePosixPath(name).name.removesuffix(".gguf"))
    return found[-1].upper() if found else ""


def bits_of(quant: str) -> float:
    """About how many bits a weight has in files of that kind; 16 where it is not known."""
    plain = quant.removeprefix("UD-").removeprefix("UD_")
    return _BITS.get(plain, _BITS.get(plain.partition("_")[0], 16.0))


def _is_safe(part: str) -> bool:
    return (
        0 < len(part) <= _MAX_PART
        and part not in {".", ".."}
        and not part.endswith((".", " "))
        and not part.startswith(" ")
        and not _FORBIDDEN & set(part)
        and part.partition(".")[0].lower() not in _RESERVED
        and all(unicodedata.category(letter)[0] != "C" for letter in part)
    )
