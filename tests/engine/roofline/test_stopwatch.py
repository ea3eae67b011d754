"""The best run counts, after one that does not."""

import torch

from engine.roofline.stopwatch import Stopwatch

CPU = torch.device("cpu")


def test_every_work_runs_once_before_it_counts():
    runs = []
    seconds = Stopwatch(CPU, 1).best([lambda: runs.append(0), lambda: runs.append(1)], runs=3)
    assert runs[:2] == [0, 1]
    assert len(runs) == 2 * (1 + 3)
    assert seconds > 0


def test_reading_is_tried_with_one_thread_too():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        seen = set()
        Stopwatch(CPU, 2).best_reading([lambda: seen.add(torch.get_num_threads())])
        assert seen == {1, 2}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
