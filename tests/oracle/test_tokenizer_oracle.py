"""Our ids against transformers' own reading of the same GGUF file.

transformers cuts SmolLM2's text with GPT-2's pattern alone and leaves out the split at digits
that the model was trained with, so its backend gets that split before the comparison.
"""

import functools
import os
from pathlib import Path

import pytest
import tokenizers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.api import Message
from engine.model.gguf import GgufFile
from engine.text.template import encode_chat, template_from_gguf
from engine.text.tokenizer import Tokenizer, tokenizer_from_gguf

pytestmark = pytest.mark.oracle

TEXTS = [
    "",
    " ",
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog.",
    "I'm sure they'd've said it's OURS, we'll see; don't you think?",
    "你好\uff0c世界\uff01这是一个测试。",
    "日本語のテキストと한국어 텍스트",
    "😀 👩\u200d👩\u200d👧\u200d👦 🇩🇪 emoji: 👍🏽",
    "def f(x):\n\treturn {'a': [1, 2.5e-3], \"b\": x ** 2}  # comment\n",
    'for (int i = 0; i < 10; i++) {\n    printf("%d\\n", i);\n}\n',
    "3.14159 1234567890 0x1F 1,000,000 ½ ² Ⅷ ٣",
    "spaces   and\ttabs\t\tand\n\nnew\r\nlines  \n   \n end   ",
    "   leading and trailing   ",
    "a  1  b   22    c     333",
    "<|im_start|>user\nhi<|im_end|>\n<|endoftext|>",
    "<bos><start_of_turn>user\nhi<end_of_turn>\n<eos>",
    "<table><tr><td>x</td></tr></table>",
    "naïve café Ångström ÀÉÎ e\u0301 combining",
    "Привет, мир! Ελληνικά עברית العربية हिन्दी ไทย",
    "http://example.org/a?b=c&d=%20#frag user@example.org",
    "ALLCAPS camelCase snake_case kebab-case",
    "\u200b\u00a0\ufeff\u2028 odd spaces",
    "\x00\x01\x7f control",
    "\ue000 private \U0010fffd planes \U0001f9ff",
    "a" * 2_000,
    "word " * 500,
]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
MIXED = st.lists(
    st.sampled_from(
        [" ", "  ", "\n", "\t", "1", "23", "a", "The", " the", "'s", "é", "你", "😀", "<|"]
    )
).map("".join)


def ours_of(path: Path) -> Tokenizer:
    with GgufFile.open(path) as file:
        return tokenizer_from_gguf(file.metadata, str(path))


def theirs_of(path: Path):
    from transformers import AutoTokenizer  # noqa: PLC0415 - takes seconds

    return AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, trust_remote_code=False)


@pytest.fixture(scope="module")
def smollm(starter_model: Path):
    theirs = theirs_of(starter_model)
    theirs.backend_tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [
            tokenizers.pre_tokenizers.Digits(individual_digits=True),
            tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    return ours_of(starter_model), theirs


@pytest.fixture(scope="module")
def gemma():
    named = os.environ.get("TOKENTIDE_GEMMA_MODEL", "")
    if not Path(named).is_file():
        pytest.skip("TOKENTIDE_GEMMA_MODEL names no Gemma 3 GGUF file")
    return ours_of(Path(named)), theirs_of(Path(named))


@functools.cache
def single_bytes(tokenizer: Tokenizer) -> set[bytes]:
    return {tokenizer.token_bytes(token_id) for token_id in range(tokenizer.vocab_size)}


def check(ours: Tokenizer, theirs, text: str) -> None:
    expected = theirs.encode(text, add_special_tokens=False)
    assert ours.encode(text, parse_special=True) == expected
    plain = theirs.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert ours.encode(text, parse_special=False) == plain
    # SmolLM2 has no tokens for some control characters and for planes that hold no characters yet
    if {bytes([byte]) for byte in text.encode()} <= single_bytes(ours):
        assert b"".join(map(ours.token_bytes, expected)).decode() == text


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:24])
def test_smollm_texts(smollm, text: str) -> None:
    check(*smollm, text)


@pytest.mark.parametrize("texts", [ANY_TEXT, MIXED], ids=["any", "mixed"])
def test_smollm_random_texts(smollm, texts) -> None:
    @settings(suppress_health_check=[HealthCheck.too_slow])
    @given(texts)
    def compare(text: str) -> None:
        check(*smollm, text)

    compare()


def test_smollm_chat(smollm, starter_model: Path) -> None:
    ours, theirs = smollm
    with GgufFile.open(starter_model) as file:
        template = template_from_gguf(file.metadata, ours)
    messages = [
        Message("system", "Be brief."),
        Message("user", "What is 12 x 34?"),
        Message("assistant", "408."),
        Message("user", "谢谢 😀"),
    ]
    dicts = [{"role": m.role, "content": m.content} for m in messages]
    for count in range(1, len(messages) + 1):
        is_begun = messages[count - 1].role == "assistant"
        expected = theirs.apply_chat_template(
            dicts[:count],
            add_generation_prompt=not is_begun,
            continue_final_message=is_begun,
            return_dict=False,
        )
        assert encode_chat(ours, template, messages[:count]) == list(expected)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: ascii(text)[:24])
def test_gemma_texts(gemma, text: str) -> None:
    check(*gemma, text)


@pytest.mark.parametrize("texts", [ANY_TEXT, MIXED], ids=["any", "mixed"])
def test_gemma_random_texts(gemma, texts) -> None:
    @settings(suppress_health_check=[HealthCheck.too_slow])
    @given(texts)
    def compare(text: str) -> None:
        check(*gemma, text)

    compare()
