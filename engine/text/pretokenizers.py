r"""How text is cut into words before byte-pair merging, by the name in ``tokenizer.ggml.pre``.

Merges were learned inside such words, so a wrong cut gives other ids than the model was trained
on. Knows only the public split patterns; an unlisted name has no entry, and the caller refuses
the file rather than guess.

Each step of a ``Split`` cuts every word of the step before: matches and what lies between them
become words of their own.
"""

from dataclasses import dataclass

from tokenizers import Regex, normalizers, pre_tokenizers


@dataclass(frozen=True, slots=True)
class Split:
    """One family's way of cutting.

    ``ignore_merges``: a word that is a token as a whole is taken without merging.
    ``nfc``: text is composed (Unicode NFC) first.
    ``adds_bos``: the family starts texts with BOS when the file does not say.
    """

    patterns: tuple[str, ...]
    ignore_merges: bool = False
    nfc: bool = False
    adds_bos: bool = False

    def pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        """The cutter: all patterns in order, then bytes to the printable byte alphabet."""
        steps: list[pre_tokenizers.PreTokenizer] = [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in self.patterns
        ]
        steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
        return pre_tokenizers.Sequence(steps)

    def normalizer(self) -> normalizers.Normalizer | None:
        """Unicode composition where the family asks for it."""
        return normalizers.NFC() if self.nfc else None


_ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_DIGIT = r"\p{N}"
_KANA_AND_HAN = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"

_GPT2_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def _modern_words(digits: str, letters: str = r"\p{L}", others: str = r"[^\s\p{L}\p{N}]") -> str:
    """The pattern Llama 3 and Qwen 2 share; they differ in how digits are grouped."""
    return rf"{_ENDINGS}|[^\r\n\p{{L}}\p{{N}}]?{letters}+|{digits}| ?{others}+[\r\n]*|{_SPACES}"


def _cased_words(digits: str, endings: str = "") -> str:
    """The pattern of Tekken and GPT-4o: a capital starts a new word inside camelCase."""
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    lead = r"[^\r\n\p{L}\p{N}]?"
    return (
        rf"{lead}{upper}*{lower}+{endings}|{lead}{upper}+{lower}*{endings}"
        rf"|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}"
    )


# Alphabets with upper and lower case, as DeepSeek's first models list them.
_DEEPSEEK_LETTERS = (
    "A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293"
    "\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c"
    "\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5"
    "\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59"
    "\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc"
    "\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107"
    "\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
    "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee"
    "\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e"
    "\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a\U00010400-\U0001044f"
    "\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2"
    "\U000118a0-\U000118df\U0001e900-\U0001e943"
)
_DEEPSEEK_HAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"
_DEEPSEEK3_WORDS = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_SPACES}"
)

_BLOOM_WORDS = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"

_GPT2 = Split((_GPT2_WORDS,))
_BLOOM = Split((_BLOOM_WORDS,))
_SINGLE_DIGITS = Split((_DIGIT, _GPT2_WORDS))
_LLAMA3 = Split((_modern_words(r"\p{N}{1,3}"),), ignore_merges=True, adds_bos=True)
_QWEN2 = Split((_modern_words(_DIGIT),), nfc=True)
_GPT4O = Split((_cased_words(r"\p{N}{1,3}", f"{_ENDINGS}?"),), ignore_merges=True)

SPLITS: dict[str, Split] = {
    "gpt-2": _GPT2,
    "phi-2": _GPT2,
    "olmo": _GPT2,
    "mpt": _GPT2,
    "jais": _GPT2,
    "falcon": Split((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2_WORDS, "[0-9][0-9][0-9]")),
    "bloom": _BLOOM,
    "poro-chat": _BLOOM,
    "gpt3-finnish": _BLOOM,
    "viking": Split((_BLOOM_WORDS, _DIGIT)),
    "smollm": _SINGLE_DIGITS,
    "starcoder": _SINGLE_DIGITS,
    "refact": _SINGLE_DIGITS,
    "codeshell": _SINGLE_DIGITS,
    "command-r": _SINGLE_DIGITS,
    "exaone": _SINGLE_DIGITS,
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "llama-bpe": _LLAMA3,
    "falcon3": _LLAMA3,
    "pixtral": _LLAMA3,
    "lfm2": _LLAMA3,
    "smaug-bpe": Split(_LLAMA3.patterns),
    "dbrx": Split(_LLAMA3.patterns),
    "qwen2": _QWEN2,
    "deepseek-r1-qwen": Split(_QWEN2.patterns),
    "stablelm2": Split(_QWEN2.patterns),
    "qwen35": Split(
        (_modern_words(_DIGIT, r"[\p{L}\p{M}]", r"[^\s\p{L}\p{M}\p{N}]"),),
        nfc=True,
    ),
    "tekken": Split((_cased_words(_DIGIT),), ignore_merges=True, adds_bos=True),
    "gpt-4o": _GPT4O,
    "llama4": _GPT4O,
    "deepseek-llm": Split(
        (
            r"[\r\n]",
            rf"\s?[{_DEEPSEEK_LETTERS}]+",
            "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
            r"\s+$",
            _DEEPSEEK_HAN,
            r"\p{N}+",
        ),
        adds_bos=True,
    ),
    "deepseek-coder": Split(
        (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _DEEPSEEK_HAN, _DIGIT),
        adds_bos=True,
    ),
    "deepseek-v3": Split((r"\p{N}{1,3}", _KANA_AND_HAN, _DEEPSEEK3_WORDS), adds_bos=True),
}
