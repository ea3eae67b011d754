"""What is said of an answer's tokens against transformers: probabilities, entropy, ids."""

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedModel

from engine.api import (
    GenerationRequest,
    InspectedToken,
    InspectTokens,
    KVPrecision,
    Message,
    ModelOptions,
    ModelReady,
    Precision,
    SamplingParams,
    TokenOrigin,
    TokensInspected,
    TokensProduced,
)
from engine.core import EngineCore
from tests.helpers.compat_folders import write_model

pytestmark = pytest.mark.oracle
QUESTION = (
    Message("system", "You answer briefly. 你好"),
    Message("user", "Name the capital of France,\n and one river \N{SLIGHTLY SMILING FACE}."),
)
# one of our own decoders, one whose windows leave tokens behind, one of transformers' own classes
KINDS: dict[str, dict[str, int]] = {
    "llama": {},
    "gemma3_text": {"head_dim": 16, "sliding_window": 16},
    "gpt_neox": {},
}
TEXT = "hello whale, well: the hollow hull held. " * 3


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def open_core(path: Path, **options) -> EngineCore:
    core = EngineCore()
    exact = {"weights": Precision.FP32, "kv": KVPrecision.FP32, **options}
    loaded = core.load(ModelOptions(str(path), threads=2, **exact))[-1]
    assert isinstance(loaded, ModelReady), loaded
    return core


def inspect(core: EngineCore, asked: InspectTokens) -> tuple[InspectedToken, ...]:
    core.inspect_tokens(asked)
    while core.has_work:
        for event in core.step():
            if isinstance(event, TokensInspected):
                assert event.problem == ""
                return event.tokens
    raise AssertionError("it has no end")


def check(tokens: tuple[InspectedToken, ...], model: PreTrainedModel) -> None:
    """Each scored token against the reference's softmax of the row before it."""
    ids = [token.token_id for token in tokens]
    with torch.inference_mode():
        shares = model(torch.tensor([ids])).logits[0].float().softmax(-1)
    scored = [place for place, token in enumerate(tokens) if token.probability is not None]
    assert scored
    bits = torch.special.entr(shares).sum(-1) / torch.log(torch.tensor(2.0))
    for place in scored:
        token, row = tokens[place], shares[place - 1]
        assert token.probability == pytest.approx(float(row[token.token_id]), abs=1e-4)
        assert token.entropy == pytest.approx(float(bits[place - 1]), abs=1e-4)
        best = torch.topk(row, len(token.alternatives)).values.tolist()
        assert [c.probability for c in token.alternatives] == pytest.approx(best, abs=1e-4)
        for choice in token.alternatives:
            assert choice.probability == pytest.approx(float(row[choice.token_id]), abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"kv_cache": False}], ids=["cache", "no cache"])
def test_a_random_model(tmp_path: Path, kind: str, options: dict[str, bool]) -> None:
    reference = write_model(tmp_path, kind, **KINDS[kind])
    core = open_core(tmp_path, **options)
    asked = InspectTokens(1, (Message("user", "hello"),), TEXT)
    first = inspect(core, asked)
    check(first, reference)
    again = inspect(core, asked)  # behind a cached beginning, where there is one
    check(again, reference)
    core.unload()


def test_the_starter_model(starter_model: Path) -> None:
    core = open_core(starter_model)
    params = SamplingParams(temperature=0.0, max_tokens=32)
    core.submit(GenerationRequest("a", 0, params, messages=QUESTION))
    text, produced = "", []
    while core.has_work:
        for event in core.step():
            if isinstance(event, TokensProduced):
                text += event.text
                produced += event.token_ids
    tokens = inspect(core, InspectTokens(1, QUESTION, text, tuple(produced)))
    core.unload()
    folder, file = starter_model.parent, starter_model.name
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    chat = [{"role": m.role, "content": m.content} for m in QUESTION]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
    answer = [token for token in tokens if token.origin is TokenOrigin.ANSWER]
    assert [token.token_id for token in tokens] == [*prompt, *produced]
    right = sum(token.alternatives[0].token_id == token.token_id for token in answer)
    assert right >= len(answer) - 1
