"""A download arrives whole and right, or says in one sentence why not, and keeps what came."""

import errno
import os
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.catalog import errors
from app.catalog.download import Conditions, Download, Job, Phase
from app.catalog.hub import Hub
from app.catalog.part import Part
from app.catalog.remote import RemoteFile
from tests.app.catalog.conftest import MODEL
from tests.helpers.hub_server import COMMIT, Fault, Repository, blob_id, sha256

NAME = "tiny-Q4_K_M.gguf"
FILE = RemoteFile(NAME, len(MODEL), sha256(MODEL))
AT_ONCE = Conditions(pauses=(0.0, 0.0, 0.0), reserve_bytes=0)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "модели 模型" / "makers" / "tiny"


@pytest.fixture
def fetch(server, folder):
    def run(*files, conditions=AT_ONCE, repository="makers/tiny"):
        job = Job(repository, COMMIT, files or (FILE,), str(folder), "Tiny")
        download = Download(job, conditions)
        return download, partial(download.run, partial(Hub, server.endpoint))

    return run


def parts(folder):
    return sorted(path.name for path in folder.glob("*.part"))


def test_a_file_arrives(fetch, folder):
    download, run = fetch()
    assert download.state.phase is Phase.QUEUED
    assert run() == [folder / NAME]
    assert (folder / NAME).read_bytes() == MODEL
    assert parts(folder) == []
    assert download.state.phase is Phase.DONE
    assert download.state.done_bytes == download.state.total_bytes == len(MODEL)


def test_several_files_small_ones_by_gits_checksum(fetch, folder):
    small = RemoteFile("config.json", 2, blob_id=blob_id(b"{}"))
    _, run = fetch(small, FILE)
    run()
    assert (folder / "config.json").read_bytes() == b"{}"
    assert (folder / NAME).read_bytes() == MODEL


def test_a_line_that_drops_again_and_again(fetch, folder, server):
    server.faults += [Fault(drop_after=100_000), Fault(drop_after=50_000), Fault(drop_after=1)]
    download, run = fetch()
    run()
    assert (folder / NAME).read_bytes() == MODEL
    assert server.ranges == [None, "bytes=100000-", "bytes=150000-", "bytes=150001-"]
    assert download.state.phase is Phase.DONE


def test_a_line_that_stays_down_keeps_what_came(fetch, folder, server):
    server.faults += [Fault(drop_after=1_000), *[Fault(status=503)] * 4]
    download, run = fetch()
    with pytest.raises(errors.HubFaultError, match=r"503.*kept"):
        run()
    assert download.state.phase is Phase.FAILED
    assert len(parts(folder)) == 1
    again, run = fetch()
    run()
    assert server.ranges[-1] == "bytes=1000-"
    assert again.state.done_bytes == len(MODEL)
    assert (folder / NAME).read_bytes() == MODEL


def test_another_version_does_not_continue_the_part(fetch, folder, server):
    server.faults += [Fault(drop_after=1_000), *[Fault(status=503)] * 4]
    with pytest.raises(errors.HubFaultError):
        fetch()[1]()
    fresh = MODEL[::-1]
    server.repositories["makers/tiny"] = Repository({NAME: fresh})
    fetch(replace(FILE, sha256=sha256(fresh)))[1]()
    assert server.ranges[-1] is None
    assert (folder / NAME).read_bytes() == fresh


def test_a_server_that_knows_no_ranges_starts_over(fetch, folder, server):
    server.faults += [Fault(drop_after=1_000), Fault(is_rangeless=True)]
    download, run = fetch()
    run()
    assert (folder / NAME).read_bytes() == MODEL
    assert download.state.done_bytes == len(MODEL)


def test_a_wrong_hash_is_thrown_away(fetch, folder, server):
    server.faults.append(Fault(content=MODEL[::-1]))
    _, run = fetch()
    with pytest.raises(errors.DamagedError, match="thrown away"):
        run()
    assert list(folder.iterdir()) == []


def test_more_bytes_than_announced(fetch, folder, server):
    server.faults.append(Fault(content=MODEL + b"more"))
    with pytest.raises(errors.DamagedError):
        fetch()[1]()
    assert list(folder.iterdir()) == []


def test_a_part_that_was_spoilt_on_the_disk_is_found_out(fetch, folder, server):
    server.faults += [Fault(drop_after=1_000), *[Fault(status=503)] * 4]
    with pytest.raises(errors.HubFaultError):
        fetch()[1]()
    (part,) = folder.glob("*.part")
    part.write_bytes(b"\0" * 1_000)
    with pytest.raises(errors.DamagedError):
        fetch()[1]()
    fetch()[1]()
    assert (folder / NAME).read_bytes() == MODEL


def test_the_disk_is_looked_at_first(fetch, folder, server):
    conditions = replace(AT_ONCE, free_bytes=lambda _: 1_000, reserve_bytes=500)
    download, run = fetch(conditions=conditions)
    with pytest.raises(errors.DiskFullError) as caught:
        run()
    assert caught.value.details == {"needed": len(MODEL) + 500, "free": 1_000}
    assert server.requests == []
    assert download.state.phase is Phase.FAILED
    assert list(folder.iterdir()) == []


def test_a_disk_that_fills_meanwhile_keeps_what_came(fetch, folder, monkeypatch):
    write = Part.write

    def full(part, block):
        if part.num_bytes > 100_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(part, block)

    monkeypatch.setattr(Part, "write", full)
    with pytest.raises(errors.DiskFullError, match="kept"):
        fetch()[1]()
    monkeypatch.undo()
    (part,) = folder.glob("*.part")
    assert 0 < part.stat().st_size < len(MODEL)
    fetch()[1]()
    assert (folder / NAME).read_bytes() == MODEL


def test_a_folder_that_cannot_be_made(fetch, folder):
    folder.parent.mkdir(parents=True)
    folder.write_text("a file is in the way")
    with pytest.raises(errors.FolderRefusedError, match="Choose another folder"):
        fetch()[1]()


def test_stop_in_the_middle_and_go_on(fetch, folder, server):
    server.gate = threading.Event()
    download, run = fetch()
    raised = []

    def work():
        try:
            run()
        except errors.StoppedError as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while download.state.done_bytes < 50_000:
        assert thread.is_alive()
        threading.Event().wait(0.01)
    assert download.state.phase is Phase.RECEIVING
    download.stop()
    server.gate.set()
    thread.join(20)
    assert len(raised) == 1
    assert download.state.phase is Phase.STOPPED
    assert len(parts(folder)) == 1
    server.gate = None
    again, run = fetch()
    run()
    assert (folder / NAME).read_bytes() == MODEL
    assert again.state.phase is Phase.DONE


def test_stop_before_the_start_and_while_waiting(fetch, server):
    download, run = fetch()
    download.stop()
    with pytest.raises(errors.StoppedError):
        run()
    assert server.requests == []
    server.faults += [Fault(status=429, headers={"Retry-After": "200"})]
    download, run = fetch()
    threading.Timer(0.2, download.stop).start()
    with pytest.raises(errors.StoppedError):
        run()


def test_a_wait_of_hours_is_a_failure(fetch, server):
    server.faults += [Fault(status=429, headers={"Retry-After": "9000"})]
    with pytest.raises(errors.HubBusyError, match="9000 seconds"):
        fetch()[1]()


def test_a_gated_repository_is_not_retried(fetch, server):
    with pytest.raises(errors.HubGatedError):
        fetch(repository="makers/shy")[1]()
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", ["../evil.gguf", "/evil.gguf", "a\\..\\evil.gguf", "C:evil.gguf"])
def test_a_name_that_leads_elsewhere(fetch, server, name):
    with pytest.raises(errors.UnsafeNameError):
        fetch(replace(FILE, name=name))[1]()
    assert server.requests == []


def test_a_link_that_leads_elsewhere(fetch, folder, tmp_path):
    folder.mkdir(parents=True)
    (folder / "sub").symlink_to(tmp_path)
    with pytest.raises(errors.UnsafeNameError):
        fetch(replace(FILE, name=f"sub/{NAME}"))[1]()


def test_what_is_there_is_not_fetched_again(fetch, server):
    fetch()[1]()
    server.requests.clear()
    download, run = fetch()
    run()
    assert server.requests == []
    assert download.state.done_bytes == len(MODEL)


def test_what_an_earlier_run_left_is_seen_without_reading_it(fetch, server):
    small = RemoteFile("config.json", 2, blob_id=blob_id(b"{}"))
    server.faults += [Fault(drop_after=1_000), *[Fault(status=503)] * 4]
    _, run = fetch(small, FILE)
    with pytest.raises(errors.HubFaultError):
        run()
    later, run = fetch(small, FILE)
    later.look()
    assert later.state.done_bytes == 1_002
    assert later.state.phase is Phase.STOPPED
    run()
    assert later.state.done_bytes == later.state.total_bytes
    unsafe, _ = fetch(replace(FILE, name="../x"))
    unsafe.look()
    assert unsafe.state.done_bytes == 0


def test_discard_removes_the_part_only(fetch, folder, server):
    small = RemoteFile("config.json", 2, blob_id=blob_id(b"{}"))
    server.faults += [Fault(drop_after=1_000), *[Fault(status=503)] * 4]
    download, run = fetch(small, FILE)
    with pytest.raises(errors.HubFaultError):
        run()
    download.discard()
    assert [path.name for path in folder.iterdir()] == ["config.json"]


def test_speed_and_time_left_come_from_the_clock():
    seconds = iter(range(100))
    conditions = replace(AT_ONCE, clock=lambda: float(next(seconds)))
    download = Download(Job("a/b", COMMIT, (FILE,), str(Path("x")), "Tiny"), conditions)
    download._receive_bytes(100_000)
    assert download.state.bytes_per_s is None
    download._receive_bytes(50_000)
    assert download.state.bytes_per_s == 50_000
    assert download.state.seconds_left == (len(MODEL) - 150_000) / 50_000
    for _ in range(12):
        download._receive_bytes(10_000)
    assert download.state.bytes_per_s == 10_000
