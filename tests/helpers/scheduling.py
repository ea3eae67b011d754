"""A scheduler over a fake runner, driven step by step as engine.core does it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.api import (
    Device,
    Event,
    Finished,
    FinishReason,
    Precision,
    SamplingParams,
    TokensProduced,
)
from engine.config import KVFormat, KVGeometry, LayerGroup, ResolvedConfig
from engine.kv.manager import KVManager
from engine.kv.reuse import CacheIdentity, ReuseHistory
from engine.metrics import Marks
from engine.sampling.constraint import TokenConstraint
from engine.scheduling.request import Request, TextStream
from engine.scheduling.scheduler import Scheduler
from tests.helpers.fake_runner import FakeClock, FakeRunner, FakeText


def make_config(
    *,
    num_blocks: int = 16,
    block_size: int = 4,
    context_length: int = 48,
    max_batch_tokens: int = 16,
    max_streams: int = 4,
    kv_cache: bool = True,
    prefix_cache: bool = True,
    groups: tuple[LayerGroup, ...] = (),
) -> ResolvedConfig:
    """``groups``: the kinds of layers, in place of ``num_blocks`` of one kind."""
    return ResolvedConfig(
        path="fake.gguf",
        precision=Precision.FP32,
        device=Device.CPU,
        threads=1,
        compute_dtype="float32",
        kv_dtype="float32",
        context_length=context_length,
        kv=KVGeometry(
            num_layers=sum(len(group.layers) for group in groups) or 1,
            num_kv_heads=1,
            head_dim=1,
            block_size=block_size,
            num_blocks=groups[0].num_blocks if groups else num_blocks,
            format=KVFormat.FLOAT32,
            groups=groups,
        ),
        kv_cache=kv_cache,
        prefix_cache=prefix_cache,
        max_batch_tokens=max_batch_tokens,
        max_streams=max_streams,
    )


@dataclass
class Bench:
    """Scheduler, blocks and fake runner of one configuration, and all events so far."""

    config: ResolvedConfig
    eos_ids: frozenset[int] = frozenset()
    copies_tails: bool = False
    max_cached_blocks: int | None = None
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        config = self.config
        self.clock = FakeClock()
        self.kv = KVManager(
            num_blocks=config.kv.pools,
            block_size=config.kv.block_size,
            prefix_cache=config.prefix_cache and config.kv_cache,
            copies_tails=self.copies_tails,
            max_cached_blocks=self.max_cached_blocks,
        )
        self.history = ReuseHistory()
        self.scheduler = Scheduler(
            config,
            self.kv,
            eos_ids=self.eos_ids,
            memory=(self.history, CacheIdentity("fake", "fp32")),
            clock=self.clock,
        )
        groups = config.kv.groups
        self.runner = FakeRunner(
            config.kv.num_blocks,
            config.kv.block_size,
            clock=self.clock,
            window=groups[0].window if groups else 0,
            windows=[(group.num_blocks, group.window) for group in groups[1:]],
        )

    def add(
        self,
        request_id: str,
        prompt: Sequence[int],
        text: TextStream | None = None,
        *,
        conversation: str | None = None,
        priority: int = 0,
        keeps_cache: bool = True,
        constraint: TokenConstraint | None = None,
        **params: object,
    ) -> None:
        at = self.clock()
        request = Request.of_prompt(
            request_id,
            prompt,
            params=SamplingParams(**params),
            seed=0,
            text=text or FakeText(),
            marks=Marks(at, at, at),
        )
        request.conversation_id = conversation
        request.priority = priority
        request.keeps_cache = keeps_cache
        request.constraint = constraint
        self.scheduler.add(request)

    def step(self) -> list[Event]:
        plan = self.scheduler.schedule()
        output = self.runner.run(plan, lambda: False)
        events = self.scheduler.update(plan, output)
        self.scheduler.check_integrity()
        self.events += events
        return events

    def run(self, max_steps: int = 1000) -> None:
        for _ in range(max_steps):
            if not self.scheduler.has_work:
                return
            self.step()
        raise AssertionError("the requests do not end")

    def tokens(self, request_id: str) -> list[int]:
        return [
            token
            for event in self.events
            if isinstance(event, TokensProduced) and event.request_id == request_id
            for token in event.token_ids
        ]

    def text(self, request_id: str) -> str:
        return "".join(
            event.text
            for event in self.events
            if isinstance(event, TokensProduced) and event.request_id == request_id
        )

    def finished(self, request_id: str) -> Finished:
        (event,) = (
            e for e in self.events if isinstance(e, Finished) and e.request_id == request_id
        )
        return event

    def reason(self, request_id: str) -> FinishReason:
        return self.finished(request_id).reason
