"""``python -m app`` opens the window.

A frozen app has no other program to run the engine's command line with: where the first word is
``--engine``, this one is it (``app.quality.evaluation`` starts it so).
"""

import sys

from app.quality.evaluation import ENGINE_WORD


def main() -> int:
    """Run what the command line asks for; the process's exit status."""
    if sys.argv[1:2] == [ENGINE_WORD]:
        from engine.__main__ import main as engine_main  # noqa: PLC0415 - the window needs none of it

        return engine_main(sys.argv[2:])
    from app.main import main as window_main  # noqa: PLC0415 - the engine needs none of it

    return window_main()


if __name__ == "__main__":
    sys.exit(main())
