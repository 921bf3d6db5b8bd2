"""A user's own training rates: of what they are, what they err by, and what would be predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import hypot, log, sqrt

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.throughput_part import Throughput, aggregation_names
from dse.catalog import Accelerator, Workload
from dse.errors import DseError
from dse.model import compute
from dse.model.precision import OPTIMIZER_STATE_BYTES, PRECISIONS
from dse.pricing import anchors, devices, hardware, network
from dse.spelling import alternatives
from dse.study import Value
from dse.study.axes import AXES, LINKS, MACHINES
from dse.units import rounded

# Logarithms of how much longer a step of several accelerators takes than that of one, where nobody
# says what their communication was. Of 151 published configurations of 1 and 8 accelerators of a
# node, 8 take 8 % longer (median), and 14 % more or less than that (root mean square). Of several
# nodes: a judgement, twice as much of both.
TOGETHER, WITHIN_NODE = 0.076, 0.14
BETWEEN_NODES = 2.0
# A judgement: a block of a network is not the network.
OF_A_BLOCK = 0.15
# A judgement: of published rates hardly one is so far from what is predicted.
STRANGE = 2.5


def kind_of(
    workload: Workload, accelerator: Accelerator, precision: str, stack: str
) -> Mapping[str, str]:
    """The kind of training, as anchors tell kinds apart."""
    return anchors.configured(anchors.levels(workload, accelerator, precision, stack))


def configuration(row: Throughput) -> dict[str, Value | None]:
    """The point of a rate that says how gradients were summed: the values of its axes.

    Raises :class:`~dse.errors.DseError` where the catalogue does not know how, or over what.
    """
    told = {name: getattr(row, name, None) for name in AXES}
    values: dict[str, Value | None] = {name: one for name, one in told.items() if one is not None}
    if row.node is not None:
        del values["accelerator"]
    for axis in (*MACHINES, *LINKS):
        if axis in values and values[axis] not in catalog.names(AXES[axis].names):
            raise DseError(f"{axis} '{values[axis]}' is not in the catalogue")
    aggregation = aggregation_names().get(row.aggregation or "")
    if aggregation is None:
        raise DseError(f"no aggregation is called '{row.aggregation}'")
    return {**values, "aggregation": aggregation}


def applicable(profile: Profile) -> list[Throughput]:
    """A profile's rates of accelerators that the catalogue has."""
    known = frozenset(catalog.names("accelerators"))
    return [row for row in profile.throughput if row.accelerator in known]


def repeated_rates(profiles: Iterable[Profile]) -> Counter[Throughput]:
    """The rates of several profiles that are applicable, and how often each was measured: as often
    as a profile has it, and no more often where another has it, too."""
    found = Counter[Throughput]()
    for profile in profiles:
        found |= Counter(applicable(profile))
    return found


def own_rates(profiles: Iterable[Profile]) -> dict[Throughput, tuple[str, ...]]:
    """The rates of several profiles that are applicable, each once, and the names of the profiles
    that have it."""
    found: dict[Throughput, tuple[str, ...]] = {}
    for profile in profiles:
        for row in dict.fromkeys(applicable(profile)):
            found[row] = (*found.get(row, ()), profile.name)
    return found


def by_configuration(rows: Iterable[Throughput]) -> dict[Throughput, list[Throughput]]:
    """Rates that differ in nothing but their samples/s, by their configuration."""
    alike: dict[Throughput, list[Throughput]] = {}
    for row in rows:
        alike.setdefault(replace(row, samples_per_s=1.0), []).append(row)
    return alike


def noise_of(row: Throughput) -> float:
    """Standard deviation of the logarithm of a rate beside that between batches."""
    block = OF_A_BLOCK if row.layers else 0.0
    return float(np.hypot(WITHIN_NODE * several(row), block))


def several(row: Throughput) -> float:
    """1 of several accelerators of a node, 0 of one, BETWEEN_NODES of several nodes."""
    if row.gpus == 1:
        return 0.0
    return BETWEEN_NODES if row.gpus > row.gpus_per_node else 1.0


def workload_of(row: Throughput) -> Workload:
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


def by_host(row: Throughput, profiles: tuple[Profile, ...]) -> bool:
    """Whether the host's launches decide how long it takes, so that the rate says nothing of the
    accelerator and corrects nothing; one of a whole step tells of launches, too."""
    if row.stated:
        return False
    workload = workload_of(row)
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
    device = devices.under(machines, row.precision, row.stack, profiles=profiles)
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


def doubts(rate: Throughput) -> str:
    """That a rate is far from what would be predicted; '' where it is not."""
    if rate.precision not in catalog.accelerator(rate.accelerator).peak_flops_per_s:
        return f"{rate.accelerator} has no peak in {rate.precision}, so that no study can be priced"
    workload = catalog.named_workload(rate.workload)
    # Before it or any other of the user's is seen; communication is not counted.
    accelerator = catalog.accelerator(rate.accelerator)
    kind = kind_of(workload, accelerator, rate.precision, rate.stack)
    factor = float(np.exp(anchors.log_factor(catalog.anchors(), kind)))
    expected = rate.batch_per_gpu * rate.gpus / modelled_s(rate, workload, (), factor)
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
    return log(max(rates) / min(rates)) > 2 * sqrt(2) * hypot(noise_of(rows[0]), batches)
