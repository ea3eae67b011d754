"""tokenizer.model files against the library that makes them: the same ids for random texts.

Small models of both algorithms are trained here, with and without bytes for unknown text, and with
every way of treating characters and white space.
"""

import io
import random
from pathlib import Path
from typing import Any

import pytest

from engine.text.detokenizer import Detokenizer
from engine.text.hf_folder import tokenizer_from_folder

pytestmark = [
    pytest.mark.oracle,
    # what its generated bindings make newer Pythons say
    pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning"),
]

CORPUS = [
    *Path(__file__).read_text("utf-8").splitlines(),
    *Path(__file__).with_name("test_tokenizer_oracle.py").read_text("utf-8").splitlines(),
    *["你好世界这是一个测试 日本語のテキスト", "naïve café Ångström", "Привет мир"] * 20,
]
BITS = [*" \t\n abcdefTheAB.,'()_=你好é😀ñ\u3000①ﬁ\u00a0▁", "<0x41>", "<s>", "the ", "  "]
CASES = {
    f"{algorithm}, {rule}, bytes {has_bytes}, merged {merges}, prefixed {prefixes}": {
        "model_type": algorithm,
        "normalization_rule_name": rule,
        "byte_fallback": has_bytes,
        "remove_extra_whitespaces": merges,
        "add_dummy_prefix": prefixes,
    }
    for algorithm in ("unigram", "bpe")
    for rule, has_bytes, merges, prefixes in (
        ("identity", True, False, True),
        ("identity", False, True, True),
        ("nmt_nfkc", True, True, True),
        ("nmt_nfkc", False, False, False),
    )
}


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_random_texts(options: dict[str, Any], tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_writer=written,
        vocab_size=550,
        character_coverage=0.999,
        minloglevel=2,
        num_threads=1,
        **options,
    )
    (tmp_path / "tokenizer.model").write_bytes(written.getvalue())
    theirs = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    ours = tokenizer_from_folder(tmp_path)
    draw = random.Random(5)
    for _ in range(400):
        text = "".join(draw.choices(BITS, k=draw.randrange(40)))
        ids = theirs.encode(text)
        assert ours.encode(text, parse_special=False) == ids, ascii(text)
        if options["byte_fallback"] and not options["remove_extra_whitespaces"]:
            detokenizer = Detokenizer(ours)
            assert "".join(map(detokenizer.push, ids)) + detokenizer.flush() == theirs.decode(ids)
