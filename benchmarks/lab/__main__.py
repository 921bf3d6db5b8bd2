"""The emulated cluster: ``python -m benchmarks.lab --quick | measure | gloo | training |
lockstep | layouts | show``.

--quick    two and three hosts, shaped rates, verified allreduce by every transport, one training
           step (under 90 s)
measure    one more run of every allreduce start (about 10 minutes); adds to results/
gloo       more runs of every start of gloo (about 6 minutes); adds to results/
training   training steps on 2, 4 and 8 hosts (about 6 minutes); adds to results/
lockstep   what decides whether an exchange takes the wire once or twice (6 minutes); writes anew
layouts    a decoder laid out over eight ranks, on two shapes at two rates; adds to results/
show       what the committed results say; needs no root
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.lab import compare, layouts, lockstep, others, stream, training
from benchmarks.lab.measure import MBPS, RESULTS, Start, measure, measure_start, one_pass
from benchmarks.lab.network import Lab, network, unavailable
from benchmarks.lab.ray_nodes import measure_ray_inside
from dse.calibration.experiment import Experiment, read_experiment
from dse.calibration.runners.parameter_servers import PsPlan
from dse.calibration.runners.plan import OPENMPI_ALGORITHMS, MeasurePlan
from dse.errors import MeasurementError

TRAINING_MBPS = 200.0  # at 400, eight hosts want more than the two cores of the machine
QUICK_MBPS = 200.0
QUICK_BYTES = (2**18,)
STEPS = 5


def quick() -> None:
    """A small end-to-end check, as a table."""
    rate = QUICK_MBPS * MBPS
    with network(3, rate) as lab:
        one = stream.rates(lab, [0], 1)
        two = stream.rates(lab, [0, 2], 1)
        shares = " + ".join(f"{flow / rate:.0%}" for flow in two)
        print(f"one stream reaches {one[0] / rate:.0%} of {QUICK_MBPS:g} Mbps; two into one host "
              f"share it {shares}")  # fmt: skip
        mpi = measure_start(lab, Start(QUICK_MBPS, 3, 1, 12.0), run=1)
    with network(2, rate) as lab:
        table(mpi, *other_transports(lab))
    case = training.case(training.TRAININGS[1], training.BUCKETS[1], "ring")
    rows = training.measure(QUICK_MBPS, 2, [case], steps=3, limit_s=60.0)
    steps_table(rows)


def other_transports(lab: Lab) -> list[Experiment]:
    """Two ranks of gloo, a gRPC server and its worker, two ranks of gloo that Ray starts."""
    found = []
    if _there("torch"):
        plan = MeasurePlan(ranks=(2,), sizes_bytes=QUICK_BYTES, local=False)
        found += [others.gloo(lab, plan, 5.0), measure_ray_inside(lab, plan, 14.0)]
    if _there("grpc"):
        servers = PsPlan(workers=(1,), servers=(1,), sizes_bytes=QUICK_BYTES)
        found.append(others.parameter_server(lab, [0], [1], servers, 5.0))
    return found


def _there(package: str) -> bool:
    """Whether an optional package is installed; says what is left out where not."""
    there = importlib.util.find_spec(package) is not None
    if not there:
        print(f"left out: what needs {package}, which is not installed", file=sys.stderr)
    return there


def table(*found: Experiment) -> None:
    """Measured seconds against the wire's, by ranks, algorithm and size."""
    print("| Mbps | by | hosts x ranks | what | bytes | median ms | over the wire's time |")
    print("|---|---|---|---|---|---|---|")
    for name, s in ((e.name, s) for e in found for s in compare.pooled(e.samples)):
        wire = compare.wire_s(s) if s.collective == "allreduce" else s.bytes / (
            s.link_bytes_per_s or 1.0)  # fmt: skip
        mbps = (s.link_bytes_per_s or 0.0) / MBPS
        servers = f" + {s.servers} server" if s.servers else ""
        print(f"| {mbps:g} | {name} | {s.nodes} x {s.ranks_per_node}{servers} "
              f"| {s.algorithm} | {s.bytes} "
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
    for path in (*sorted(folder.glob("mpi-*.json")), *sorted(folder.glob("gloo-*.json"))):
        samples = read_experiment(path).samples
        forced = {s.algorithm for s in samples if s.algorithm in OPENMPI_ALGORITHMS}
        for algorithm in sorted(forced):
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
    if lockstep.FILE.exists():
        print(lockstep.report(lockstep.load()))
    if (folder / layouts.STEPS).exists():
        print(layouts.report(layouts.load(folder)))


def measure_all(starts: Sequence[Start], one: Callable[[Start], Experiment]) -> None:
    """One pass over every start."""
    for start in starts:
        began = time.monotonic()
        found = one(start)
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


def measure_lockstep() -> None:
    """What decides whether an exchange takes the wire once or twice."""
    print(lockstep.report(lockstep.measure()))


def measure_layouts() -> None:
    """Profile and steps of every layout, set by set."""
    for hosts, mbps in layouts.SETS:
        began = time.monotonic()
        layouts.save([layouts.measure(hosts, mbps)])
        print(f"{hosts} hosts, {mbps:g} Mbps: {time.monotonic() - began:.0f} s", flush=True)
    print(layouts.report(layouts.load()))


def main() -> int:
    """Do what the command line says; 2 and one line where it cannot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    parser.add_argument(
        "action", nargs="?",
        choices=("quick", "measure", "gloo", "training", "lockstep", "layouts", "show"),
    )  # fmt: skip
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
    actions: dict[str, Callable[[], None]] = {
        "quick": quick,
        "measure": partial(measure_all, one_pass(), measure),
        "gloo": partial(measure_all, others.gloo_pass(), others.measure_gloo),
        "training": train_all,
        "lockstep": measure_lockstep,
        "layouts": measure_layouts,
    }
    try:
        actions[action]()
    except MeasurementError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
