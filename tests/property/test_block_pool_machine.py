"""Any sequence of allocations, shares, releases and reclaims keeps the books balanced."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from engine.kv.manager import KVManager

BLOCK_SIZE = 3


class Tables(RuleBasedStateMachine):
    """Requests over a small alphabet, so that prefixes repeat, against a model of their texts."""

    def __init__(self) -> None:
        super().__init__()
        self.kv = KVManager(num_blocks=9, block_size=BLOCK_SIZE, prefix_cache=True)
        self.texts: dict[str, list[int]] = {}
        self.computed: dict[str, int] = {}
        self.slots: dict[int, int] = {}
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
        for position in range(start, end):
            slot = blocks[position // BLOCK_SIZE] * BLOCK_SIZE + position % BLOCK_SIZE
            self.slots[slot] = self.texts[request_id][position]
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
        self.kv.check_integrity()

    @invariant()
    def every_text_is_where_its_table_says(self) -> None:
        for request_id in self.texts:
            self._read(request_id)

    def _read(self, request_id: str) -> None:
        blocks = self.kv.blocks(request_id)
        for position in range(self.computed[request_id]):
            slot = blocks[position // BLOCK_SIZE] * BLOCK_SIZE + position % BLOCK_SIZE
            assert self.slots[slot] == self.texts[request_id][position]


Tables.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestTables = Tables.TestCase
