"""Reports of what went wrong."""

import subprocess
import sys
import threading

from app.crash import REPORT_NAME, CrashWatch


def test_a_clean_run_leaves_nothing(tmp_path):
    watch = CrashWatch(tmp_path)
    watch.start()
    watch.stop()
    assert list(tmp_path.iterdir()) == []
    assert watch.previous is None


def test_an_uncaught_exception_is_found_at_the_next_start(tmp_path, logfail):
    logfail.expect("Uncaught exception in")
    watch = CrashWatch(tmp_path)
    watch.start()
    error = ValueError("no such wave")
    sys.excepthook(ValueError, error, None)
    watch.stop()
    later = CrashWatch(tmp_path)
    later.start()
    later.stop()
    assert later.previous is not None
    assert "no such wave" in later.previous.read_text(encoding="utf-8")


def test_an_exception_in_a_thread_is_written(tmp_path, logfail):
    logfail.expect("Uncaught exception in worker")
    watch = CrashWatch(tmp_path)
    watch.start()
    thread = threading.Thread(target=lambda: 1 / 0, name="worker")
    thread.start()
    thread.join()
    watch.stop()
    assert "ZeroDivisionError" in (tmp_path / REPORT_NAME).read_text(encoding="utf-8")


def test_a_crash_below_python_leaves_a_trace(tmp_path):
    code = (
        "import faulthandler, pathlib, sys\n"
        "from app.crash import CrashWatch\n"
        "CrashWatch(pathlib.Path(sys.argv[1])).start()\n"
        "faulthandler._sigsegv()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode != 0
    assert "Segmentation" in (tmp_path / REPORT_NAME).read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_does_not_stop_the_start(tmp_path, logfail):
    logfail.expect("No crash reports")
    (tmp_path / "file").write_text("")
    watch = CrashWatch(tmp_path / "file" / "logs")
    watch.start()
    watch.stop()
