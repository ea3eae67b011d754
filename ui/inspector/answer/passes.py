"""A profile of the model as what is drawn of it: by part, and by layer. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.api.profile import LayerTime, Part, PassProfile
from ui.charts.figures import Table
from ui.i18n import mark, tr
from ui.inspector.answer.lanes import exact_ms, share_words, shares

# what is drawn alike; as many as there are strokes
_GROUPS: tuple[tuple[str, tuple[Part, ...]], ...] = (
    (mark("FFN"), (Part.FFN,)),
    (mark("attention's products"), (Part.QKV, Part.OUTPUT)),
    (mark("attention"), (Part.ROTARY, Part.ATTENTION)),
    (mark("norms"), (Part.NORM,)),
    (mark("head"), (Part.EMBED, Part.HEAD)),
    (mark("sampling, other"), (Part.SAMPLING, Part.OTHER)),
)
_GROUP_OF = {part: number for number, (_name, parts) in enumerate(_GROUPS) for part in parts}


@dataclass(frozen=True, slots=True)
class Pass:
    """One kind of pass: ns of each group in all, and of each layer by group.

    ``heading`` has room above a narrow drawing, where ``title`` would be cut.
    """

    title: str
    total_ns: int
    groups: tuple[int, ...]
    layers: tuple[tuple[int, ...], ...]
    heading: str = ""

    def sentence(self) -> str:
        """What the drawing shows."""
        if not self.total_ns:
            return self.title
        names = group_names()
        largest = max(range(len(names)), key=self.groups.__getitem__)
        share = f"{100 * self.groups[largest] / self.total_ns:.0f}%"
        return tr(
            "{title}, {share} of it {name}.", title=self.title, name=names[largest], share=share
        )


def group_names() -> list[str]:
    """What the groups are called."""
    return [tr(name) for name, _parts in _GROUPS]


def decode_pass(profile: PassProfile) -> Pass:
    """One decoded token."""
    title = tr(
        "A token with {n} before it: {ms} ms",
        n=f"{profile.context:,}",
        ms=exact_ms(profile.decode_ns),
    )
    heading = tr("One token: {ms} ms", ms=exact_ms(profile.decode_ns))
    return replace(_pass_of(title, profile.decode), heading=heading)


def prefill_pass(profile: PassProfile) -> Pass:
    """The whole prompt."""
    title = tr(
        "A prompt of {n} tokens: {ms} ms",
        n=f"{profile.prompt_tokens:,}",
        ms=exact_ms(profile.prefill_ns),
    )
    heading = tr("The prompt: {ms} ms", ms=exact_ms(profile.prefill_ns))
    return replace(_pass_of(title, profile.prefill), heading=heading)


def _pass_of(title: str, times: Sequence[LayerTime]) -> Pass:
    groups = [0] * len(_GROUPS)
    num_layers = max((time.layer for time in times if time.layer is not None), default=-1) + 1
    layers = [[0] * len(_GROUPS) for _layer in range(num_layers)]
    for time in times:
        group = _GROUP_OF[time.part]
        groups[group] += time.nanoseconds
        if time.layer is not None:
            layers[time.layer][group] += time.nanoseconds
    whole = sum(groups)
    return Pass(title, whole, tuple(groups), tuple(tuple(layer) for layer in layers))


def parts_table(profile: PassProfile) -> Table:
    """Every part with its time and share in both passes; the shares add up."""
    decode, prefill = _by_part(profile.decode), _by_part(profile.prefill)
    columns = [decode, shares(decode), prefill, shares(prefill)]
    rows = [
        (
            part_words(part),
            exact_ms(one),
            share_words(one_share),
            exact_ms(all_),
            share_words(share),
        )
        for part, one, one_share, all_, share in zip(Part, *columns, strict=True)
        if one or all_
    ]
    totals = (
        exact_ms(profile.decode_ns),
        share_words(1_000),
        exact_ms(profile.prefill_ns),
        share_words(1_000),
    )
    rows.append((tr("all"), *totals))
    headings = (tr("Part, in ms"), tr("token"), "%", tr("prompt"), "%")
    return Table(headings, tuple(rows), tuple(rows))


def part_words(part: Part) -> str:
    """A part's name."""
    words = {
        Part.NORM: tr("norms"),
        Part.QKV: tr("Q, K and V"),
        Part.ROTARY: tr("rotation, cache"),
        Part.ATTENTION: tr("attention"),
        Part.OUTPUT: tr("output product"),
        Part.FFN: tr("FFN"),
        Part.EMBED: tr("embedding"),
        Part.HEAD: tr("head"),
        Part.SAMPLING: tr("sampling"),
        Part.OTHER: tr("other"),
    }
    return words[part]


def _by_part(times: Sequence[LayerTime]) -> list[int]:
    """The time of each part, in their order."""
    found = dict.fromkeys(Part, 0)
    for time in times:
        found[time.part] += time.nanoseconds
    return list(found.values())
