"""A loadable model without weights: real tokenizer and template, a fake runner for the arithmetic.

``FakeModels`` stands in for the loader and the runner of an EngineCore; tests look at and steer
what it has loaded through it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from engine.api import LoadProgress, LoadStage, ModelInfo, ModelOptions
from engine.config import ResolvedConfig
from engine.core import EngineCore
from engine.errors import LoadCancelledError
from engine.model.loader import LoadedModel
from engine.scheduling.plan import StepOutput, StepPlan
from engine.text.template import ChatTemplate
from engine.text.tokenizer import Tokenizer, tokenizer_from_gguf
from tests.helpers.fake_runner import FakeRunner
from tests.helpers.scheduling import make_config

EOS = 0
_FIRST_LETTER = 1
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>{% endif %}"
)


def letter(char: str) -> int:
    """The token of one ASCII letter."""
    return _FIRST_LETTER + ord(char) - ord("!")


def make_tokenizer() -> Tokenizer:
    """One token a visible ASCII character, a space, and three control tokens; EOS is token 0."""
    letters = [chr(code) for code in range(ord("!"), ord("~") + 1)]
    tokens = ["<|im_end|>", *letters, "Ġ", "<|im_start|>", "th"]
    kinds = [3, *[1] * len(letters), 1, 3, 1]
    return tokenizer_from_gguf(
        {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "gpt-2",
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": kinds,
            "tokenizer.ggml.merges": ["t h"],
            "tokenizer.ggml.eos_token_id": EOS,
        }
    )


def make_info(path: str, config: ResolvedConfig, vocab_size: int) -> ModelInfo:
    """What a window would be told of the fake model."""
    return ModelInfo(
        path=path,
        name="Fake",
        architecture="fake",
        precision=config.precision,
        device=config.device,
        device_name="none",
        threads=1,
        context_length=config.context_length,
        trained_context_length=config.context_length,
        vocab_size=vocab_size,
        hidden_size=1,
        intermediate_size=1,
        num_layers=1,
        num_heads=1,
        num_kv_heads=1,
        head_dim=1,
        num_parameters=1,
        file_bytes=1,
        weights_bytes=10,
        kv_bytes_per_token=config.kv.bytes_per_token,
        kv_budget_bytes=config.kv.total_bytes,
        kv_block_size=config.kv.block_size,
        kv_dtype=config.kv_dtype,
        load_ns=0,
        has_chat_template=True,
    )


@dataclass
class FakeModels:
    """Loader and runner in one.

    ``on_load`` is called in the middle of each load with its options and the cancel question, and
    may raise or wait. ``scripts`` and ``before`` go to the fake runner.
    """

    config: ResolvedConfig = field(default_factory=make_config)
    on_load: Callable[[ModelOptions, Callable[[], bool]], None] | None = None
    scripts: dict[str, list[int]] = field(default_factory=dict)
    before: Callable[[StepPlan], None] | None = None
    runner: FakeRunner | None = None

    def load(
        self,
        options: ModelOptions,
        on_progress: Callable[[LoadProgress], None],
        is_cancelled: Callable[[], bool],
    ) -> LoadedModel:
        on_progress(LoadProgress(options.path, LoadStage.READING_HEADER, 0, 1))
        on_progress(LoadProgress(options.path, LoadStage.TOKENIZER, 0, 1))
        if self.on_load is not None:
            self.on_load(options, is_cancelled)
        if is_cancelled():
            raise LoadCancelledError("Loading was given up.")
        tokenizer = make_tokenizer()
        parts: dict[str, Any] = {
            "decoder": SimpleNamespace(weights_bytes=10),
            "storage": SimpleNamespace(),
            "tokenizer": tokenizer,
            "template": ChatTemplate(CHATML),
            "info": make_info(options.path, self.config, tokenizer.vocab_size),
            "config": self.config,
        }
        return LoadedModel(**parts)

    def make_runner(
        self, model: LoadedModel
    ) -> Callable[[StepPlan, Callable[[], bool]], StepOutput]:
        kv = model.config.kv
        self.runner = FakeRunner(
            kv.num_blocks,
            kv.block_size,
            vocab_size=model.info.vocab_size,
            clock=time.perf_counter_ns,
            scripts=self.scripts,
            before=self.before,
        )
        return self.runner.run

    def make_core(self) -> EngineCore:
        return EngineCore(self.load, self.make_runner)
