"""The commands of packaging/bootstrap.py: what each does, in which order.

Every failure a person can act on ends here as one sentence on standard error.
"""

import argparse
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import libraries
import starter
from console import SetupError, Shell, SystemShell, say
from environment import Environment, find_torch_build

ROOT = Path(__file__).resolve().parent.parent
LINUX = sys.platform.startswith("linux")
# Qt platforms that draw without a screen
SCREENLESS = ("offscreen", "minimal", "vnc")


def main(arguments: Sequence[str], shell: Shell | None = None) -> int:
    """Run one command; return the exit code."""
    options = _parse(arguments)
    try:
        return _carry_out(options, shell or SystemShell())
    except SetupError as error:
        sentence = str(error)
    except KeyboardInterrupt:
        print("\nStopped. Nothing is half done: start again to go on.", file=sys.stderr)
        return 130
    except OSError as error:
        sentence = _sentence(error)
    print(f"tokentide: {sentence}", file=sys.stderr)
    return 1


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bootstrap.py", description="Set Tokentide up, start it, test it."
    )
    parser.add_argument("command", choices=("run", "test", "install"))
    parser.add_argument("--offline", action="store_true", help="never touch the network")
    parser.add_argument("--dev", action="store_true", help="install what the tests need, too")
    parser.epilog = "What follows -- is handed on to the app, or to pytest."
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return parser.parse_args(arguments[:end], argparse.Namespace(rest=arguments[end + 1 :]))


def _carry_out(options: argparse.Namespace, shell: Shell) -> int:
    tests = options.dev or options.command == "test"
    if options.command == "run":
        check_display()
    if LINUX:
        missing = libraries.missing_packages(tests=tests, shell=shell)
        libraries.provide(missing, shell, offline=options.offline)
    environment = Environment(ROOT, shell, tests, find_torch_build())
    environment.prepare(offline=options.offline)
    model = starter.starter_path(environment.python, ROOT, shell)
    starter.fetch(model, environment.python, shell, offline=options.offline)
    if options.command == "run":
        start_app(environment.python, model, options.rest)
    if options.command == "test":
        return run_tests(environment.python, model, options.rest, shell)
    say("Tokentide is set up. Start it with: python3 packaging/bootstrap.py run")
    return 0


def check_display() -> None:
    """Refuse early where no window can open."""
    if not LINUX or os.environ.get("QT_QPA_PLATFORM", "").startswith(SCREENLESS):
        return
    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
        raise SetupError(
            "There is no display to open a window on (neither DISPLAY nor WAYLAND_DISPLAY is "
            "set): start it from a desktop session, or chat in the terminal after "
            "packaging/bootstrap.py install  with  .venv/bin/python -m engine chat."
        )


def start_app(python: Path, model: Path, rest: Sequence[str]) -> NoReturn:
    """Become the app.

    It opens the starter model by itself while no other was chosen; a copy that lies elsewhere is
    named to it.
    """
    elsewhere = ["--model", str(model)] if starter.VARIABLE in os.environ else []
    command = [str(python), "-m", "app", *elsewhere, *rest]
    os.chdir(ROOT)
    if sys.platform == "win32":
        sys.exit(subprocess.run(command, check=False).returncode)
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted: the path may hold spaces


def run_tests(python: Path, model: Path, rest: Sequence[str], shell: Shell) -> int:
    """Run pytest on a virtual screen where there is one, else without any."""
    command = [str(python), "-m", "pytest", *rest]
    env = {starter.VARIABLE: str(model), "QT_QPA_PLATFORM": "offscreen"}
    if LINUX and shutil.which("xvfb-run"):
        screen = "-screen 0 1920x1080x24"
        command = ["xvfb-run", "--auto-servernum", f"--server-args={screen}", *command]
        env["QT_QPA_PLATFORM"] = "xcb"
    os.chdir(ROOT)
    return shell.show(command, env)


def _sentence(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "The disk is full: make room and start again."
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return f"{error.filename} may not be written: give yourself the right to, or move the project."
    return f"The system refused: {error.strerror or error} ({error.filename or 'no file named'})."
