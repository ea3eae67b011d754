"""The static memory of captured steps: where things lie, and what fills a batch up."""

import torch

from engine.model.batch import ForwardBatch, Segment
from engine.model.captured.inputs import StaticInputs, StepInputs

CPU = torch.device("cpu")


def _batch(contexts: tuple[int, ...]) -> ForwardBatch:
    """One row a text, four tokens a block, two groups of layers."""
    rows = [
        Segment(i, 1, n, tuple(range(9 * i, 9 * i + 1 + n // 4)), (tuple(range(1 + n // 4)),))
        for i, n in enumerate(contexts)
    ]
    slots = torch.tensor([s.block_ids[-1] * 4 + s.context % 4 for s in rows])
    return ForwardBatch(
        torch.tensor([50 + n for n in contexts]),
        torch.tensor(contexts),
        slots,
        tuple(rows),
        torch.arange(len(rows)),
        (slots + 100,),
    )


def _lists(inputs: StepInputs) -> list[list[int]]:
    numbers = (inputs.token_ids, inputs.positions, inputs.sources, *inputs.slots)
    return [tensor.tolist() for tensor in numbers]


def test_rows_that_fill_up_are_empty_texts_that_keep_what_row_0_keeps() -> None:
    memory = StaticInputs(2, 8, CPU)
    memory.fill(_batch((5, 9, 2)), 4)
    inputs = memory.views(4, 8)
    assert _lists(inputs) == [
        [55, 59, 52, 0],
        [5, 9, 2, 0],
        [0, 1, 2, 0],
        [5, 45, 74, 5],
        [105, 145, 174, 105],
    ]
    assert inputs.tables[0][:3].tolist() == [
        [0, 1, 0, 0, 0, 0, 0, 0],
        [9, 10, 11, 0, 0, 0, 0, 0],
        [18, 0, 0, 0, 0, 0, 0, 0],
    ]
    assert inputs.tables[1][1, :3].tolist() == [0, 1, 2]
    assert {table.dtype for table in inputs.tables} == {torch.int32}


def test_nothing_is_left_of_a_larger_step() -> None:
    memory = StaticInputs(2, 8, CPU)
    memory.fill(_batch((5, 9, 2, 7)), 4)
    memory.fill(_batch((6, 3)), 2)
    memory.fill(_batch((8, 4, 1)), 4)
    assert _lists(memory.views(4, 8))[:3] == [[58, 54, 51, 0], [8, 4, 1, 0], [0, 1, 2, 0]]
    memory.fill(_batch((8, 4, 1, 30)), 4)
    assert _lists(memory.views(4, 8))[2] == [0, 1, 2, 3]
    assert memory.views(4, 8).tables[0][3].tolist() == [27, 28, 29, 30, 31, 32, 33, 34]


def test_every_size_reads_the_same_memory() -> None:
    memory = StaticInputs(1, 8, CPU)
    wide, narrow = memory.views(8, 8), memory.views(2, 3)
    assert narrow.positions.data_ptr() == wide.positions.data_ptr()
    assert narrow.tables[0].data_ptr() == wide.tables[0].data_ptr()
    assert narrow.tables[0].stride(0) == 8
