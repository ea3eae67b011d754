"""Downloads that were begun and not finished, kept in a file from one start to the next.

Holds names, sizes and checksums; no address and no token.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from app.catalog.download import Job
from app.catalog.remote import RemoteFile
from app.settings.file import read_values, write_values

_JOBS = "jobs"


def read_jobs(path: Path) -> list[Job]:
    """The jobs that were kept, in order; what is not one is left out."""
    kept = read_values(path).get(_JOBS)
    if not isinstance(kept, list):
        return []
    jobs = (_job(values) for values in kept)
    return [job for job in jobs if job is not None]


def write_jobs(path: Path, jobs: Sequence[Job]) -> None:
    """Keep these jobs. Raises OSError."""
    write_values(path, {_JOBS: [asdict(job) for job in jobs]})


def _job(values: Any) -> Job | None:
    try:
        files = tuple(RemoteFile(**file) for file in values["files"])
        job = Job(**{**values, "files": files})
        is_sound = all(
            type(file.num_bytes) is int and isinstance(file.name, str) for file in files
        )
        texts = (job.repository, job.revision, job.folder, job.title)
        is_sound = is_sound and all(isinstance(text, str) for text in texts)
    except (TypeError, KeyError):
        return None
    return job if is_sound and files else None
