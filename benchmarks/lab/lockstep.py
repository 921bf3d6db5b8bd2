"""What decides whether an exchange of two hosts takes the wire once or twice by Open MPI.

Rank 1 is late on purpose, by a share of the wire's time, away from the library or inside of it;
exchanges follow one another without a barrier; and both under other settings of Open MPI's TCP.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping
from itertools import pairwise, product
from pathlib import Path
from typing import Any

from benchmarks.lab.measure import MBPS, RESULTS, used_by_others
from benchmarks.lab.network import network
from benchmarks.lab.openmpi import mpirun_inside, on_hosts
from benchmarks.lab.training import rounded
from dse.calibration.experiment import this_machine, today
from dse.calibration.files import write_text
from dse.calibration.runners.mpi_library import run_ranks

WORKER = Path(__file__).with_name("lockstep_worker.py")
FILE = RESULTS / "lockstep.json"
FORMAT = "dse-lab-lockstep/1"
LIMIT_S = 120.0
AWAY, INSIDE, ROW, ALLREDUCE = "away", "inside", "row", "allreduce"
DEFAULT = "as it comes"
# Open MPI 5, btl/tcp. Without "put" a large message leaves in fragments of 128 KiB, with at most
# three under way, in place of all at once.
FRAGMENTS = {"btl_tcp_flags": "send,inplace,need-ack,need-csum,hetero-rdma"}
SETTINGS: Mapping[str, Mapping[str, str]] = {
    DEFAULT: {},
    "socket buffers of 64 KiB": {"btl_tcp_sndbuf": "65536", "btl_tcp_rcvbuf": "65536"},
    "socket buffers of 4 MiB": {"btl_tcp_sndbuf": "4194304", "btl_tcp_rcvbuf": "4194304"},
    "puts of 128 KiB": {"btl_tcp_rdma_pipeline_frag_size": "131072"},
    "no puts, fragments": FRAGMENTS,
    "two connections": {"btl_tcp_links": "2"},
    "no permission asked (eager)": {"btl_tcp_eager_limit": "8388608"},
}
REMEDIES = (DEFAULT, "no puts, fragments", "two connections")
LATE = (0.02, 0.05, 0.1, 0.25, 0.5)  # of the wire's time
SIZES = (2**18, 2**20, 2**22)
RATES_MBPS = (100.0, 200.0, 400.0)
ROW_LENGTH, ROWS, TRIES = 8, 4, 5
HOSTS, SUMMED_BYTES = (2, 4, 8), (2**20, 2**22)
TWICE = 1.5  # times the wire's time: above, an exchange counts as one that took it twice


def measure(path: Path = FILE) -> list[dict[str, Any]]:
    """All cases, each set in one start; written to ``path``. About 6 minutes."""
    rows: list[dict[str, Any]] = []
    for mbps in RATES_MBPS:
        rows += start(2, mbps, DEFAULT, [*late_cases(mbps), *row_cases()])
    for setting in SETTINGS:
        if setting != DEFAULT:
            rows += start(2, RATES_MBPS[0], setting, row_cases())
    for hosts, setting in product(HOSTS, REMEDIES):
        cases = [_case(ALLREDUCE, size, 6) for size in SUMMED_BYTES]
        rows += start(hosts, RATES_MBPS[0], setting, cases)
    save(rows, path)
    return rows


def late_cases(mbps: float) -> list[dict[str, Any]]:
    """An exchange of 1 MiB that rank 1 begins late."""
    wire_s = 2**20 / (mbps * MBPS)
    return [
        _case(kind, 2**20, TRIES, share * wire_s) for kind, share in product((AWAY, INSIDE), LATE)
    ]


def row_cases() -> list[dict[str, Any]]:
    """Rows of exchanges of every size."""
    return [_case(ROW, size, ROW_LENGTH) for size in SIZES for _ in range(ROWS)]


def _case(kind: str, size_bytes: int, repetitions: int, late_s: float = 0.0) -> dict[str, Any]:
    return {"kind": kind, "bytes": size_bytes, "late_s": late_s, "repetitions": repetitions}


def start(
    hosts: int, mbps: float, setting: str, cases: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Rows of all cases, in one start of the ranks. ``others``: share of the cores others used."""
    options = [word for pair in SETTINGS[setting].items() for word in ("--mca", *pair)]
    busy = used_by_others()
    with network(hosts, mbps * MBPS) as lab, mpirun_inside(lab) as (mpirun, launching):
        extra = [*launching, *on_hosts(lab, range(hosts), 1), *options]
        found = run_ranks(mpirun, hosts, {"cases": list(cases)}, LIMIT_S, WORKER, extra)
    about = {"setting": setting, "hosts": hosts, "mbps": mbps, "others": busy}
    return [{**about, **row} for row in found]


def times_the_wire(row: Mapping[str, Any]) -> list[float]:
    """Each exchange over the time that its bytes take one way."""
    return [s * row["mbps"] * MBPS / row["bytes"] for s in row["seconds"]]


def save(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write the rows, one a line."""
    machine = this_machine()
    head = {"format": FORMAT, "date": today(), "cpu": machine.cpu, "cores": machine.cores}
    body = ",\n  ".join(json.dumps(rounded(row)) for row in rows)
    write_text(path, json.dumps(head)[:-1] + f',\n "rows": [\n  {body}\n ]}}\n')


def load(path: Path = FILE) -> list[dict[str, Any]]:
    """The rows of the file."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return rows


def twice(rows: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """How many exchanges took the wire twice, and how many there were."""
    every = [times for row in rows for times in times_the_wire(row)]
    return sum(times > TWICE for times in every), len(every)


def fell_out(rows: Iterable[Mapping[str, Any]]) -> tuple[int, int, int]:
    """Of exchanges in a row: steps from once to twice, to once again, and those that began once."""
    out = back = once = 0
    for row in rows:
        slow = [times > TWICE for times in times_the_wire(row)]
        for before, after in pairwise(slow):
            once += not before
            out += after and not before
            back += before and not after
    return out, back, once


def report(rows: list[dict[str, Any]]) -> str:
    """Markdown: who is late where, rows by setting, and allreduce by setting."""
    usual = [row for row in rows if row["setting"] == DEFAULT]
    lines = ["| rank 1 is late by, of the wire's time | away: twice | in the library: twice |",
             "|---|---|---|"]  # fmt: skip
    for share in LATE:
        cells = [
            "{} of {}".format(
                *twice(r for r in usual if r["kind"] == kind and lateness(r) == share)
            )
            for kind in (AWAY, INSIDE)
        ]
        lines.append(f"| {share:g} | {' | '.join(cells)} |")
    lines += ["", "| Open MPI's TCP | exchanges in a row: times the wire, median of rows | twice |",
              "|---|---|---|"]  # fmt: skip
    for setting in SETTINGS:
        mine = [r for r in rows if r["setting"] == setting and r["kind"] == ROW
                and r["mbps"] == RATES_MBPS[0]]  # fmt: skip
        middle = statistics.median(statistics.mean(times_the_wire(r)) for r in mine)
        lines.append("| {} | {:.2f} | {} of {} |".format(setting, middle, *twice(mine)))
    out, back, once = fell_out(r for r in usual if r["kind"] == ROW)
    lines += ["", f"as it comes, all rates: {out} of {once} exchanges that took the wire once were "
              f"followed by one that took it twice; {back} the other way", ""]  # fmt: skip
    lines += ["| hosts | KiB | " + " | ".join(REMEDIES) + " |", "|---" * 5 + "|"]
    for hosts, size in product(HOSTS, SUMMED_BYTES):
        cells = [
            f"{1e3 * statistics.median(r['seconds']):,.0f} ms" for name in REMEDIES for r in rows
            if (r["setting"], r["hosts"], r["bytes"], r["kind"]) == (name, hosts, size, ALLREDUCE)
        ]  # fmt: skip
        lines.append(f"| {hosts} | {size // 1024:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def lateness(row: Mapping[str, Any]) -> float:
    """By how much rank 1 was late, as a share of the time of one direction."""
    return round(float(row["late_s"]) * row["mbps"] * MBPS / row["bytes"], 3)
