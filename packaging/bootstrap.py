"""Set Tokentide up and start it, on a machine that has only Python and git.

    python3 packaging/bootstrap.py run        set up what is missing, open the window
    python3 packaging/bootstrap.py test       set up what is missing, run every test
    python3 packaging/bootstrap.py install    set up only

This file checks the Python it runs on and nothing else, in words that an old Python still reads;
``steps`` does the work. Needs nothing beyond the standard library.
"""

import sys

OLDEST, TOO_NEW = (3, 11), (3, 15)

if not OLDEST <= sys.version_info[:2] < TOO_NEW or sys.maxsize < 2**32:
    bits = "64-bit" if sys.maxsize > 2**32 else "32-bit"
    sys.exit(
        "Tokentide runs on a 64-bit Python 3.11, 3.12, 3.13 or 3.14, and this is a "
        + (bits + " Python " + ".".join(map(str, sys.version_info[:2])))
        + "; start packaging/bootstrap.py again with one of those, for example: python3.11 "
        + "packaging/bootstrap.py run"
    )

from steps import main  # noqa: E402 - an old Python cannot even read it

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
