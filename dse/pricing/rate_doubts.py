"""What is strange of training rates that a user measured: said, and believed all the same."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, log, sqrt

import numpy as np

from dse import catalog
from dse.calibration.throughput_part import Throughput
from dse.catalog import Workload
from dse.pricing import anchors, throughput
from dse.units import rounded

# A judgement: of published rates hardly one is so far from what is predicted.
STRANGE = 2.5


def doubts(rate: Throughput) -> str:
    """That a rate is far from what would be predicted; '' where it is not."""
    if rate.precision not in catalog.accelerator(rate.accelerator).peak_flops_per_s:
        return f"{rate.accelerator} has no peak in {rate.precision}, so that no study can be priced"
    workload = catalog.named_workload(rate.workload)
    expected = expected_samples_per_s(rate, workload)
    ratio = rate.samples_per_s / expected
    if 1 / STRANGE <= ratio <= STRANGE:
        return ""
    how = f"{ratio:,.3g} times as many" if ratio > 1 else f"{1 / ratio:,.3g} times fewer"
    shared = " before communication" if rate.gpus > 1 else ""
    return (
        f"{rounded(rate.samples_per_s)} samples/s is far from the {rounded(expected)} that dse "
        f"expects{shared} ({how}); check unit, gpus, stack and batch_per_gpu"
    )


def contradict(rows: Sequence[Throughput]) -> bool:
    """Whether rates of one configuration differ by more than twice the standard deviation of the
    difference of two, as they are believed to err."""
    family = catalog.named_workload(rows[0].workload).family
    batches = anchors.between_batches(catalog.anchors(), family)
    rates = [row.samples_per_s for row in rows]
    return log(max(rates) / min(rates)) > 2 * sqrt(2) * hypot(throughput.noise_of(rows[0]), batches)


def expected_samples_per_s(rate: Throughput, workload: Workload) -> float:
    """The rate of all accelerators together that is expected before it or any other of the user's
    is seen. Communication is not counted."""
    accelerator = catalog.accelerator(rate.accelerator)
    kind = throughput.kind_of(workload, accelerator, rate.precision, rate.stack)
    factor = float(np.exp(anchors.log_factor(catalog.anchors(), kind)))
    seconds = throughput.modelled_s(rate, workload, (), factor)
    return rate.batch_per_gpu * rate.gpus / seconds
