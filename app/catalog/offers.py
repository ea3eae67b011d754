"""What of a repository can be chosen: each model with all of its files, judged by its size.

A GGUF file (or all parts of a split one) is an offer; the safetensors files with what belongs to
them are one. Which one suits this machine best is decided here; whether an offer fits is not.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from app.catalog.names import bits_of, quant_of, split_of
from app.catalog.remote import RemoteFile, RemoteRepository
from engine.api import Fit, Precision, PrecisionFit

# what a folder needs beside its weights
_BESIDE = (".json", ".jinja", ".model", "readme.md", "license", "license.txt", "license.md")
_MAX_BESIDE_BYTES = 100 << 20
# four bits are where this engine is fastest; of those that fit, the first of these
_LIKED = (
    *("Q4_K_M", "Q4_K_S", "IQ4_XS", "IQ4_NL", "Q4_1", "Q4_0", "MXFP4"),
    *("Q5_K_M", "Q5_K_S", "Q6_K", "Q8_0", "Q3_K_M", "Q3_K_S", "Q2_K"),
)


@dataclass(frozen=True, slots=True)
class Offer:
    """One model of a repository. ``quant``: as its name tells, empty for safetensors.

    ``fit`` is an estimate from the size, None before it was made.
    """

    title: str
    files: tuple[RemoteFile, ...]
    quant: str = ""
    fit: PrecisionFit | None = None
    is_recommended: bool = False
    problem: str = ""

    @property
    def num_bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.num_bytes for file in self.files)

    @property
    def num_parameters(self) -> int:
        """About how many parameters files of that size hold."""
        weights = sum(f.num_bytes for f in self.files if _is_weights(f.name))
        return int(weights * 8 / bits_of(self.quant))

    @property
    def precision(self) -> Precision:
        """How the engine would keep it: INT4 for 4-bit files, else INT8."""
        return Precision.INT4 if 4 <= bits_of(self.quant) < 5 else Precision.INT8


def offers_of(repository: RemoteRepository) -> list[Offer]:
    """The models of a repository, the smallest first."""
    offers = [*_gguf_offers(repository.files), *_folder_offers(repository)]
    return sorted(offers, key=_size_of)


def judged(
    offers: Iterable[Offer], judge: Callable[[int, Precision], PrecisionFit]
) -> list[Offer]:
    """The offers with their fit, and one of those that fit recommended."""
    lines = [replace(o, fit=judge(o.num_parameters, o.precision)) for o in offers]
    fitting = [o for o in lines if o.fit is not None and o.fit.fit is Fit.FITS]
    if not fitting:
        return lines
    best = min(fitting, key=_liking)
    return [replace(o, is_recommended=o is best) for o in lines]


def _size_of(offer: Offer) -> int:
    return offer.num_bytes


def _liking(offer: Offer) -> tuple[int, int]:
    plain = offer.quant.removeprefix("UD-").removeprefix("UD_")
    place = _LIKED.index(plain) if plain in _LIKED else len(_LIKED)
    return place, offer.num_bytes


def _is_weights(name: str) -> bool:
    return name.lower().endswith((".gguf", ".safetensors"))


def _gguf_offers(files: Iterable[RemoteFile]) -> list[Offer]:
    groups: dict[tuple[str, int], list[RemoteFile]] = {}
    for file in files:
        base = file.name.rpartition("/")[2].lower()
        if base.endswith(".gguf") and not base.startswith("mmproj"):
            part = split_of(file.name)
            folder = file.name.rpartition("/")[0]
            key = (file.name, 0) if part is None else (f"{folder}/{part[0]}", part[2])
            groups.setdefault(key, []).append(file)
    return [
        Offer(name.strip("/").removesuffix(".gguf"), tuple(members), quant_of(name))
        for (name, count), members in groups.items()
        if count in {0, len(members)}  # a split model with a part missing is no offer
    ]


def _folder_offers(repository: RemoteRepository) -> list[Offer]:
    top = [file for file in repository.files if "/" not in file.name]
    weights = [file for file in top if file.name.endswith(".safetensors")]
    if not weights or not any(file.name == "config.json" for file in top):
        return []
    if any(file.name == "model.safetensors.index.json" for file in top):
        sharded = [file for file in weights if "-of-" in file.name]
        weights = sharded or weights
    else:
        weights = [file for file in weights if file.name == "model.safetensors"] or weights
    beside = [
        file
        for file in top
        if file.name.lower().endswith(_BESIDE) and file.num_bytes < _MAX_BESIDE_BYTES
    ]
    return [Offer(repository.name.rpartition("/")[2], (*beside, *weights))]
