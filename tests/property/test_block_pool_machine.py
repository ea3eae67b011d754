"""Any sequence of allocations, shares, releases and reclaims keeps the books balanced."""

from collections.abc import Iterator
from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.config import LayerGroup
from engine.kv.block_pool import NULL
from engine.kv.group import BlockGroup
from engine.kv.manager import KVManager

BLOCK_SIZE = 3


class Tables(RuleBasedStateMachine):
    """Requests over a small alphabet, so that prefixes repeat, against a model of their texts."""

    pools: ClassVar[int | list[LayerGroup]] = 9

    def __init__(self) -> None:
        super().__init__()
        self.kv = KVManager(num_blocks=self.pools, block_size=BLOCK_SIZE, prefix_cache=True)
        self.texts: dict[str, list[int]] = {}
        self.computed: dict[str, int] = {}
        self.slots: list[dict[int, int]] = [{} for _ in self.kv.groups]
        self.count = 0

    @rule(text=st.lists(st.integers(0, 1), min_size=1, max_size=12))
    def open(self, text: list[int]) -> None:
        self.count += 1
        request_id = str(self.count)
        cached = self.kv.allocate(request_id, text)
        assert cached < len(text)
        self.texts[request_id] = text
        self.computed[request_id] = cached
        self._read(request_id)

    @rule(pick=st.integers(0, 99), length=st.integers(1, 5))
    def compute(self, pick: int, length: int) -> None:
        if not self.texts:
            return
        request_id = sorted(self.texts)[pick % len(self.texts)]
        start = self.computed[request_id]
        end = min(start + length, len(self.texts[request_id]))
        before = self.kv.blocks(request_id)
        blocks = self.kv.append(request_id, end)
        if blocks is None:
            assert self.kv.blocks(request_id) == before
            return
        for table, slots, group in self._tables(request_id):
            for position in range(start, end):
                assert table[position // BLOCK_SIZE] != NULL or not group.window
                slots[_slot(table, position)] = self.texts[request_id][position]
        self.kv.commit(request_id, self.texts[request_id], end)
        self.computed[request_id] = end
        self._read(request_id)

    @rule(pick=st.integers(0, 99), token=st.integers(0, 1))
    def learn(self, pick: int, token: int) -> None:
        if self.texts:
            self.texts[sorted(self.texts)[pick % len(self.texts)]].append(token)

    @rule(pick=st.integers(0, 99))
    def close(self, pick: int) -> None:
        if self.texts:
            request_id = sorted(self.texts)[pick % len(self.texts)]
            self.kv.free(request_id)
            del self.texts[request_id], self.computed[request_id]

    @invariant()
    def books_balance(self) -> None:
        assert self.kv.num_live_tokens >= 0  # counted here, and kept up to date from here on
        self.kv.check_integrity()

    @invariant()
    def every_text_is_where_its_table_says(self) -> None:
        for request_id in self.texts:
            self._read(request_id)

    def _tables(
        self, request_id: str
    ) -> Iterator[tuple[tuple[int, ...], dict[int, int], BlockGroup]]:
        windows = [table.block_ids for table in self.kv.windows(request_id)]
        yield from zip(
            [self.kv.blocks(request_id), *windows], self.slots, self.kv.groups, strict=True
        )

    def _read(self, request_id: str) -> None:
        """The next query finds all that it looks back on, in every group."""
        computed = self.computed[request_id]
        for table, slots, group in self._tables(request_id):
            first = max(0, computed - group.window + 1) if group.window else 0
            for position in range(first, computed):
                assert slots[_slot(table, position)] == self.texts[request_id][position]
            held = sum(block != NULL for block in table) if group.window else 0
            assert held <= -(-(group.window + 5) // BLOCK_SIZE) + 2, "more than a window"


def _slot(table: tuple[int, ...], position: int) -> int:
    return table[position // BLOCK_SIZE] * BLOCK_SIZE + position % BLOCK_SIZE


class WindowTables(Tables):
    """The same with layers that look back over 7 tokens, and over 2, beside all."""

    pools: ClassVar[int | list[LayerGroup]] = [
        LayerGroup((0,), 9),
        LayerGroup((1, 2), 9, 7, 5),
        LayerGroup((3,), 7, 2, 5),
    ]


class LoneWindows(Tables):
    """The same with nothing but windows."""

    pools: ClassVar[int | list[LayerGroup]] = [LayerGroup((0, 1), 8, 4, 5)]


Tables.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestTables = Tables.TestCase
WindowTables.TestCase.settings = Tables.TestCase.settings
TestWindowTables = WindowTables.TestCase
LoneWindows.TestCase.settings = Tables.TestCase.settings
TestLoneWindows = LoneWindows.TestCase
