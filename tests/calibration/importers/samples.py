"""Made-up benchmark output in every layout that is read: small, consistent, of no real machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

SIZES = (1024, 65536, 4194304, 268435456)
FACTOR = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "alltoall": 1.0}


def time_us(size: int) -> float:
    """A made-up line: 20 us and 10 GB/s."""
    return 20.0 + size / 10e3


def half(size: int, ranks: int, collective: str, wrong: str) -> str:
    time = round(time_us(size), 1)
    algbw = size / time / 1e3
    busbw = algbw * FACTOR.get(collective, 1.0) * ((ranks - 1) / ranks)
    return f"{time:>9} {algbw:7.2f} {busbw:7.2f} {wrong:>6}"


def nccl_rows(
    ranks: int = 8,
    collective: str = "all_reduce",
    middle: str = "sum      -1",
    wrong: Sequence[str] = ("0", "0"),
    kind: str = "float",
    sizes: Iterable[int] = SIZES,
) -> list[str]:
    """Rows of 4-byte elements; ``middle``: redop and root as the layout has them."""
    share = ranks if collective in ("all_gather", "reduce_scatter", "alltoall") else 1
    return [
        f"{size:12d} {size // 4 // share:12d} {kind:>8} {middle:>13}  "
        + "  ".join(half(size, ranks, collective, text) for text in wrong)
        for size in sizes
    ]


def rank_lines(ranks: int = 8, nodes: int = 2, group: str = "Group  0 ") -> list[str]:
    each = ranks // nodes
    return [
        f"#  Rank {rank:2d} {group}Pid {100 + rank} on host{rank // each} device {rank % each} "
        f"[0x{rank:02x}] Acme G1"
        for rank in range(ranks)
    ]


CONFIG = ("# nThread 1 nGpus 1 minBytes 1024 maxBytes 268435456 step: 64(factor) "
          "warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0")  # fmt: skip
COLUMNS = ("#       size         count      type   redop    root     time   algbw   busbw #wrong"
           "     time   algbw   busbw #wrong")  # fmt: skip
UNITS = "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)"
FOOTER = ("# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 9.9", "#")


def nccl(rows: Sequence[str] | None = None, ranks: int = 8, nodes: int = 2) -> str:
    """The layout since 2.13."""
    body = nccl_rows(ranks) if rows is None else rows
    lines = [CONFIG, "#", "# Using devices", *rank_lines(ranks, nodes), "#", COLUMNS, UNITS, *body]
    return "\n".join([*lines, *FOOTER]) + "\n"


def nccl_named(program: str, rows: Sequence[str], ranks: int = 8, nodes: int = 2) -> str:
    """As 2.17 prints: versions, the program's name, and when it is done."""
    start = "# nccl-tests version 2.17.8 nccl-headers=22902 nccl-library=22902"
    return (
        f"{start}\n# Collective test starting: {program}\n{nccl(rows, ranks, nodes)}"
        f"# Collective test concluded: {program}\n"
    )


def nccl_json(ranks: int = 4, iterations: bool = False) -> str:
    """-J, and with ``iterations`` -J -I."""
    results = []
    for size in SIZES:
        time = time_us(size)
        body = {"time": time, "alg_bw": size / time / 1e3, "bus_bw": 1.0, "nwrong": 0.0}
        each = {"min_us": time * 0.9, "max_us": time * 2, "avg_us": time, "p50_us": time * 0.95,
                "p95_us": time * 1.5, "p99_us": time * 1.8, "stdev_us": 1.0, "cv_pct": 1.0,
                "times_us": [time]}  # fmt: skip
        results.append({
            "size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1",
            "out_of_place": body, "in_place": body,
            **({"out_of_place_per_iter": each} if iterations else {}),
            "actual_iterations": 30, "experiment_name": "one",
        })  # fmt: skip
    return json.dumps({
        "version": 2, "start_time": "2026-03-04 05:06:07", "args": ["/opt/all_reduce_perf", "-J"],
        "env": ["PATH=/bin"], "nccl_version": 22703,
        "config": {"nthreads": 1, "ngpus": 1, "iterations": 20, "validation": 1,
                   "devices": [{"rank": rank, "group": 0, "pid": 1, "hostname": f"host{rank // 2}",
                                "device": rank % 2, "device_hex": "00", "device_info": "Acme G1"}
                               for rank in range(ranks)]},
        "results": results, "out_of_bounds": {"count": 0, "okay": "true"},
    }, indent=1)  # fmt: skip


RCCL_COLUMNS = ("numCycle", "name", "nodes", "ranks", "ranksPerNode", "gpusPerRank", "size", "type",
                "redop", "inPlace", "time", "algBw", "busBw", "wrong")  # fmt: skip


def rccl(nodes: int = 2, ranks: int = 16) -> list[dict[str, object]]:
    """Rows of -Z json with MPI: out of place and in place of every size."""
    kind, rows = (0, "AllReduce", nodes, ranks, ranks // nodes, 1), []
    for size in SIZES:
        time = time_us(size)
        algbw = size / time / 1e3
        for place in (0, 1):
            bandwidths = (algbw, 2 * (ranks - 1) / ranks * algbw)
            rows.append((*kind, size, "float", "sum", place, time + place, *bandwidths, "0"))
    return [dict(zip(RCCL_COLUMNS, row, strict=True)) for row in rows]


def rccl_csv(rows: Iterable[dict[str, object]], header: str) -> str:
    """-Z csv: texts in quotes."""
    cells = [(json.dumps(cell) for cell in row.values()) for row in rows]
    return "\n".join([header, *(",".join(row) for row in cells)]) + "\n"


OSU = """\
$ mpirun -np 4 --map-by ppr:2:node /opt/openmpi-4.1.4/bin/osu_allreduce

# OSU MPI Allreduce Latency Test v5.9
# Size       Avg Latency(us)
4                       3.10
[host0:1:rank_0] a warning in the middle of the table
1024                    6.25
1048576               420.00

# OSU MPI Latency Test v5.9
# Size          Latency (us)
0                       1.50
8                       1.60
1048576                95.10
"""

OSU_FULL = """\
# OSU MPI-CUDA Broadcast Latency Test v7.1
# Datatype: MPI_INT.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
8                       7.10              6.38              8.84        1000
1048576               170.20            160.00            180.00         100
"""

OSU_NONBLOCKING = """\
# OSU MPI Non-blocking Allreduce Latency Test v7.1
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait
# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
4096                   30.00             14.00             15.50             0.00
"""

IMB = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
#----------------------------------------------------------------
# Date                  : Wed Mar  4 05:06:07 2026
# Calling sequence was:
# /usr/mpi/gcc/openmpi-4.1.2a1/tests/imb/IMB-MPI1 PingPong Allreduce
# MPI_Datatype                   :   MPI_BYTE
# MPI_Datatype for reductions    :   MPI_FLOAT

# Benchmarking PingPong
# #processes = 2
# ( 14 additional processes waiting in MPI_Barrier)
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.50         0.00
            8         1000         1.60         5.00
      1048576           40        95.00     11037.64

# Benchmarking Allreduce
# #processes = 8
# ( 8 additional processes waiting in MPI_Barrier)
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.03         0.03
         1024         1000         5.00         7.00         6.00
      1048576           40       400.00       440.00       420.00

# Benchmarking Allreduce
# #processes = 16
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.03         0.03         0.03
         1024         1000         8.00        10.00         9.00
      1048576           40       500.00       540.00       520.00

# Benchmarking Barrier
# #processes = 16
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1000         6.00         7.00         6.50
"""

GLOO_HEAD = """\
Device:      tcp, pci=0000:01:00.0, iface=eth1, speed=25000, addr=[10.0.0.1]
Algorithm:   allreduce_ring_chunked
Options:     processes=4, inputs=1, threads=1

"""
GLOO_2018 = (
    GLOO_HEAD
    + """\
   elements   min (us)   p50 (us)   p99 (us)   max (us)   avg (GB/s)    samples
        100         90        110        190        220        0.003       4000
     250000        700        800        950       1200        1.100        961
"""
)
GLOO_NOW = """\
====================================================================================
                                     ALLREDUCE_HALVING_DOUBLING

Device:      tcp, pci=, iface=eth0, speed=-1, addr=[10.0.0.2]
Options:     processes=3, inputs=1, threads=1, verify=true

====================================================================================
                                      BENCHMARK RESULTS

   size (B)   elements   min (us)   p50 (us)   p99 (us)   max (us)   bandwidth (GB/s)   iterations
        400        100         90        110        190        220              0.003           40
    1000000     250000        700        800        950       1200              1.100           10
"""

TABLE = """\
system,device,nodes,ranks_per_node,ranks,library,transport,collective,bytes,time_us,runs,source
acme,G1,2,4,8,nccl-2.18,ofi,all_reduce,1024,25.5,1,acme/bench
acme,G1,2,4,8,nccl-2.18,ofi,all_reduce,1048576,120.25,1,acme/bench
acme,G1,2,4,8,nccl-2.18,tcp,all_reduce,1024,80.5,1,acme/bench
acme,G1,8,4,32,nccl-2.18,ofi,all_reduce,1024,50.5,1,acme/bench
borg,cpu,4,1,4,spectrum-mpi,edr-ib,all_reduce,1024,4.5,20,borg/runs
"""
ALL = {
    "nccl": nccl(), "nccl-named": nccl_named("all_reduce_perf", nccl_rows()),
    "nccl-json": nccl_json(), "nccl-json-iterations": nccl_json(iterations=True), "osu": OSU,
    "imb": IMB, "gloo-2018": GLOO_2018,
    "gloo-now": GLOO_NOW, "table": TABLE, "rccl-json": "\n".join(map(json.dumps, rccl())),
    "rccl-csv": rccl_csv(rccl(), ",".join(RCCL_COLUMNS)),
}  # fmt: skip
