"""The plain sentence that follows from what an experiment measured."""

from collections.abc import Callable, Mapping

from app.controllers.experiments.words import label_words
from app.experiments import precision
from app.experiments.catalogue import BY_NAME, Findings
from app.experiments.trials import Reading, Text
from ui.charts.figures import Kind
from ui.charts.quantities import words_of
from ui.i18n import tr

_SAME = 0.05  # a difference of less is none


def sentence_of(name: str, readings: tuple[Reading, ...]) -> str:
    """One or two sentences; empty where too little was measured."""
    found = BY_NAME[name].findings(readings)
    return _SENTENCES[name](found) if found else ""


def _both(first: str, second: str) -> str:
    """Two sentences; between them stands what the language puts there."""
    return tr("{first} {second}", first=first, second=second)


def _ms(found: Findings, name: str) -> str:
    return words_of(Kind.DURATION, found[name])


def _tokens(found: Findings, name: str) -> str:
    return f"{found[name]:,.0f}"


def _factor(value: float) -> str:
    """With as many digits as a repeated run would show again."""
    return f"{value:.2f}" if value < 1.995 else _times(value)


def _times(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def _cache(found: Findings) -> str:
    return tr(
        "{count} tokens took {short} with the cache and {long} without it: {factor} times as long. "
        "Without it, each new token reads everything before it again, so its time grows with the "
        "answer, and the total with the square of its length.",
        count=_tokens(found, "tokens"),
        short=_ms(found, "kept_ms"),
        long=_ms(found, "anew_ms"),
        factor=_times(found["times"]),
    )


def _prompt(found: Findings) -> str:
    return tr(
        "The first token came {short_ms} after a prompt of {short} tokens, and {long_ms} after one "
        "of {long}: each further 1,000 prompt tokens cost about {growth}. Prompts use arithmetic.",
        short=_tokens(found, "short_tokens"),
        short_ms=_ms(found, "short_ms"),
        long=_tokens(found, "long_tokens"),
        long_ms=_ms(found, "long_ms"),
        growth=_ms(found, "growth_ms"),
    )


def _answer(found: Findings) -> str:
    values = {
        "first": _ms(found, "first_ms"),
        "last": _ms(found, "last_ms"),
        "count": _tokens(found, "tokens"),
        "change": f"{100 * abs(found['times'] - 1):.0f}%",
    }
    if abs(found["times"] - 1) < _SAME:
        return tr(
            "Each token took {first} at the beginning and {last} after {count} tokens: at this "
            "length, reading the weights is what takes the time, not the cache.",
            **values,
        )
    if found["times"] < 1:
        return tr(
            "Each token took {first} at the beginning and {last} after {count} tokens. It should "
            "not become faster: something else kept this machine busy. Measure again.",
            **values,
        )
    return tr(
        "Each token took {first} at the beginning and {last} after {count} tokens, {change} more: "
        "each one reads all the weights and a cache that grows. Answers use memory bandwidth.",
        **values,
    )


def _streams(found: Findings) -> str:
    words = tr(
        "{count} answers at once get {all} together in place of {one}, {factor} times as much, and "
        "each waits {all_ms} for a token in place of {one_ms}.",
        count=_tokens(found, "streams"),
        all=words_of(Kind.RATE, found["all_rate"]),
        one=words_of(Kind.RATE, found["one_rate"]),
        factor=_times(found["times"]),
        all_ms=_ms(found, "all_ms"),
        one_ms=_ms(found, "one_ms"),
    )
    if "one_use" not in found:
        return words
    return _both(
        words,
        tr(
            "One answer uses ~{one} of the arithmetic this machine can do, {count} use ~{all}: the "
            "weights are read once for all of them.",
            one=words_of(Kind.SHARE, found["one_use"]),
            all=words_of(Kind.SHARE, found["all_use"]),
            count=_tokens(found, "streams"),
        ),
    )


def _capacity(found: Findings) -> str:
    words = tr(
        "~{short_streams} answers of {short} tokens have room in the cache at once, and "
        "~{long_streams} of {long}: context is not free.",
        short_streams=_tokens(found, "short_streams"),
        short=_tokens(found, "short_tokens"),
        long_streams=_tokens(found, "long_streams"),
        long=_tokens(found, "long_tokens"),
    )
    if "off" not in found:
        return words
    if found["off"] == 0:
        return _both(words, tr("Where it was tried, exactly as many were let in."))
    off = tr(
        "Where it was tried, the number let in differed by at most {n}.", n=f"{found['off']:.0f}"
    )
    return _both(words, off)


def _narrower(found: Findings, kinds: tuple[str, ...], memory: str) -> str:
    narrow, wide = (
        label_words(kinds[int(found[name]) % len(kinds)]) for name in ("narrow", "wide")
    )
    words = tr(
        "{narrow} writes {narrow_rate} and {wide} {wide_rate}: {factor} times as fast.",
        narrow=narrow,
        wide=wide,
        narrow_rate=words_of(Kind.RATE, found["narrow_rate"]),
        wide_rate=words_of(Kind.RATE, found["wide_rate"]),
        factor=_factor(found["times"]),
    )
    words = _both(words, memory)
    if "agreement" not in found:
        return words
    agreement = tr(
        "With {narrow}, {share} of the next tokens are those of full precision.",
        narrow=narrow,
        share=words_of(Kind.SHARE, found["agreement"]),
    )
    return _both(words, agreement)


def _weights(found: Findings) -> str:
    memory = tr(
        "The weights take {narrow_bytes} in place of {wide_bytes}.",
        narrow_bytes=words_of(Kind.BYTES, found["narrow_bytes"]),
        wide_bytes=words_of(Kind.BYTES, found["wide_bytes"]),
    )
    return _narrower(found, precision.WEIGHTS, memory)


def _kv(found: Findings) -> str:
    memory = tr(
        "A token takes {narrow_bytes} of the cache in place of {wide_bytes}.",
        narrow_bytes=words_of(Kind.BYTES, found["narrow_bytes"]),
        wide_bytes=words_of(Kind.BYTES, found["wide_bytes"]),
    )
    return _narrower(found, tuple(k.value for k in precision.CACHES), memory)


def _guessing(found: Findings) -> str:
    parts = [
        tr("{factor} times as fast on {text}", factor=_factor(value), text=label_words(name))
        for name, value in found.items()
    ]
    words = tr("With tokens guessed ahead, answers come {parts}.", parts=", ".join(parts))
    if all(name in found for name in (Text.REPEATING.value, Text.PROSE.value)):
        return _both(words, tr("Text that repeats itself is easy to guess. No answer changes."))
    return words


def _chunks(found: Findings) -> str:
    return tr(
        "With pieces of {small} tokens a running answer waits at most {small_stall} and the prompt "
        "{small_ttft}; with the prompt in one piece it is {large_stall} and {large_ttft}.",
        small=_tokens(found, "small"),
        small_stall=_ms(found, "small_stall_ms"),
        small_ttft=_ms(found, "small_ttft_ms"),
        large_stall=_ms(found, "large_stall_ms"),
        large_ttft=_ms(found, "large_ttft_ms"),
    )


_SENTENCES: Mapping[str, Callable[[Findings], str]] = {
    "cache": _cache,
    "prompt": _prompt,
    "answer": _answer,
    "streams": _streams,
    "capacity": _capacity,
    "weights": _weights,
    "kv": _kv,
    "guessing": _guessing,
    "chunks": _chunks,
}
