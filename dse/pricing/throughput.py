"""A user's own training rates, as they correct what published rates say."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.throughput_part import Throughput, aggregation_names
from dse.catalog import Accelerator, Anchors, Workload
from dse.errors import DseError
from dse.model import compute
from dse.model.arrays import Array
from dse.model.precision import OPTIMIZER_STATE_BYTES, PRECISIONS
from dse.pricing import anchors, devices, hardware, network
from dse.spelling import alternatives
from dse.study import Value
from dse.study.axes import AXES, LINKS, MACHINES

# Logarithms of how much longer a step of several accelerators takes than that of one, where nobody
# says what their communication was. Of 151 published configurations of 1 and 8 accelerators of a
# node, 8 take 8 % longer (median), and 14 % more or less than that (root mean square). Of several
# nodes: a judgement, twice as much of both.
TOGETHER, WITHIN_NODE = 0.076, 0.14
BETWEEN_NODES = 2.0
# A judgement: a block of a network is not the network.
OF_A_BLOCK = 0.15
# The step of a rate that says how gradients were summed is a sum and maximum of terms, linear only
# nearby: it is made linear again where the correction has come to, until that stays.
ROUNDS, SETTLED = 8, 2e-3
NEARBY = 0.05  # of the logarithm of computing: half of what its share of the step is told from
# A step that is mostly something else does not tell that software is unusual: only very unusual
# software would explain it. A judgement.
TELLING = 0.5  # share of the step that is computing
# Errors of a step besides computing are standard normal: half of what their weights are told from.
BESIDE = 0.5


class WholeSteps(Protocol):
    """Whole steps of rates that say how gradients were summed, before any rate is seen."""

    def seconds(
        self,
        rate: Throughput,
        workload: Workload,
        log_factors: Array,
        errors: Mapping[str, Array],
    ) -> Array:
        """Of one step under several suppositions, (suppositions,).

        log_factors: the logarithm of the factor by which computing takes longer than its rows of
        work. errors: by what the step errs besides, see :mod:`.step_errors`; all (suppositions,).
        """
        ...

    def unsure_of(
        self, rate: Throughput, workload: Workload, log_factor: float
    ) -> tuple[tuple[str, ...], float]:
        """The names of these errors, and the standard deviation of the logarithm of the step by all
        that is neither they nor computing."""
        ...


def kind_of(
    workload: Workload, accelerator: Accelerator, precision: str, stack: str
) -> Mapping[str, str]:
    """The kind of training, as anchors tell kinds apart."""
    return anchors.configured(anchors.levels(workload, accelerator, precision, stack))


def corrected(known: Anchors, profiles: Iterable[Profile], whole: WholeSteps) -> Anchors:
    """Anchors that have seen the rates in profiles, see :func:`.anchors.conditioned`.

    A rate of several accelerators that says how they summed their gradients is compared with their
    whole step, to which computing contributes the share that scales with it; all other rates with
    computing alone. whole: prices such a step without any rate of the user's. Raises
    :class:`~dse.errors.DseError` where a rate is of a workload, stack or aggregation that is not
    there.
    """
    profiles = tuple(profiles)
    own = _merged(repeated_rates(profiles).elements())
    rows = [
        (row, workload) for row in own if not _launched(row, workload := _workload(row), profiles)
    ]
    if not rows:
        return known
    kinds = [
        kind_of(workload, catalog.accelerator(row.accelerator), row.precision, row.stack)
        for row, workload in rows
    ]
    batches = [anchors.between_batches(known, workload.family) for _, workload in rows]
    seen = [
        _Stated(row, workload, whole, anchors.log_factor(known, kind))
        if row.stated
        else _alone(row, workload, profiles)
        for (row, workload), kind in zip(rows, kinds, strict=True)
    ]
    found = known
    for _ in range(ROUNDS):
        lines = [one.linear(found, kind) for one, kind in zip(seen, kinds, strict=True)]
        y, share, rest = (np.array([line[at] for line in lines]) for at in range(3))
        errors = [line.errors for line in lines]
        told = anchors.Rows(kinds, y, np.hypot(batches, rest), share, errors)
        likely = anchors.with_likeliest_source(known, told.take(np.flatnonzero(share >= TELLING)))
        before, found = found, anchors.conditioned(likely, told)
        if not any(errors) or _settled(before, found):
            break
    return found


def _settled(before: Anchors, after: Anchors) -> bool:
    return len(before.mean) == len(after.mean) and np.allclose(
        before.mean, after.mean, rtol=0, atol=SETTLED
    )


class _Line(NamedTuple):
    """What a rate says of the logarithm of its computing's factor, f, and of the errors e of its
    step besides: ``y = share f + errors . e`` and noise.

    rest: standard deviation of y for all but what batches differ by.
    """

    y: float
    share: float
    rest: float
    errors: Mapping[str, float]

    def linear(self, known: Anchors, kind: Mapping[str, str]) -> _Line:
        """It is, wherever the correction comes to."""
        del known, kind
        return self


def _alone(row: Throughput, workload: Workload, profiles: tuple[Profile, ...]) -> _Line:
    """Compared with the computing of one accelerator, by how much longer several usually take."""
    modelled = modelled_s(row, workload, profiles, launch=0.0)
    longer = TOGETHER * _several(row)
    return _Line(float(np.log(row.pass_s / modelled) - longer), 1.0, noise_of(row), {})


@dataclass(frozen=True)
class _Stated:
    """A rate compared with its whole step, a sum and maximum of terms that is linear nearby.

    expected: the logarithm of the factor of computing before any rate is seen.
    """

    row: Throughput
    workload: Workload
    whole: WholeSteps
    expected: float

    def linear(self, known: Anchors, kind: Mapping[str, str]) -> _Line:
        """``log step`` about what is known: ``share = d log step / d f``, and likewise errors."""
        factor = anchors.log_factor(known, kind)
        names, rest = self.unsure
        about = np.array([factor, *(anchors.step_error(known, name) for name in names)])
        # Rows: what is known, and each number more and less than that.
        by = np.diag([NEARBY, *(BESIDE for _ in names)])
        supposed = about + np.concatenate([np.zeros((1, len(about))), by, -by])
        known_step, *others = self.log_steps(supposed)
        more, less = np.split(np.array(others), 2)
        slopes = (more - less) / (2 * np.diag(by))
        left = np.log(self.row.pass_s * self.row.accumulation) - known_step
        share, *weights = slopes.tolist()
        told = {name: weight for name, weight in zip(names, weights, strict=True) if weight}
        return _Line(float(left + slopes @ about), share, rest, told)

    @cached_property
    def unsure(self) -> tuple[tuple[str, ...], float]:
        """See :meth:`WholeSteps.unsure_of`, before any rate is seen."""
        try:
            return self.whole.unsure_of(self.row, self.workload, self.expected)
        except DseError as cause:  # what the catalogue does not know of a library or a link
            raise DseError(f"{self.name}: {cause}") from None

    @property
    def name(self) -> str:
        """In words."""
        row = self.row
        return f"your rate of {row.what} on {row.gpus:,} {row.accelerator} over {row.over}"

    def log_steps(self, supposed: Array) -> Array:
        """Logarithms of the seconds of a whole step under several suppositions of f and e, which
        are (suppositions, 1 + errors).

        Raises :class:`~dse.errors.DseError` where it has no price.
        """
        factors, *errors = supposed.T
        taken = dict(zip(self.unsure[0], errors, strict=True))
        seconds = self.whole.seconds(self.row, self.workload, factors, taken)
        if not np.all(np.isfinite(seconds)):
            raise DseError(f"{self.name}: its step cannot be priced")
        return np.asarray(np.log(seconds))


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


def _merged(rows: Iterable[Throughput]) -> list[Throughput]:
    """Repetitions of one configuration as one rate, their median: they err together."""
    return [
        replace(row, samples_per_s=statistics.median(one.samples_per_s for one in alike))
        for row, alike in by_configuration(rows).items()
    ]


def noise_of(row: Throughput) -> float:
    """Standard deviation of the logarithm of a rate beside that between batches."""
    block = OF_A_BLOCK if row.layers else 0.0
    return float(np.hypot(WITHIN_NODE * _several(row), block))


def _several(row: Throughput) -> float:
    """1 of several accelerators of a node, 0 of one, BETWEEN_NODES of several nodes."""
    if row.gpus == 1:
        return 0.0
    return BETWEEN_NODES if row.gpus > row.gpus_per_node else 1.0


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
    """A rate of a whole step tells of launches, too."""
    if row.stated:
        return False
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
