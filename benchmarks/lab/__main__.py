"""The emulated cluster: ``python -m benchmarks.lab --quick | measure | training | show``.

--quick    two and three hosts, shaped rates, verified allreduce, one training step (under 90 s)
measure    one more run of every allreduce start (about 10 minutes); adds to results/
training   training steps on 2, 4 and 8 hosts (about 6 minutes); adds to results/
show       what the committed results say; needs no root
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.lab import compare, stream, training
from benchmarks.lab.measure import MBPS, RESULTS, Start, measure, measure_start, one_pass
from benchmarks.lab.network import network, unavailable
from dse.calibration.experiment import Experiment, read_experiment
from dse.errors import MeasurementError

TRAINING_MBPS = 400.0
QUICK_MBPS = 200.0
STEPS = 7


def quick() -> None:
    """A small end-to-end check, as a table."""
    rate = QUICK_MBPS * MBPS
    with network(3, rate) as lab:
        one = stream.rates(lab, [0], 1)
        two = stream.rates(lab, [0, 2], 1)
        shares = " + ".join(f"{flow / rate:.0%}" for flow in two)
        print(f"one stream reaches {one[0] / rate:.0%} of {QUICK_MBPS:g} Mbps; two into one host "
              f"share it {shares}")  # fmt: skip
        table(measure_start(lab, Start(QUICK_MBPS, 3, 1, 12.0), run=1))
    case = training.case(training.TRAININGS[1], training.BUCKETS[1], "ring")
    rows = training.measure(QUICK_MBPS, 2, [case], steps=3, limit_s=60.0)
    steps_table(rows)


def table(found: Experiment) -> None:
    """Measured seconds against the wire's, by ranks, algorithm and size."""
    print("| Mbps | hosts x ranks | what | bytes | median ms | over the wire's time |")
    print("|---|---|---|---|---|---|")
    for s in compare.pooled(found.samples):
        wire = compare.wire_s(s) if s.collective == "allreduce" else s.bytes / (
            s.link_bytes_per_s or 1.0)  # fmt: skip
        mbps = (s.link_bytes_per_s or 0.0) / MBPS
        print(f"| {mbps:g} | {s.nodes} x {s.ranks_per_node} | {s.algorithm} | {s.bytes} "
              f"| {1e3 * s.median_s:.2f} | {s.median_s / wire:.2f} |")  # fmt: skip


def steps_table(rows: list[dict[str, object]]) -> None:
    """Measured steps and what the overlap model makes of their own buckets."""
    print("| Mbps | ranks | workload | bucket KiB | algorithm | overlap | step s | composed |")
    print("|---|---|---|---|---|---|---|---|")
    errors = training.errors(rows)
    for index, row in enumerate(rows):
        for offset, name in enumerate(("overlapped_s", "plain_s")):
            steps = row[name]
            assert isinstance(steps, list)
            middle = sorted(steps)[len(steps) // 2]
            mbps = float(str(row["link_bytes_per_s"])) / MBPS
            kib = int(str(row["bucket_bytes"])) // 1024
            print(f"| {mbps:g} | {row['ranks']} | {row['workload']} | {kib} | {row['algorithm']} "
                  f"| {name == 'overlapped_s'} | {middle:.3f} "
                  f"| {errors[2 * index + offset][1]:+.1%} |")  # fmt: skip


def show(folder: Path = RESULTS) -> None:
    """The committed results: textbook's errors at the held-out hosts, and the overlap model's."""
    for path in sorted(folder.glob("mpi-*.json")):
        samples = read_experiment(path).samples
        for algorithm in ("ring", "recursive-doubling", "halving-doubling"):
            found = compare.textbook_errors(samples, algorithm, samples[0].link_bytes_per_s or 0.0)
            print(f"{path.stem}: textbook {algorithm}, 2-4 hosts -> 6 and 8: "
                  f"{compare.summary(found)}")  # fmt: skip
    path = folder / "training.json"
    if path.exists():
        for costs in ("row_s", "alone_s"):
            errors = training.errors(training.load(path), costs)
            for name in ("overlapped_s", "plain_s"):
                print(f"training, {name}, from the measured {costs} of its own buckets: "
                      f"{compare.summary([e for kind, e in errors if kind == name])}")  # fmt: skip


def measure_all() -> None:
    """One pass over every start."""
    for start in one_pass():
        began = time.monotonic()
        found = measure(start)
        print(f"{start}: {len(found.samples)} samples in {time.monotonic() - began:.0f} s",
              flush=True)  # fmt: skip


def train_all() -> None:
    """Every training case, one start per host count and algorithm."""
    for hosts in training.HOSTS:
        for algorithm in ("ring", "halving-doubling"):
            cases = training.all_cases(algorithm)
            rows = training.measure(TRAINING_MBPS, hosts, cases, STEPS, limit_s=500.0)
            training.save(rows)
            print(f"{hosts} hosts, {algorithm}: {len(rows)} rows", flush=True)


def main() -> int:
    """Do what the command line says; 2 and one line where it cannot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument("action", nargs="?", choices=("quick", "measure", "training", "show"))
    parser.add_argument("--quick", action="store_true", help="the same as 'quick'")
    chosen = parser.parse_args()
    action = chosen.action or "quick"
    if action == "show":
        show()
        return 0
    reason = unavailable()
    if reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return 2
    try:
        {"quick": quick, "measure": measure_all, "training": train_all}[action]()
    except MeasurementError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
