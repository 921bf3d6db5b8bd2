"""``python -m tests``: the tests marked slow, one after the other, and beside them all others.

Slow ones start ranks, clusters and browsers: two of them at once would take each other's cores,
ports and processes. So two processes of pytest share the machine. Arguments go to both.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

KINDS = ("slow", "not slow")
NOTHING_CHOSEN = 5  # pytest's exit status where the arguments leave no test of a kind


def main() -> int:
    """Shows the slow tests as they run, then what the others said; 0 only where all passed."""
    slow, others = ([sys.executable, "-m", "pytest", "-m", kind, *sys.argv[1:]] for kind in KINDS)
    with tempfile.TemporaryFile() as said:
        beside = subprocess.Popen(others, stdout=said, stderr=subprocess.STDOUT)
        try:
            statuses = [subprocess.call(slow), beside.wait()]
        finally:
            beside.terminate()  # on Ctrl-C
            beside.wait()
            said.seek(0)
            print(f"\nThe others, beside them:\n{said.read().decode(errors='replace')}", flush=True)
    if any(status not in (0, NOTHING_CHOSEN) for status in statuses):
        return 1
    return min(statuses)  # no test at all is no success


if __name__ == "__main__":
    sys.exit(main())
