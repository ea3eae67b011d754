"""A growing and changing chat is encoded alike with the memo and without."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.api import Message
from engine.text.hf_folder import tokenizer_from_folder
from engine.text.memo import StretchMemo
from engine.text.template import ChatTemplate, encode_chat
from engine.text.tokenizer import Tokenizer, tokenizer_from_gguf
from tests.helpers.sentencepiece_models import PIECES
from tests.helpers.tiny_tokenizers import byte_level_metadata, sentencepiece_metadata

TEMPLATES = {
    "marked": (
        "{% for m in messages %}<s>{{ m['role'] }}\n{{ m['content'] }}</s>\n{% endfor %}"
        "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
    ),
    "trimmed": (
        "<s>{% for m in messages %}[{{ m['role'] }}] {{ m['content'] | trim }}</s>{% endfor %}"
    ),
    "unmarked": "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}",
}
KINDS = ("bytes", "sentencepiece", "prefix once", "unigram", "wordpiece", "metaspace first")
SPECIAL = [{"id": i, "content": c, "special": True, "single_word": False, "lstrip": False,
            "rstrip": i == 2, "normalized": False} for i, c in ((1, "<s>"), (2, "</s>"))]  # fmt: skip


def _folder(spec: dict[str, object]) -> Tokenizer:
    whole = {"version": "1.0", "post_processor": None, "added_tokens": SPECIAL, **spec}
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "tokenizer.json").write_text(json.dumps(whole), encoding="utf-8")
        return tokenizer_from_folder(name)


def _wordpiece() -> Tokenizer:
    words = ["[UNK]", "<s>", "</s>", "hello", "##lo", "he", "##l", "a", "##a", "user", "user :"]
    return _folder(
        {
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "strip_accents": None,
                           "handle_chinese_chars": True, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 100,
                      "continuing_subword_prefix": "##",
                      "vocab": {word: number for number, word in enumerate(words)}},
        }
    )  # fmt: skip


def _metaspace() -> Tokenizer:
    pieces = ["<unk>", "<s>", "</s>", "▁", "h", "e", "he", "▁he", "l", "o"]
    return _folder(
        {
            "normalizer": None,
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁",
                              "prepend_scheme": "first", "split": False},
            "decoder": None,
            "model": {"type": "BPE", "vocab": {p: n for n, p in enumerate(pieces)},
                      "merges": ["h e", "▁ he"], "unk_token": "<unk>"},
        }
    )  # fmt: skip


def _tokenizer(kind: str) -> Tokenizer:
    if kind == "bytes":
        metadata = byte_level_metadata()
        tokens = metadata["tokenizer.ggml.tokens"]
        return tokenizer_from_gguf(
            metadata
            | {
                "tokenizer.ggml.tokens": [*tokens, "<s>", "</s>"],
                "tokenizer.ggml.token_type": [*metadata["tokenizer.ggml.token_type"], 3, 3],
            }
        )
    if kind == "unigram":
        names = ("tokens", "scores", "token_type")
        columns = zip(*PIECES, strict=True)
        return tokenizer_from_gguf(
            {f"tokenizer.ggml.{n}": list(c) for n, c in zip(names, columns, strict=True)}
            | {"tokenizer.ggml.model": "t5", "tokenizer.ggml.remove_extra_whitespaces": True}
        )
    if kind == "wordpiece":
        return _wordpiece()
    if kind == "metaspace first":
        return _metaspace()
    return tokenizer_from_gguf(sentencepiece_metadata(), prefix_once=kind == "prefix once")


TOKENIZERS = {kind: (_tokenizer(kind), _tokenizer(kind)) for kind in KINDS}
for _with, without in TOKENIZERS.values():
    without._memo = StretchMemo(0)

WORDS = st.lists(
    st.one_of(
        st.sampled_from(
            ["hello", " ", "  ", "\n", "<s>", "</s>", "<", "s>", "</", "he", "ab", "user", "é",
             "e\u0301", "\u2581", "界", "😀", "\ud83d", "\ufdd0", "<think>", "<0x41>", ":", ""]
        ),
        st.text(max_size=4),
    ),
    max_size=6,
).map("".join)  # fmt: skip
ROLES = st.sampled_from(["system", "user", "assistant"])


class Chat(RuleBasedStateMachine):
    """Messages come, change and go; after each step both tokenizers say the same."""

    @initialize(
        kind=st.sampled_from(KINDS),
        template=st.sampled_from(sorted(TEMPLATES)),
        room=st.sampled_from([1 << 20, 1_500]),
    )
    def begin(self, kind: str, template: str, room: int) -> None:
        self.kind, (self.memoised, self.plain) = kind, TOKENIZERS[kind]
        self.memoised._memo = StretchMemo(room)  # of which the small one forgets all the time
        self.template = ChatTemplate(TEMPLATES[template], "<s>", "</s>")
        self.messages: list[Message] = []

    @rule(role=ROLES, content=WORDS)
    def say(self, role: str, content: str) -> None:
        self.messages.append(Message(role, content))  # type: ignore[arg-type]

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), content=WORDS)
    def branch(self, data: st.DataObject, content: str) -> None:
        """Change a message, and drop what followed it."""
        place = data.draw(st.integers(0, len(self.messages) - 1))
        self.messages[place:] = [Message(self.messages[place].role, content)]

    @precondition(lambda self: self.messages)
    @rule(more=WORDS)
    def go_on(self, more: str) -> None:
        """Let the last message grow, as an answer does that is continued."""
        last = self.messages[-1]
        self.messages[-1] = Message(last.role, last.content + more)

    @precondition(lambda self: len(self.messages) > 1)
    @rule()
    def leave_out(self) -> None:
        del self.messages[0]

    @invariant()
    def both_say_the_same(self) -> None:
        if not self.messages:
            return
        chat = (self.template, self.messages)
        assert encode_chat(self.memoised, *chat) == encode_chat(self.plain, *chat)
        text = "".join(message.content for message in self.messages)
        for parse_special in (True, False):
            with_it = self.memoised.encode(text, parse_special=parse_special)
            assert with_it == self.plain.encode(text, parse_special=parse_special)
            spans = self.memoised.spans(text, parse_special=parse_special)
            assert [span.token_id for span in spans] == with_it
        assert self.memoised._memo.num_bytes <= self.memoised._memo._max_bytes


TestChat = pytest.mark.timeout(120)(Chat.TestCase)
TestChat.settings = settings(max_examples=60, stateful_step_count=12, deadline=None)
