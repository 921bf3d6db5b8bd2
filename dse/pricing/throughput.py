"""A user's own training rates, as they correct what published rates say."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.throughput_part import Throughput
from dse.catalog import Accelerator, Anchors, Workload
from dse.errors import DseError
from dse.model import compute
from dse.model.precision import OPTIMIZER_STATE_BYTES, PRECISIONS
from dse.pricing import anchors, devices, hardware, network
from dse.spelling import alternatives

# Standard deviations of the logarithm that come on top of what differs between batches.
# Several accelerators of a node: their communication is in the rate and not in the model. Of 151
# published configurations 8 accelerators train at 8 times the rate of one but for 17 % (root mean
# square of the logarithm; median 8 % slower). Between nodes: a judgement, twice as much.
WITHIN_NODE, BETWEEN_NODES = 0.17, 0.34
# A judgement: a block of a network is not the network.
OF_A_BLOCK = 0.15


def kind_of(
    workload: Workload, accelerator: Accelerator, precision: str, stack: str
) -> Mapping[str, str]:
    """Of training, as anchors tell kinds apart."""
    return anchors.configured(anchors.levels(workload, accelerator, precision, stack))


def corrected(
    known: Anchors,
    profiles: Iterable[Profile],
    supposed: Sequence[tuple[Throughput, Workload]] = (),
) -> Anchors:
    """Anchors that have seen the rates in profiles, see :func:`.anchors.conditioned`.

    supposed: rates that nobody measured, as if they were in a profile, with what they train. Raises
    :class:`~dse.errors.DseError` where a rate is of a workload or stack that is not there.
    """
    profiles = tuple(profiles)
    own = _merged(row for profile in profiles for row in applicable(profile))
    rows = [
        (row, workload)
        for row, workload in (*((row, _workload(row)) for row in own), *supposed)
        if not _launched(row, workload, profiles)
    ]
    if not rows:
        return known
    kinds = [
        kind_of(workload, catalog.accelerator(row.accelerator), row.precision, row.stack)
        for row, workload in rows
    ]
    modelled = [modelled_s(row, workload, profiles, launch=0.0) for row, workload in rows]
    y = np.log([row.pass_s for row, _ in rows]) - np.log(modelled)
    noise = np.array([
        np.hypot(anchors.between_batches(known, workload.family), noise_of(row))
        for row, workload in rows
    ])  # fmt: skip
    return anchors.conditioned(
        anchors.with_likeliest_source(known, kinds, y, noise), kinds, y, noise
    )


def applicable(profile: Profile) -> list[Throughput]:
    """A profile's rates of accelerators that the catalogue has."""
    known = frozenset(catalog.names("accelerators"))
    return [row for row in profile.throughput if row.accelerator in known]


def _merged(rows: Iterable[Throughput]) -> list[Throughput]:
    """Repetitions of one configuration as one rate, their median: they err together."""
    alike: dict[Throughput, list[float]] = {}
    for row in rows:
        alike.setdefault(replace(row, samples_per_s=1.0), []).append(row.samples_per_s)
    return [replace(row, samples_per_s=statistics.median(rates)) for row, rates in alike.items()]


def noise_of(row: Throughput) -> float:
    """Standard deviation of the logarithm of a rate beside that between batches."""
    several = row.gpus > 1
    together = (BETWEEN_NODES if row.gpus > row.gpus_per_node else WITHIN_NODE) if several else 0.0
    block = OF_A_BLOCK if row.layers else 0.0
    return float(np.hypot(together, block))


def _workload(row: Throughput) -> Workload:
    """Raises :class:`~dse.errors.DseError` where the catalogue lacks what the rate is of."""
    found = catalog.named_workload(row.workload)
    missing = [name for name in row.layers if name not in found.layer_names]
    if missing:
        raise DseError(f"{row.what}: {found.name} has no layer '{missing[0]}'; measure it again")
    if row.stack not in catalog.computing().stacks:
        stacks = alternatives(catalog.computing().stacks)
        raise DseError(f"{row.what}: no stack '{row.stack}'; write {stacks}")
    if row.precision not in catalog.accelerator(row.accelerator).peak_flops_per_s:
        raise DseError(f"{row.what}: {row.accelerator} has no peak in {row.precision}")
    return found


def by_host(row: Throughput, profiles: Iterable[Profile]) -> bool:
    """Whether the host's launches decide how long it takes, so that the rate says nothing of the
    accelerator and corrects nothing."""
    return _launched(row, _workload(row), tuple(profiles))


def _launched(row: Throughput, workload: Workload, profiles: tuple[Profile, ...]) -> bool:
    return modelled_s(row, workload, profiles) > modelled_s(row, workload, profiles, launch=0.0)


def modelled_s(
    row: Throughput,
    workload: Workload,
    profiles: Iterable[Profile],
    factor: float = 1.0,
    launch: float = 1.0,
) -> float:
    """Seconds of :attr:`.Throughput.pass_s` by laws and rows of work.

    factor: of the accelerator's time. launch: of the host's launches; 0 leaves them out.
    """
    machines = hardware.machines("accelerator", [row.accelerator], catalog.default_prices())
    kernels = catalog.computing().stacks[row.stack].kernels
    device = devices.by_law(machines, row.precision, kernels, profiles=profiles)
    device = replace(device, factor=factor)
    stack, precision = devices.software(row.stack), PRECISIONS[row.precision]
    stack = replace(stack, launch_s=stack.launch_s * launch)
    layers = network.model_layers(workload)
    if row.layers:
        names = frozenset(row.layers)
        block = [at for at, name in enumerate(workload.layer_names) if name in names]
        layers = layers.part(np.array(block, dtype=np.intp))
    passes = compute.forward_backward(layers, device, row.batch_per_gpu, precision, stack)
    seconds = passes.forward_s + passes.backward_s
    if not row.layers:
        state = OPTIMIZER_STATE_BYTES[row.optimizer]
        seconds = seconds + compute.update_share_s(
            layers, device, precision, state, stack, row.accumulation
        )
    return float(np.asarray(seconds).item())
