"""The scoreboard of prices without a profile."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.accuracy.catalogue_prices import CLASSES, MPI_SYSTEMS, SYSTEMS, rows
from benchmarks.accuracy.public_logs import TABLE
from dse import catalog
from dse.calibration.importers.logs import import_logs


def test_every_measurement_of_nccl_is_of_one_system_and_in_one_class() -> None:
    samples = [s for s in import_logs([TABLE]).samples if s.transport == "nccl" and s.bytes]
    assert samples
    for sample in samples:
        assert sum(system.holds(sample) for system in SYSTEMS) == 1
    found = rows()
    assert [row.title for row in found] == [system.title for system in SYSTEMS]
    judged = sum(part.size for row in found for part in row.found.values())
    assert judged == len(samples)
    assert all(np.all(part > 0) for row in found for part in row.found.values())


def test_messages_of_every_size_are_as_near_as_the_page_says() -> None:
    """The median factor between predicted and measured time, and how many systems' own median is
    within the one wanted: the catalogue may become better, not worse, unnoticed."""
    found, systems = rows(), (13, 10, 13, 13)
    for size, most, least in zip(CLASSES, (1.25, 1.4, 1.25, 1.15), systems, strict=True):
        parts = [np.log(row.found[size.title]) for row in found if size.title in row.found]
        assert np.exp(np.median(np.abs(np.concatenate(parts)))) <= most, size.title
        near = [abs(np.median(part)) <= np.log(size.factor) for part in parts]
        assert sum(near) >= least, size.title


def test_mpi_is_as_far_off_as_its_transport_says() -> None:
    """From 1 MiB, where transports' spreads are taken from."""
    found = rows(MPI_SYSTEMS)
    large = [size.title for size in CLASSES[2:]]
    errors = [np.log(np.concatenate([row.found[name] for name in large if name in row.found]))
              for row in found]  # fmt: skip
    spread = float(np.sqrt(np.mean([np.mean(error**2) for error in errors])))
    assert spread == pytest.approx(catalog.transport("mpi").log_spread, abs=0.01)
    assert all(abs(np.median(error)) < np.log(1.3) for error in errors)
