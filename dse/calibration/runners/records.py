"""Turns the records of ranks into an Experiment."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from dse.calibration.experiment import (
    ComputeSpeed,
    Experiment,
    LocalSpeed,
    Machine,
    Measurement,
    busy_core_seconds,
    today,
)
from dse.calibration.runners.plan import about
from dse.errors import MeasurementError
from dse.version import __version__

LOCAL = ("reduce", "copy")
GAMMA_SIZES = (2**20, 2**24)  # the range of sizes whose median speed is gamma

Record = Mapping[str, Any]


def samples_of(
    records: Sequence[Record], run: int, link: str | None, link_bytes_per_s: float | None
) -> list[Measurement]:
    """The samples of one start over MPI. link, link_bytes_per_s: between nodes."""
    library, version = library_of(records)
    mpi = {"transport": "mpi", "library": library, "version": version, "run": run}
    found = []
    for record in (record for record in records if record["kind"] == "sample"):
        where = about(record["ranks_per_node"], record["nodes"], link, link_bytes_per_s)
        found.append(Measurement(**fields_of(Measurement, {**record, **mpi, **where})))
    return found


def library_of(records: Sequence[Record]) -> tuple[str, str]:
    """Short name and version of the library of a start, from its own description.

    'Open MPI v5.0.11' -> ('openmpi', '5.0.11'); 'MPICH Version:      5.0.2' -> ('mpich', '5.0.2').
    """
    text = next(str(record["library"]) for record in records if record["kind"] == "start")
    name, _, version = text.strip().rpartition(" ")
    name = (name or text).lower().replace("version:", "").replace(" ", "")
    return name, version.removeprefix("v")


def fields_of(kind: type[Any], record: Record) -> dict[str, Any]:
    """What of a record is a field of the dataclass."""
    return {key: record[key] for key in kind.__dataclass_fields__ if key in record}


def experiment(
    name: str,
    machine: Machine | None,
    budget_s: float,
    began: float,
    busy_before: tuple[float, float] | None,
    records: Sequence[Record],
    samples: Iterable[Measurement],
    notes: Sequence[str] = (),
    compute: Sequence[ComputeSpeed] = (),
) -> Experiment:
    """The Experiment of a measurement that ends now.

    began: time.monotonic() at its start. busy_before: the busy core seconds by then; None where it
    is unknown whose processes used the cores. Raises MeasurementError where there is no
    sample and no ``compute``.
    """
    samples = tuple(samples)
    said = dict.fromkeys(record["text"] for record in records if record["kind"] == "note")
    if not (samples or compute):
        raise MeasurementError("the ranks reported no measurement; give a larger --budget")
    wall_s = time.monotonic() - began
    local = tuple(
        LocalSpeed(**fields_of(LocalSpeed, record)) for record in records if record["kind"] in LOCAL
    )
    return Experiment(
        name=name,
        date=today(),
        dse_version=__version__,
        machine=machine,
        budget_s=budget_s,
        wall_s=round(wall_s, 2),
        background_cores=_background(busy_before, wall_s) if busy_before else 0.0,
        gamma_s_per_byte=_speed(local, "reduce"),
        copy_s_per_byte=_speed(local, "copy"),
        local=local,
        compute=tuple(compute),
        samples=samples,
        notes=(*notes, *said),
    )


def _background(before: tuple[float, float], wall_s: float) -> float:
    """Cores that processes other than the ranks kept busy, on average over ``wall_s``."""
    everyone, ours = (now - then for now, then in zip(busy_core_seconds(), before, strict=True))
    return round(max(0.0, everyone - ours) / wall_s, 2)


def _speed(local: Sequence[LocalSpeed], kind: str) -> float:
    low, high = GAMMA_SIZES
    rows = [r.median_s / r.bytes for r in local if r.kind == kind and low <= r.bytes <= high]
    return median(rows) if rows else 0.0
