"""One run as the page shows it, and two over each other."""

from app.controllers.experiments.sentences import sentence_of
from app.controllers.experiments.views import (
    VIEWS,
    Side,
    compared,
    differences_of,
    figures_of,
)
from app.controllers.experiments.words import names_of
from app.experiments.capacity import MEASURED
from app.experiments.guessing import NGRAMS
from app.experiments.precision import QUALITY
from app.experiments.runs import Run
from app.experiments.spread import series_of, unrest
from ui.experiments.rows import Shown
from ui.i18n import tr

_UNREST = 0.25  # repeats that lie further apart than this are worth a word
_BUSY_CORES = 0.3  # of other programs: less is what a desktop does beside
_ABOUT_QUALITY = frozenset({"weights", "kv"})


def shown_run(run: Run) -> Shown:
    """Charts, the sentence, and what is to be known of the run."""
    name, readings = run.experiment, run.readings
    figures = figures_of(name, [Side(readings)])
    return Shown(_file_name(run), figures, sentence_of(name, readings), _notes(run))


def shown_pair(first: Run, other: Run) -> Shown:
    """Both in the same charts, what changed, a sentence each, and a table of what differs."""
    names = names_of(first, other)
    runs = (first, other)
    sides = [Side(run.readings, name) for run, name in zip(runs, names, strict=True)]
    sentences = list(compared(first, other))
    sentences += [
        f"{side.name}: {words}"
        for side in sides
        if (words := sentence_of(first.experiment, side.readings))
    ]
    return Shown(
        f"{_file_name(first)}-{other.run_id[:15]}",
        figures_of(first.experiment, sides),
        "\n".join(sentences),
        "\n".join(
            f"{name}: {words}"
            for run, name in zip(runs, names, strict=True)
            for words in _doubts(run)
        ),
        differences=differences_of(first.experiment, first, other),
    )


def _file_name(run: Run) -> str:
    """Its name and its moment, to the second."""
    return f"{run.experiment}-{run.run_id[:15]}"


def _doubts(run: Run) -> list[str]:
    """Why its figures may not be what the machine can do."""
    notes = []
    if not run.is_complete:
        notes.append(tr("Not all of it was measured."))
    if run.other_cores >= _BUSY_CORES:
        notes.append(
            tr(
                "Other programs kept {n} cores busy meanwhile. Measure again when this machine is "
                "quiet.",
                n=f"{run.other_cores:.1f}",
            )
        )
    elif unrest(run.readings, VIEWS[run.experiment][0].metric) > _UNREST:
        notes.append(
            tr("Repeats lie far apart: other programs kept this machine busy. Measure again.")
        )
    return notes


def _notes(run: Run) -> str:
    notes = _doubts(run)
    if run.experiment in _ABOUT_QUALITY and QUALITY not in series_of(run.readings):
        notes.append(tr("What each loses is measured by a thorough run."))
    if run.experiment == "capacity" and MEASURED not in series_of(run.readings):
        notes.append(tr("All of it is calculated; a thorough run tries some of it."))
    if any(reading.label == NGRAMS for reading in run.readings):
        notes.append(
            tr(
                "Answers to random text soon repeat themselves, and guessing is at its best there. "
                "With a draft chosen in the settings, real texts are measured."
            )
        )
    return "\n".join([*notes, *run.failures])
