"""The command line's way in: nothing is imported before Ctrl-C is minded."""

from __future__ import annotations

import gc
import os
import sys

EXIT_INTERRUPTED = 130  # as shells say it
COLLECT_EVERY = 50_000  # allocations


def main() -> None:
    """Run the command line and end with its exit status; Ctrl-C is one line and status 130."""
    _open_closed_streams()
    # Imports and catalogue make many objects and drop few: collecting less often saves a tenth of
    # a second of a short command.
    gc.set_threshold(COLLECT_EVERY)
    try:
        from dse.commands.app import run_command

        status = run_command()
    except KeyboardInterrupt as cause:
        status = EXIT_INTERRUPTED
        said = "; ".join(text for text in ("interrupted", str(cause)) if text)
        print(f"\n{said}", file=sys.stderr)
    raise SystemExit(status)


def _open_closed_streams() -> None:
    """Write nowhere where a shell closed an output (``>&-``), and let no file take its place."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(opened)
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w"))  # noqa: SIM115


if __name__ == "__main__":
    main()
