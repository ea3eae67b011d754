"""Folders of every kind of tokenizer: our ids and our text against the Rust package's own."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.text.detokenizer import Detokenizer
from engine.text.hf_folder import tokenizer_from_folder
from engine.text.hf_spec import spelling_of, unknown_piece
from engine.text.vocabulary import Spelling

CORPUS = [
    "The quick brown fox jumps over the lazy dog; it isn't tired, is it?",
    "naïve café Ångström, 10,000 things: a.b(c) == [d]",
    "你好世界 这是一个测试 日本語のテキスト 한국어",
    "Привет мир, ελληνικά, emoji 😀 👍🏽 👩\u200d👧",
    "def f(self, x):\n    return self.x + x  # twice",
] * 4
SPECIAL = ["<unk>", "<s>", "</s>", "[MASK]"]
SAMPLE = "The quick café,  isn't it?  你好 😀😀 <s> x\n\nself.x ﬁ ① e\u0301 ▁ ##a </w>"
BITS = [
    "The ",
    "quick",
    " ",
    "  ",
    "\n",
    "\t",
    "isn't",
    ",",
    ".",
    "é",
    "e\u0301",
    "你",
    "世界",
    "😀",
]
BITS += [
    "👍🏽",
    "\u200d",
    "ﬁ",
    "▁",
    "##",
    "</w>",
    "<s>",
    "</s",
    "<0x0A>",
    "\u00a0",
    "ß",
    "İ",
    "\uff11",
]
TEXTS = st.one_of(st.text(max_size=30), st.lists(st.sampled_from(BITS), max_size=20).map("".join))


def unigram_t5() -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return _train(tokenizer, trainers.UnigramTrainer, unk_token="<unk>", vocab_size=260)


def unigram_xlnet() -> Tokenizer:
    """Lower case, no accents, words apart."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    tokenizer.decoder = decoders.Metaspace()
    return _train(tokenizer, trainers.UnigramTrainer, unk_token="<unk>", vocab_size=260)


def bert() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return _train(tokenizer, trainers.WordPieceTrainer, vocab_size=300)


def sentencepiece_bpe() -> Tokenizer:
    """As Gemma's: spaces shown, bytes for what is unknown."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    special = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=450, special_tokens=special, show_progress=False)
    )
    spec = json.loads(tokenizer.to_str())
    spec["added_tokens"] = [t for t in spec["added_tokens"] if not t["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(spec))


def word_ends() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder()
    return _train(tokenizer, trainers.BpeTrainer, vocab_size=300, end_of_word_suffix="</w>")


def words() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return _train(tokenizer, trainers.WordLevelTrainer, vocab_size=300)


def _train(tokenizer: Tokenizer, trainer: Callable[..., Any], **options: Any) -> Tokenizer:
    tokenizer.train_from_iterator(
        CORPUS, trainer(special_tokens=SPECIAL, show_progress=False, **options)
    )
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False)])
    return tokenizer


KINDS: Mapping[str, Callable[[], Tokenizer]] = {
    make.__name__: make
    for make in (unigram_t5, unigram_xlnet, bert, sentencepiece_bpe, word_ends, words)
}


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    theirs = KINDS[request.param]()
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "tokenizer.json").write_text(theirs.to_str(), "utf-8")
    (folder / "tokenizer_config.json").write_text('{"eos_token": "</s>"}', "utf-8")
    return tokenizer_from_folder(folder), Tokenizer.from_str(theirs.to_str())


def test_random_texts_give_the_same_ids_and_the_same_text(pair) -> None:
    ours, theirs = pair

    @settings(max_examples=150, deadline=None)
    @given(TEXTS)
    def compare(text: str) -> None:
        theirs.encode_special_tokens = True
        plain = theirs.encode(text, add_special_tokens=False).ids
        if "<s>" not in text:  # their models may take that for the token
            assert ours.encode(text, parse_special=False) == plain
        theirs.encode_special_tokens = False
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode(text, parse_special=True) == ids
        detokenizer = Detokenizer(ours)
        streamed = "".join(map(detokenizer.push, ids)) + detokenizer.flush()
        assert "\ufffd" not in streamed.replace("\ufffd" if "\ufffd" in text else "", "")
        decoded = theirs.decode([i for i in ids if not ours.is_special(i)])
        if "\ufffd" not in decoded:
            assert streamed.rstrip(" ") == decoded.rstrip(" ")

    compare()


def test_spans_point_at_the_text_each_token_was_made_of(pair) -> None:
    ours, _theirs = pair

    @settings(max_examples=60, deadline=None)
    @given(TEXTS)
    def compare(text: str) -> None:
        size = len(text.encode())
        for parse_special in (True, False):
            spans = ours.spans(text, parse_special=parse_special)
            ids = ours.encode(text, parse_special=parse_special)
            assert [span.token_id for span in spans] == ids
            assert all(0 <= span.start <= span.end <= size for span in spans)
            starts = [span.start for span in spans]
            assert starts == sorted(starts)

    compare()
    data = SAMPLE.encode()
    control = [s for s in ours.spans(SAMPLE, parse_special=True) if ours.is_special(s.token_id)]
    assert b"<s>" in {data[span.start : span.end] for span in control}


def test_nothing_typed_becomes_a_control_token(pair) -> None:
    ours, _theirs = pair
    controls = {i for i in range(ours.vocab_size) if ours.token_text(i) in {"<s>", "</s>"}}
    assert controls
    assert not controls & set(ours.encode("<s></s> <s> a</s>b", parse_special=False))
    assert controls & set(ours.encode("a</s>", parse_special=True))


def test_a_prefix_that_the_tokenizer_puts_itself(tmp_path: Path) -> None:
    tokenizer = unigram_t5()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="</s> $A", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))]
    )
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_str(), "utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<s>"}', "utf-8")
    ours = tokenizer_from_folder(tmp_path)
    assert ours.encode_prompt("The fox") == tokenizer.encode("The fox").ids


@pytest.mark.parametrize(
    ("spec", "feature"),
    [
        ({"model": {"type": "Other"}}, "tokenizer Other"),
        ({"model": None}, "tokenizer None"),
        ({"model": {"type": "BPE"}, "decoder": {"type": "CTC"}}, "decoder CTC"),
        (
            {
                "model": {"type": "WordPiece"},
                "decoder": {"type": "WordPiece", "prefix": "@@"},
            },
            "prefix @@",
        ),
    ],
)
def test_spellings_we_do_not_know_are_refused(spec: dict[str, Any], feature: str) -> None:
    with pytest.raises(ModelUnsupportedError) as caught:
        spelling_of(spec, "here")
    assert caught.value.details["feature"] == feature
    assert len(str(caught.value)) < 200


def test_unknown_pieces() -> None:
    assert unknown_piece({"model": {"unk_token": "[UNK]"}}) == "[UNK]"
    assert unknown_piece({"model": {"unk_id": 1, "vocab": [["a", 0.0], ["u", 0.0]]}}) == "u"
    for model in (None, {}, {"unk_id": 9, "vocab": []}, {"unk_id": 0, "vocab": [3]}):
        assert unknown_piece({"model": model}) == ""
    assert spelling_of({"model": {"type": "WordLevel"}}, "") is Spelling.WORDS


def test_a_broken_unigram_is_refused(tmp_path: Path) -> None:
    spec = {"model": {"type": "Unigram", "unk_id": 7, "vocab": [["a", 0.0]]}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec), "utf-8")
    with pytest.raises(ModelCorruptError):
        tokenizer_from_folder(tmp_path)
