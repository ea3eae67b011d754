"""What the page of experiments shows, as plain values; the words are made elsewhere."""

from dataclasses import dataclass

from ui.charts.figures import BarFigure, LineFigure, Table

Figure = LineFigure | BarFigure


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """One experiment: its name inside the program, its title, and one line on what it shows."""

    name: str
    title: str
    line: str


@dataclass(frozen=True, slots=True)
class DepthRow:
    """How thorough a run is: its name inside the program, its words, and what they rest on."""

    name: str
    words: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One past run: when, and on what."""

    run_id: str
    words: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One run, or two over each other: charts, what follows, and what is to be known of it.

    ``differences`` of two runs, None for one. ``name`` is what a file of it would be called.
    """

    name: str = ""
    figures: tuple[Figure, ...] = ()
    sentence: str = ""
    notes: str = ""
    differences: Table | None = None


@dataclass(frozen=True, slots=True)
class RunState:
    """What goes on. ``reason``: why nothing can be started, empty where it can.

    ``running``: the experiment under way, empty for none; ``part`` of it is done, and ``words`` say
    how far it is.
    """

    reason: str = ""
    running: str = ""
    part: float = 0.0
    words: str = ""
