"""How busy other programs keep this machine while something is measured."""

import sys
import time

import psutil


class Others:
    """From its making on: the processor time that was neither this program's nor its children's."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._before_s = _others_s()

    def cores(self) -> float:
        """So many cores were busy for others, on the mean; 0 where that cannot be told."""
        spent_s = time.monotonic() - self._began_s
        if spent_s <= 0 or sys.platform == "win32":  # it counts no children there
            return 0.0
        return max(0.0, (_others_s() - self._before_s) / spent_s)


def _others_s() -> float:
    """Processor seconds of all other programs since the machine started."""
    all_times = psutil.cpu_times()
    idle = all_times.idle + getattr(all_times, "iowait", 0.0)
    # what guests take is part of the user's time already
    guests = getattr(all_times, "guest", 0.0) + getattr(all_times, "guest_nice", 0.0)
    own = psutil.Process().cpu_times()
    children = getattr(own, "children_user", 0.0) + getattr(own, "children_system", 0.0)
    return float(sum(all_times) - guests - idle - own.user - own.system - children)
