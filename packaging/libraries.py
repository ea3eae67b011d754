"""System libraries on Linux: what Qt and the tests need, and how to get it.

Each library is tried, not looked up by package. Installs through apt where that works without a
question; elsewhere names the exact command. Installs no Python packages.
"""

import ctypes
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence

from console import SetupError, Shell, say

# library that Qt's X11 plug-in loads -> Debian package
QT_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libwayland-client.so.0": "libwayland-client0",
}
# program that the tests start -> Debian package
TEST_PROGRAMS = {"Xvfb": "xvfb", "xvfb-run": "xvfb", "xauth": "xauth", "xdotool": "xdotool"}
FONTS = {"": "fonts-dejavu-core", "zh": "fonts-wqy-microhei"}


def can_load(library: str) -> bool:
    """Whether the dynamic linker finds the library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def missing_packages(
    *, tests: bool, shell: Shell, loads: Callable[[str], bool] = can_load
) -> list[str]:
    """Debian packages that would bring what is missing, each once; empty when all is there."""
    missing = [package for name, package in QT_LIBRARIES.items() if not loads(name)]
    if tests:
        missing += [p for program, p in TEST_PROGRAMS.items() if shutil.which(program) is None]
    if shutil.which("fc-list") is None:
        missing.append("fontconfig")
    missing += [p for language, p in FONTS.items() if not _has_font(shell, language)]
    if importlib.util.find_spec("ensurepip") is None:  # Debian keeps it in a package of its own
        missing.append(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv")
    return list(dict.fromkeys(missing))


def provide(packages: Sequence[str], shell: Shell, *, offline: bool) -> None:
    """Install ``packages`` with apt, or raise the sentence that says how."""
    if not packages:
        return
    names = " ".join(packages)
    by_hand = f"apt-get install {names}"
    if shutil.which("apt-get") is None:
        raise SetupError(
            f"Some system packages are missing (on Debian they are called {names}): "
            "install them with this system's package manager and start again."
        )
    if offline:
        raise SetupError(
            "Some system packages are missing and --offline was given: run once with a network, "
            f"or install them with  {by_hand}"
        )
    prefix = privilege(shell)
    if prefix is None:
        raise SetupError(
            "Some system packages are missing and installing them needs administrator rights: "
            f"run  sudo {by_hand}  and start again."
        )
    say(f"Installing system packages: {names}")
    _apt_install(packages, prefix, shell)


def privilege(shell: Shell) -> list[str] | None:
    """What to put before an apt command: nothing as root, sudo if it does not ask, else None."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and shell.run(["sudo", "-n", "true"]).code == 0:
        return ["sudo", "-n"]
    return None


def _apt_install(packages: Sequence[str], prefix: Iterable[str], shell: Shell) -> None:
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    update = shell.run([*apt, "update"])
    result = shell.run([*apt, "install", "--no-install-recommends", *packages])
    if result.code == 0:
        return
    names = " ".join(packages)
    if update.code != 0:
        raise SetupError(
            f"The system packages {names} could not be installed, since the package servers "
            "cannot be reached: connect to the network and start again."
        )
    last = (result.text.strip().splitlines() or ["no reason given"])[-1]
    raise SetupError(f"apt-get could not install {names}: {last}")


def _has_font(shell: Shell, language: str) -> bool:
    pattern = f":lang={language}" if language else ":"
    found = shell.run(["fc-list", pattern, "family"])
    return found.code == 0 and bool(found.text.strip())
