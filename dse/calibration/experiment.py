"""Measurements and the machine they were made on: the records and the measurement file."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import resource
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dse.calibration.files import Doubt, read_checked, write_text

ALLREDUCE = "allreduce"
FORMAT: Literal["dse-measurements/1"] = "dse-measurements/1"
MEASUREMENTS = ".measurements.json"  # how the name of such a file ends beside a profile

# Beyond anything measured, whatever its unit; products of a few such numbers are still finite.
LARGEST = 1e30
Positive = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=1e-12, le=LARGEST, allow_inf_nan=False)]  # no clock tells less
Count = Annotated[int, Field(ge=1)]
NonNegativeCount = Annotated[int, Field(ge=0)]
STRICT: Mapping[str, Any] = {"extra": "forbid"}


@dataclass(frozen=True)
class Measurement:
    """Seconds of one (collective, algorithm, ranks, bytes) on the slowest rank, over repetitions.

    run: which start of the ranks this was, from 1. algorithm: 'auto' where the library chose.
    link: the slowest tier between the ranks by name; link_bytes_per_s: its speed in one direction
    per node, where known. bytes: of what every rank contributes; of all_gather what it ends with,
    which is all ranks' shares, and of reduce_scatter and alltoall what it has for all ranks. min_s,
    p95_s, median_error_s (standard error of the median): None if a log has a single time. verified:
    False if a log says that the sums were wrong. servers, largest_shard_bytes: for parameter
    servers, where ``ranks`` are the workers.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    transport: str
    library: str
    version: str
    run: Count
    algorithm: str
    ranks: Count
    ranks_per_node: Count
    nodes: Count
    link: str
    bytes: Count
    repetitions: Count
    median_s: Seconds
    min_s: Seconds | None = None
    p95_s: Seconds | None = None
    median_error_s: NonNegative | None = None
    verified: bool = True
    collective: str = ALLREDUCE
    system: str = ""
    device: str = "cpu"
    dtype: str = "float32"
    link_bytes_per_s: Positive | None = None
    servers: NonNegativeCount = 0
    largest_shard_bytes: NonNegativeCount = 0


@dataclass(frozen=True)
class LocalSpeed:
    """Seconds in which one rank alone reduces or copies ``bytes`` bytes."""

    __pydantic_config__: ClassVar[Any] = STRICT

    kind: str
    bytes: Count
    repetitions: Count
    min_s: NonNegative
    median_s: Seconds
    p95_s: Seconds
    median_error_s: NonNegative


@dataclass(frozen=True)
class ComputeSpeed:
    """One piece of work on one device, timed and verified.

    kind: 'matmul', 'sustained' (a matrix product again and again, for as long as there was time),
    'block', forward and backward pass of some layers of a workload, or 'training-step', which files
    of 2026 have and nothing uses. name: matmul, or the workload. precision: fp32, tf32, bf16 or
    fp16. layers: of a block, by name. shape: of a matmul (m, k, n); of a block the batch. flops:
    multiplications and additions: 2 m k n of a matmul; of a block those of matrix products and
    convolutions, forward and backward. threads: of the CPU. error: of a matmul relative to float64,
    in the Frobenius norm; 0 for a block, whose gradients must be finite. peak_flops_per_s: of the
    device at this precision, where known.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    kind: Literal["matmul", "sustained", "training-step", "block"]
    name: str
    library: str
    version: str
    device: str
    threads: Count
    precision: str
    shape: tuple[Count, ...]
    batch: Count
    flops: Count
    repetitions: Count
    min_s: NonNegative
    median_s: Seconds
    p95_s: Seconds
    median_error_s: NonNegative
    error: NonNegative
    peak_flops_per_s: Positive | None = None
    layers: tuple[str, ...] = ()

    @property
    def flop_per_s(self) -> float:
        """Floating-point operations per second, by the median time."""
        return self.flops / self.median_s


@dataclass(frozen=True)
class Machine:
    """A machine, without its host name. cores: those that this process may use."""

    __pydantic_config__: ClassVar[Any] = STRICT

    cpu: str
    cores: Count
    memory_bytes: Annotated[int, Field(ge=0)]
    kernel: str
    nics: tuple[str, ...]
    python: str


@dataclass(frozen=True)
class Experiment:
    """A measurement file: one measuring session, or what was read from benchmark logs.

    machine: None if a log does not state it. background_cores: cores used by other processes
    meanwhile, on average. source: who measured, and where it was published. dropped: rows of a log
    that could not be read. shared_cores: the nodes are emulated on one machine and share its cores.
    assumed: what was assumed because no log states it. notes: anything else a reader must know.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    name: str
    date: str
    dse_version: str
    machine: Machine | None
    samples: tuple[Measurement, ...]
    local: tuple[LocalSpeed, ...] = ()
    compute: tuple[ComputeSpeed, ...] = ()
    budget_s: NonNegative = 0.0
    wall_s: NonNegative = 0.0
    background_cores: NonNegative = 0.0
    gamma_s_per_byte: NonNegative = 0.0
    copy_s_per_byte: NonNegative = 0.0
    source: str = ""
    dropped: NonNegativeCount = 0
    shared_cores: bool = False
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    format: Literal["dse-measurements/1"] = FORMAT


def write_experiment(experiment: Experiment, path: str | Path) -> None:
    """Write as JSON."""
    write_text(path, experiment_text(experiment))


def experiment_text(experiment: Experiment) -> str:
    """JSON with one sample per line, so that two files can be compared by eye."""
    record = asdict(experiment)
    lists = {key: record.pop(key) for key in ("local", "compute", "samples")}
    record = {"format": record.pop("format"), **record}
    text = json.dumps(record, indent=1)[:-2]
    for key, rows in lists.items():
        body = ",\n  ".join(json.dumps(row) for row in rows)
        text += f',\n "{key}": [\n  {body}\n ]' if rows else f',\n "{key}": []'
    return text + "\n}\n"


def read_experiment(path: str | Path) -> Experiment:
    """Read a measurement file. Raises StudyError with the place of each mistake."""
    return read_checked(Experiment, path, FORMAT, "measure again: dse calibrate run", _doubts)


def _doubts(found: Experiment) -> Iterator[Doubt]:
    if not (found.samples or found.compute):
        yield Doubt(("samples",), "samples: empty, nothing was measured")


def sha256_of(*paths: str | Path) -> str:
    """One hash over the bytes of the files, in the order given."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()


def today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")


def this_machine() -> Machine:
    """This machine, from /proc and /sys; what cannot be read is 'unknown' or 0."""
    nics = []
    for card in sorted(Path("/sys/class/net").glob("*")):
        speed = _text(card / "speed", "")
        known = speed.isdecimal() and int(speed) > 0
        if card.name != "lo":
            nics.append(f"{card.name} {speed} Mbps" if known else card.name)
    return Machine(
        cpu=_field("/proc/cpuinfo", "model name") or platform.machine() or "unknown",
        cores=usable_cores(),
        memory_bytes=int((_field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) * 1024,
        kernel=f"{platform.system()} {platform.release()}",
        nics=tuple(nics),
        python=platform.python_version(),
    )


def usable_cores() -> int:
    """Cores that this process may use: its affinity, or the container's CPU quota if smaller."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quota, _, period = _text(Path("/sys/fs/cgroup/cpu.max"), "max").partition(" ")
    if quota.isdigit() and period.isdigit():
        cores = min(cores or 1, max(1, round(int(quota) / int(period))))
    return cores or 1


def busy_core_seconds() -> tuple[float, float]:
    """Core seconds used so far by all processes, and by the finished children of this one.

    From the first line of /proc/stat (user, nice, system, idle, ...); zeros where there is none.
    """
    fields = _text(Path("/proc/stat"), "").split("\n")[0].split()[1:]
    ticks = [int(value) for value in fields] if len(fields) >= 7 else [0] * 7
    busy = sum(ticks[:3]) + sum(ticks[5:7])
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return busy / os.sysconf("SC_CLK_TCK"), children.ru_utime + children.ru_stime


def _text(path: Path, default: str) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return default


def _field(path: str, name: str) -> str:
    for line in _text(Path(path), "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""
