"""A folder of DeepSeek-V4 answers through the command line and through the engine, many at once."""

import json

import pytest
import torch

from engine.__main__ import main
from engine.api import (
    Finished,
    GenerationRequest,
    KVPrecision,
    LoadProgress,
    ModelOptions,
    ModelReady,
    Precision,
    SamplingParams,
    Timeline,
    TokensProduced,
)
from engine.core import EngineCore
from engine.kv.compressed import CompressedStorage
from engine.model.loader import load_model
from engine.speculative.ngram import NgramDrafter
from engine.speculative.opening import OpenedDraft
from engine.speculative.speculation import Speculation
from tests.helpers.decoding import never
from tests.helpers.v4_models import SHORT, write_v4_folder

pytestmark = pytest.mark.flow

WIDE = {"hidden_size": 64, "moe_intermediate_size": 64, "q_lora_rank": 32}
NUM_NEW = 20


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_v4_folder(tmp_path_factory.mktemp("models") / "tiny-v4", **SHORT, **WIDE)


def request(number: int, length: int) -> GenerationRequest:
    draw = torch.Generator().manual_seed(number)
    ids = tuple(torch.randint(2, 256, (length,), generator=draw).tolist())
    params = SamplingParams(temperature=0.0, max_tokens=NUM_NEW, ignore_eos=True)
    return GenerationRequest(f"r{number}", 0, params, prompt_ids=ids)


def run(
    core: EngineCore, requests: list[GenerationRequest], lines: list[Timeline | None] | None = None
) -> dict[str, list[int]]:
    tokens: dict[str, list[int]] = {r.request_id: [] for r in requests}
    ended: list[Timeline | None] = [] if lines is None else lines
    for one in requests:
        core.submit(one)
    while core.has_work:
        for event in core.step():
            if isinstance(event, TokensProduced):
                tokens[event.request_id] += event.token_ids
            if isinstance(event, Finished):
                ended.append(event.timeline)
    assert len(ended) == len(requests)
    return tokens


def load(core: EngineCore, folder, **options) -> None:
    wanted = ModelOptions(str(folder), weights=Precision.FP32, **options)
    assert isinstance(core.load(wanted)[-1], ModelReady)


@pytest.mark.parametrize("weights", ["fp32", "int8", "int4"])
def test_chat(folder, capsys, weights):
    words = ["--prompt", "hello hello", "--greedy", "--max-tokens", "6", "--json"]
    assert main(["chat", "--model", str(folder), "--weights", weights, *words]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["output_tokens"] == 6


def test_many_at_once_answer_as_each_alone(folder):
    core = EngineCore()
    requests = [request(number, 5 + 13 * number) for number in range(6)]
    load(core, folder, context_length=256, max_streams=6, max_batch_tokens=64)
    alone = {}
    for one in requests:
        alone |= run(core, [one])
    assert run(core, requests) == alone
    # so few blocks that requests are preempted and computed again
    block_bytes = core.info.kv_bytes_per_token * core.info.kv_block_size
    load(core, folder, kv_budget_bytes=12 * block_bytes, max_streams=6, max_batch_tokens=64)
    assert run(core, requests) == alone


class Prompter(NgramDrafter):
    """Knows the answers, and says every fifth token wrongly."""

    def __init__(self, answers):
        super().__init__()
        self.answers = answers
        self.num_said = 0

    def propose(self, queries):
        return [
            tuple(
                map(self._say, self.answers[query.request_id][query.sample_index :][: query.most])
            )
            for query in queries
        ]

    def _say(self, token):
        self.num_said += 1
        return token if self.num_said % 5 else 3


@pytest.mark.parametrize("kv", [KVPrecision.INT4], ids=str)
def test_guesses_leave_the_answers_as_they_are(folder, kv):
    core = EngineCore()
    requests = [request(number, 3 + 21 * number) for number in range(2)]
    load(core, folder, context_length=128, max_streams=2, max_batch_tokens=64, kv=kv)
    plain = run(core, requests)
    guesses = Speculation(Prompter(plain))
    guesses._pace.lengths = lambda ids: [16] * len(ids)  # more refused than a window holds
    core._session.guess_with(OpenedDraft(guesses, "prompter"))
    lines = []
    assert run(core, requests, lines) == plain
    accepted = sum(line.num_accepted_tokens for line in lines)
    drafted = sum(line.num_drafted_tokens for line in lines)
    assert accepted > 20
    assert drafted - accepted > 20
    assert core.stats().kv_live_blocks == 0


def test_without_the_cache(folder):
    core = EngineCore()
    load(core, folder, context_length=128)
    cached = run(core, [request(1, 30)])
    load(core, folder, context_length=128, kv_cache=False)
    assert run(core, [request(1, 30)]) == cached


@pytest.mark.parametrize("kv", [KVPrecision.BF16, KVPrecision.INT8, KVPrecision.INT4], ids=str)
def test_bytes_of_a_loaded_cache(folder, kv):
    options = ModelOptions(str(folder), weights=Precision.FP32, context_length=256, kv=kv)
    heard: list[LoadProgress] = []
    model = load_model(options, heard.append, never)
    assert isinstance(model.storage, CompressedStorage)
    assert model.storage.entry_bytes == model.config.kv.total_bytes
    assert model.info.kv_bytes_per_token == -(-model.config.kv.bytes_per_block // 16)
    assert model.storage.state_bytes == model.storage.geometry.state_bytes
    assert not model.config.prefix_cache
