"""Fixtures of every test: isolation, leak and log checks, the starter model.

Opting out is explicit: ``logfail.expect(pattern)`` for a record that a test provokes.
"""

import gc
import os
import random
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import platformdirs
import pytest

from tests.helpers.leaks import QtWatch, new_threads
from tests.helpers.logfail import LogFail, watch_log
from tests.helpers.offline import block_network

STARTER_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["PYTHONUTF8"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", str(min(4, os.cpu_count() or 1)))
# threads that wait for their part of a tiny product take no core from those that have work
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
if sys.platform == "linux" and not os.environ.get("DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

hypothesis.settings.register_profile(
    "everyday", deadline=None, database=None, derandomize=IN_CI, print_blob=True
)
hypothesis.settings.load_profile("everyday")


def _find_starter_model() -> Path:
    if named := os.environ.get("TOKENTIDE_STARTER_MODEL"):
        return Path(named)
    home = os.environ.get("TOKENTIDE_HOME")
    data = Path(home) if home else platformdirs.user_data_path("tokentide", appauthor=False)
    return data / "models" / STARTER_MODEL


# read before any test changes the environment
_STARTER_PATH = _find_starter_model()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests first, then comparisons with references, whole flows, measurements."""
    slow = ("oracle", "flow", "perf")

    def rank(item: pytest.Item) -> int:
        return max(
            (i for i, name in enumerate(slow, 1) if item.get_closest_marker(name)), default=0
        )

    items.sort(key=rank)


def pytest_collection_finish() -> None:
    """Spare every collection of garbage the modules and tests, which stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def starter_model() -> Path:
    """Path of SmolLM2-135M-Instruct (Q4_1), as packaging/bootstrap.py fetches it."""
    if _STARTER_PATH.is_file():
        return _STARTER_PATH
    reason = f"no starter model at {_STARTER_PATH}: run packaging/bootstrap.py install"
    if IN_CI:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(autouse=True)
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data, settings and caches of the app live in the test's own folder."""
    home = tmp_path / "tokentide-home"
    monkeypatch.setenv("TOKENTIDE_HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("LANGUAGE", "en")
    return home


@pytest.fixture(autouse=True)
def _same_dice() -> None:
    """Random weights and prompts are the same in every run, whichever tests ran before."""
    random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    block_network(monkeypatch)


@pytest.fixture(autouse=True)
def logfail() -> Iterator[LogFail]:
    """Fail the test on a log record of level WARNING or above that it did not expect."""
    with watch_log() as handler:
        yield handler
    if complaints := handler.complaints():
        pytest.fail("\n".join(complaints), pytrace=False)


@pytest.fixture(autouse=True)
def _no_leaks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = threading.enumerate()
    watch = None
    if "qtbot" in request.fixturenames:
        request.getfixturevalue("qapp")
        watch = QtWatch(monkeypatch)
    yield
    complaints = new_threads(threads)
    if watch is not None:
        complaints += watch.complaints()
        watch.undress()
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)
