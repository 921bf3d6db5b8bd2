"""``python -m tests``: three processes of pytest beside each other share the machine.

Tests marked slow start ranks, clusters and browsers: two of them at once would take each other's
cores, ports and processes, so they run one after the other. All others are dealt out to two
processes, file by file, so that both cores have work to the end. They leave a core to the slow
tests, which take longest, wherever these want one; and their arithmetic keeps to one thread, as
several would spin while they wait for one whose core a rank has. No process imports files whose
tests others run. Modules are compiled once, whatever the environment says, and not by each of the
hundreds of processes that tests start.
Tests marked evidence are left out: they have a command of their own, `make evidence`.
Arguments go to all; for a choice of one's own, or a debugger, there is pytest itself.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from typing import NamedTuple


class Kind(NamedTuple):
    """Tests of one process. chosen: how pytest chooses them. behind: they yield to the others."""

    chosen: tuple[str, ...]
    behind: bool = False


SHARED = ("-p", "tests.share")
OTHERS = (*SHARED, "-m", "not slow and not evidence", "--share")
KINDS = {
    "slow": Kind((*SHARED, "-m", "slow and not evidence", "--marked", "slow")),
    "others": Kind((*OTHERS, "1/2"), behind=True),
    "others, second half": Kind((*OTHERS, "2/2"), behind=True),
}
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
BEHIND = 5  # added to the nice value of those that yield
UNCOMPILED = "PYTHONDONTWRITEBYTECODE"
ONE_ONLY = ("-m", "--pdb", "--trace", "--basetemp", "--junit-xml", "--junitxml")
NOTHING_CHOSEN = 5  # pytest's exit status where the arguments leave no test of a kind
INTERRUPTED = 130


def main() -> int:
    """Shows the slow tests as they run, then what the rest said; 0 only where all passed."""
    given = sys.argv[1:]
    if own := [word for word in given if word.partition("=")[0] in ONE_ONLY]:
        print(f"{own[0]} is for one process: python -m pytest {' '.join(given)}", file=sys.stderr)
        return 2
    interrupted = False
    running, unseen = [], {}
    environment = {name: value for name, value in os.environ.items() if name != UNCOMPILED}
    with contextlib.ExitStack() as opened:
        for name, kind in KINDS.items():
            own = [*kind.chosen, "-o", f"cache_dir=.pytest_cache/{name}"]
            command = [sys.executable, "-m", "pytest", *own, *given]
            if not running:
                running.append(subprocess.Popen(command, env=environment))
                continue
            said = unseen[name] = opened.enter_context(tempfile.TemporaryFile())
            threads = ONE_THREAD if kind.behind else {}
            running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said,
                                            stderr=subprocess.STDOUT,
                                            env={**environment, **threads}))  # fmt: skip
            if kind.behind:
                nice = os.getpriority(os.PRIO_PROCESS, 0) + BEHIND
                os.setpriority(os.PRIO_PROCESS, running[-1].pid, nice)
        for one in running:
            try:
                one.wait()
            except KeyboardInterrupt:  # all have it, and clean up
                interrupted = True
                one.wait()
        for name, said in unseen.items():
            said.seek(0)
            text = said.read().decode(errors="replace")
            print(f"\nBeside them, the {name}:\n{text}", flush=True)
    statuses = [one.returncode for one in running]
    if interrupted:
        return INTERRUPTED
    if any(status not in (0, NOTHING_CHOSEN) for status in statuses):
        return 1
    return min(statuses)  # no test at all is no success


if __name__ == "__main__":
    sys.exit(main())
