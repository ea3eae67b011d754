"""The ceilings kept on disk, measured now where there are none."""

from pathlib import Path

from engine.roofline.ceilings import Ceilings, cache_path, read_ceilings, write_ceilings


def ceilings_of(path: Path | None = None, threads: int | None = None) -> Ceilings:
    """The ceilings kept at ``path`` (default: ``cache_path()``), measured now if there are none.

    A file that cannot be used is measured anew; one that cannot be written is not.
    """
    path = path or cache_path()
    kept = read_ceilings(path)
    if kept is not None and threads in {None, kept.threads}:
        return kept
    from engine.roofline.measuring import measure  # noqa: PLC0415 - imports torch

    measured = measure(threads)
    write_ceilings(measured, path)
    return measured
