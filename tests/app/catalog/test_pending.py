"""Unfinished downloads outlive the app."""

import json

import pytest

from app.catalog.download import Job
from app.catalog.pending import read_jobs, write_jobs
from app.catalog.remote import RemoteFile

JOB = Job("a/b", "c0ffee", (RemoteFile("x.gguf", 7, "12"), RemoteFile("y", 1)), "/модели", "X")


def test_jobs_come_back(tmp_path):
    path = tmp_path / "downloads.json"
    assert read_jobs(path) == []
    write_jobs(path, [JOB, JOB])
    assert read_jobs(path) == [JOB, JOB]


@pytest.mark.parametrize(
    "kept",
    [7, [7], [{}], [{"files": 3}], [{"files": [{"name": "x"}]}], [{"files": [], "folder": "x"}]],
)
def test_what_is_no_job_is_left_out(tmp_path, kept):
    path = tmp_path / "downloads.json"
    path.write_text(json.dumps({"jobs": kept}))
    assert read_jobs(path) == []
