"""One figure that only grows, whatever is loaded first."""

import json

import pytest

from engine.api import LoadProgress, LoadStage
from engine.cli.progress import ProgressLines


def told(capsys: pytest.CaptureFixture[str]) -> list[float]:
    return [json.loads(line)["progress"] for line in capsys.readouterr().err.splitlines()]


def load(lines: ProgressLines, stage: LoadStage, steps: int) -> None:
    for done in range(steps + 1):
        lines.on_load(LoadProgress("m", stage, done, steps))


@pytest.mark.parametrize("is_calibrating", [False, True])
def test_it_grows_from_zero_to_one(
    capsys: pytest.CaptureFixture[str], is_calibrating: bool
) -> None:
    lines = ProgressLines(is_shown=True)
    lines.begin_load()
    if is_calibrating:
        load(lines, LoadStage.CALIBRATION, 40)
    load(lines, LoadStage.WEIGHTS, 10)
    before_reference = told(capsys)
    lines.begin_reference()
    load(lines, LoadStage.WEIGHTS, 10)
    lines.begin_measuring()
    for done in range(0, 101, 10):
        lines.on_tokens(done, 100)
    lines.finish()
    values = before_reference + told(capsys)
    assert values == sorted(set(values))
    assert (values[0], values[-1]) == (0, 1)
    assert max(before_reference) == pytest.approx(0.7 if is_calibrating else 0.2)


def test_nothing_is_printed_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ProgressLines(is_shown=False)
    lines.begin_load()
    lines.finish()
    assert told(capsys) == []
