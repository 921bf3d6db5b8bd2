"""``python -m tests``: the tests marked slow, one after the other, and beside them all others.

Slow ones start ranks, clusters and browsers: two of them at once would take each other's cores,
ports and processes. So two processes of pytest share the machine. The others' arithmetic keeps to
one thread: several would spin while they wait for one whose core a rank has. Arguments go to both;
for a choice of one's own, or a debugger, there is pytest itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

KINDS = {"slow": "slow", "others": "not slow"}
ONE_ONLY = ("-m", "--pdb", "--trace", "--basetemp", "--junit-xml", "--junitxml")
NOTHING_CHOSEN = 5  # pytest's exit status where the arguments leave no test of a kind
INTERRUPTED = 130


def main() -> int:
    """Shows the slow tests as they run, then what the others said; 0 only where all passed."""
    given = sys.argv[1:]
    if own := [word for word in given if word.partition("=")[0] in ONE_ONLY]:
        print(f"{own[0]} is for one process: python -m pytest {' '.join(given)}", file=sys.stderr)
        return 2
    slow, others = (
        [sys.executable, "-m", "pytest", "-m", kind, "-o", f"cache_dir=.pytest_cache/{name}"]
        for name, kind in KINDS.items()
    )
    interrupted = False
    with tempfile.TemporaryFile() as said:
        unseen = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": subprocess.STDOUT,
                  "env": {**os.environ, "OMP_NUM_THREADS": "1"}}  # fmt: skip
        both = [subprocess.Popen([*slow, *given]), subprocess.Popen([*others, *given], **unseen)]
        for one in both:
            try:
                one.wait()
            except KeyboardInterrupt:  # both have it too, and clean up
                interrupted = True
                one.wait()
        said.seek(0)
        print(f"\nThe others, beside them:\n{said.read().decode(errors='replace')}", flush=True)
    statuses = [one.returncode for one in both]
    if interrupted:
        return INTERRUPTED
    if any(status not in (0, NOTHING_CHOSEN) for status in statuses):
        return 1
    return min(statuses)  # no test at all is no success


if __name__ == "__main__":
    sys.exit(main())
