"""Approaches across the emulated cluster: ``python -m benchmarks.approaches measure | confirm |
show``.

measure    run every approach on every network, host count and link rate that benchmarks/lab/results
           does not hold yet (root; about half an hour for everything; --minutes stops it earlier)
confirm    the same for the cells that were measured after the model's form was final (10 minutes)
show       what the committed results say, beside the model; needs no root
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.approaches import cells, judge, measure, results
from benchmarks.lab.network import unavailable
from dse.errors import MeasurementError


def main() -> int:
    """Do what the command line says; 2 and one line where it cannot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.approaches", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("action", choices=("measure", "confirm", "show"))
    parser.add_argument("--runs", type=int, default=1, help="runs of every start to have (1)")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no cell after (60)")
    chosen = parser.parse_args()
    if chosen.action == "show":
        print(judge.report(results.rows()))
        return 0
    reason = unavailable()
    if reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return 2
    try:
        asked = (cells.cells(), results.FILE)
        if chosen.action == "confirm":
            asked = (cells.confirming(), results.CONFIRMING_FILE)
        left = measure.measure_all(asked[0], chosen.runs, 60 * chosen.minutes, asked[1])
    except MeasurementError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    print(f"{left} starts are left" if left else "all is measured")
    return 0


if __name__ == "__main__":
    sys.exit(main())
