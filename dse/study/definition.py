"""A study as the rest of the package sees it: checked, in SI units, frozen, and free of YAML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from dse.study.aggregation_name import AggregationName
from dse.study.axes import AXES, BANDWIDTH, lays_out
from dse.study.expressions import Expression, Limit
from dse.study.numbers import shown
from dse.study.quantities import QUANTITIES
from dse.study.terms import StudyFailures, StudyOwnership, StudyRental
from dse.yaml_source import Source


@dataclass(frozen=True)
class Wire:
    """A link described in the study itself. What is None comes from ``fabric``, or is not known.

    ``bytes_per_s`` in one direction, ``latency_s`` one way, prices of one network card, switch
    port and cable. Wires are equal where their numbers are, whatever they are called.
    """

    label: str = field(compare=False)
    bytes_per_s: float
    latency_s: float | None = None
    nic_usd: float | None = None
    switch_port_usd: float | None = None
    cable_usd: float | None = None
    fabric: str | None = None


Value: TypeAlias = str | int | float | Wire  # an aggregation's is an AggregationName


@dataclass(frozen=True)
class Axis:
    """One choice of the space: its values in the order of the file, or a continuous range.

    ``labels`` are the values as the user wrote them. ``ordered``: the values rise or fall all the
    way, so an index is a sensible code. A continuous axis has no values but ``low`` and ``high``
    (SI); that of a link's bandwidth also has the ``wire`` whose bandwidth varies.
    """

    name: str
    values: tuple[Value, ...]
    labels: tuple[str, ...]
    ordered: bool
    low: float | None = None
    high: float | None = None
    wire: Wire | None = None

    @property
    def continuous(self) -> bool:
        return self.low is not None

    def label(self, value: Value) -> str:
        """How the report names ``value``."""
        for known, label in zip(self.values, self.labels, strict=True):
            if known == value:
                return label
        return written(self.name, value)

    def has(self, value: Value) -> bool:
        """Whether a search may try ``value``."""
        if self.low is None or self.high is None:
            return value in self.values
        if self.wire is not None:
            if not isinstance(value, Wire):
                return False
            alike = replace(value, bytes_per_s=self.wire.bytes_per_s) == self.wire
            return alike and self.low <= value.bytes_per_s <= self.high
        return isinstance(value, int | float) and self.low <= value <= self.high

    def continuous_value(self, number: float) -> Value:
        """The value of a continuous axis at a number (SI)."""
        number = float(number)
        if self.wire is None:
            return number
        return replace(self.wire, bytes_per_s=number, label=f"{number * 8 / 1e9:.4g} Gbps")

    @property
    def ends(self) -> tuple[Value, ...]:
        """The two ends of a continuous axis; empty for another."""
        if self.low is None or self.high is None:
            return ()
        return self.continuous_value(self.low), self.continuous_value(self.high)

    @property
    def written(self) -> str:
        """All it may be, as a study writes it: its labels, or the two ends of a range."""
        if self.low is None or self.high is None:
            return ", ".join(self.labels)
        if self.wire is not None:
            return " to ".join(shown(end, BANDWIDTH) for end in (self.low, self.high))
        return f"{written(self.name, self.low)} to {written(self.name, self.high)}"


def written(axis: str, value: Value) -> str:
    """A value of an axis as a study writes it, with its unit; a rounded one for long numbers."""
    if isinstance(value, Wire):
        return value.label
    kind = AXES[axis].number
    return value if isinstance(value, str) else f"{value}" if kind is None else shown(value, kind)


@dataclass(frozen=True)
class Condition:
    """``axis`` takes ``values`` only where every axis of ``requires`` has one of its values.

    Elsewhere it does not apply. Its axis is not in the space, those of ``requires`` are; of
    several conditions on one axis the first that holds counts.
    """

    axis: str
    values: tuple[Value, ...]
    labels: tuple[str, ...]
    requires: tuple[tuple[str, tuple[Value, ...]], ...]


@dataclass(frozen=True)
class Constraint:
    """What a point must meet: an expression, which ``text`` may be a word for (``equal_batch``), or
    None for ``fits_memory``."""

    text: str
    expression: Expression | None
    line: int
    column: int

    @property
    def limit(self) -> Limit | None:
        """What it bounds, if that is one quantity by a number; else None."""
        return self.expression.limit if self.expression else None

    @property
    def uncertain(self) -> bool:
        """Whether it limits what has an interval; a count of samples, say, has none."""
        names = self.expression.names if self.expression else frozenset()
        return any(QUANTITIES[name].communication or QUANTITIES[name].facts for name in names)


Goal: TypeAlias = Literal["maximize", "minimize"]


@dataclass(frozen=True)
class Objective:
    """A measure (a key of ``quantities.QUANTITIES``) and which way is better."""

    name: str
    goal: Goal


@dataclass(frozen=True)
class Baseline:
    """The point that speedup is measured from: a value for every axis and condition.

    ``assumed`` names the axes whose value the user did not give; they took the first of the axis.
    """

    values: Mapping[str, Value]
    labels: Mapping[str, str]
    assumed: tuple[str, ...] = ()

    @property
    def global_batch(self) -> float:
        """Samples of one step."""
        found = [self.values.get(name) or 1 for name in ("gpus", "batch_per_gpu", "accumulation")]
        return math.prod(map(float, found))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Target:
    """How much training is a run: one of ``samples``, ``epochs``, ``tokens`` and ``quality``.

    ``epoch_samples`` is the size of the data set, given with ``epochs``. ``quality``: a name of the
    catalogue, or a path as for ``Study.workload``.
    """

    samples: float | None = None
    epochs: float | None = None
    tokens: float | None = None
    quality: str | None = None
    epoch_samples: float | None = None


@dataclass(frozen=True)
class SearchOptions:
    """``budget`` limits the guided engine's evaluations."""

    engine: Literal["auto", "exhaustive", "guided"] = "auto"
    budget: int = 20_000
    seed: int = 0


@dataclass(frozen=True)
class ExecutorOptions:
    """Where blocks of points are evaluated."""

    kind: Literal["auto", "local", "ray"] = "auto"
    address: str | None = None


@dataclass(frozen=True)
class Efficiency:
    """Fractions in (0, 1] of the peak that compute and memory reach; None: the model's own."""

    compute: float | None = None
    memory: float | None = None


@dataclass(frozen=True)
class InlineWorkload:
    """A network described in the study; all per sample but ``params``; None: not known.

    layers: a CSV's path. gradient_tensors: how many there are, or the elements of each in the order
    of the backward pass, the last layer's first.
    """

    name: str
    params: float
    forward_flops: float
    activation_bytes: float | None
    input_bytes: float | None = None
    layers: str | None = None
    gradient_tensors: int | tuple[float, ...] | None = None


Balance: TypeAlias = Literal["dropless", "forced"]
FORCED = "forced"
RankOrder: TypeAlias = Literal["tp-cp-ep-dp-pp"]  # from neighbours to what is farthest apart


@dataclass(frozen=True)
class Experts:
    """How tokens go to the experts of a mixture.

    imbalance: those of the busiest rank over the mean. balance: as the router chooses, or forced to
    be even. capacity_factor: the most that an expert takes over the mean, the rest is dropped;
    None: it takes all.
    """

    imbalance: float = 1.2
    balance: Balance = "dropless"
    capacity_factor: float | None = None


@dataclass(frozen=True)
class ConfiguredWorkload:
    """The transformer in a config.json or of that name, for samples of so many tokens; None: as
    usual."""

    config: str
    sequence: int | None = None


@dataclass(frozen=True)
class OwnedHardware:
    """What stands there already: machines, and what joins them.

    axis: ``accelerator`` or ``node``, what ``machine`` is a name of. count: accelerators, or nodes.
    What is None is usual: one accelerator, one network card to a node; of an unknown network
    nothing counts.
    """

    axis: str
    machine: str
    count: int
    gpus_per_node: int | None = None
    inter_node: Value | None = None
    nics_per_node: int | None = None


# A price list of a study: the path of its file, or where in the study it is written out.
GivenPrices: TypeAlias = str | tuple[str | int, ...]
IGNORED = "ignore"
Memory: TypeAlias = Literal["checked", "ignore"]
REAL = "real"
INPUTS = (REAL, "synthetic")
FASTEST_INPUT = 1e9  # samples a second of an accelerator
USED = "used"
Market: TypeAlias = Literal["new", "used"]
RentClass: TypeAlias = Literal["hyperscaler", "neocloud", "marketplace"]
Recommend: TypeAlias = Literal[
    "cheapest-within-5%", "fastest", "cheapest", "speed-per-dollar", "least-regret"
]


@dataclass(frozen=True)
class Study:
    """Everything a study file says. ``axes`` are in the order of the file.

    ``defaults`` are the axes the file leaves out and the model still needs, of one value each.
    ``calibration``: names of profiles; ``fabrics``: of those for some networks alone, which.
    ``scale``: what accelerators lose to one another, as fitted to published runs or nothing.
    ``memory``: whether points must fit into an accelerator's. ``input``: whether hosts must decode
    the samples, or these are made up; or how many a second are fed to each accelerator.
    ``region``: whose electricity is paid and whose carbon is counted; None: the price list's.
    ``recommend``: the rule that is asked for; None: by need.
    ``resolution``: points of the front that differ by no larger share are one choice; 0: none are.
    ``what_if``: the axis each of whose values is asked about.
    ``confidence``: with what probability the recommended point must meet every constraint.
    ``rent_class``: of sellers that machines are rented from; empty where that follows from them.
    ``owned``: hardware that stands there; what a point needs of it is not bought.
    ``questions``: what was asked beside the file, as written; constraints hold it already.
    ``workload`` as text: a name of the catalogue, or a path (:func:`~dse.text_source.is_path`) that
    already counts from the working folder, as those of ``prices`` do, of which the later count
    more. ``mix``: workloads that share the cluster, the first of which is ``workload``, with their
    shares of time on the baseline; empty where there is one alone. ``market``: whether what is no
    longer sold new may be bought used. ``told``: what those words of the file mean that could mean
    several things.
    """

    name: str
    path: str
    workload: str | InlineWorkload | ConfiguredWorkload
    axes: tuple[Axis, ...]
    defaults: tuple[Axis, ...]
    conditions: tuple[Condition, ...]
    baseline: Baseline
    constraints: tuple[Constraint, ...]
    objectives: tuple[Objective, ...]
    source: Source
    content_hash: str
    description: str = ""
    calibration: tuple[str, ...] = ()
    fabrics: Mapping[str, frozenset[str]] = field(default_factory=dict)
    target: Target | None = None
    search: SearchOptions = SearchOptions()
    executor: ExecutorOptions = ExecutorOptions()
    efficiency: Efficiency = Efficiency()
    prices: tuple[GivenPrices, ...] = ()
    market: Market = "new"
    region: str | None = None
    recommend: Recommend | None = None
    confidence: float | None = None
    questions: Mapping[str, str] = field(default_factory=dict)
    scale: Literal["fitted", "ideal"] = "fitted"
    model: Literal["calibrated", "pai"] = "calibrated"
    memory: Memory = "checked"
    input: str | float = REAL
    resolution: float = 0.01
    what_if: str | None = None
    failures: StudyFailures = field(default_factory=StudyFailures)
    rental: StudyRental = field(default_factory=StudyRental)
    rent_class: str = ""
    ownership: StudyOwnership = field(default_factory=StudyOwnership)
    owned: tuple[OwnedHardware, ...] = ()
    experts: Experts = Experts()
    lora: int = 0
    mix: Mapping[str, float] = field(default_factory=dict)
    told: tuple[str, ...] = field(default=(), compare=False)

    def axis(self, name: str) -> Axis | None:
        """The axis of that name, given or default; None where the study has none."""
        return next((axis for axis in (*self.axes, *self.defaults) if axis.name == name), None)

    @property
    def laid_out(self) -> bool:
        """Whether its transformer is laid out over accelerators."""
        return lays_out((axis.name for axis in self.axes), self.values("stack"))

    @property
    def aggregations(self) -> tuple[AggregationName, ...]:
        """All that a search may try, conditional ones included."""
        return tuple(
            name for name in self.values("aggregation") if isinstance(name, AggregationName)
        )

    @property
    def transports(self) -> tuple[str, ...]:
        """Every transport that these use, by name; an approach brings its own."""
        return tuple(sorted({name.transport for name in self.aggregations if name.transport}))

    @property
    def named_aggregations(self) -> tuple[AggregationName, ...]:
        """All that a search may try and the baseline's, each once."""
        own = self.baseline.values["aggregation"]
        found = (*self.aggregations, own)
        return tuple(dict.fromkeys(name for name in found if isinstance(name, AggregationName)))

    def values(self, name: str) -> tuple[Value, ...]:
        """The values of an axis, conditional ones included; the two ends of a continuous one."""
        found = list[Value]()
        for axis in (*self.axes, *self.defaults):
            if axis.name == name:
                found += axis.ends or axis.values
        for condition in self.conditions:
            if condition.axis == name:
                found += condition.values
        return tuple(dict.fromkeys(found))

    def numbers(self, name: str, default: float) -> list[float]:
        """The values of a numeric axis; ``default`` where the study has none."""
        return [float(v) for v in self.values(name)] or [default]  # type: ignore[arg-type]

    def narrowed(self, values: Mapping[str, Sequence[Value | None]]) -> Study:
        """The study with these values alone of some axes; None is no value."""
        own = {name: tuple(one for one in each if one is not None) for name, each in values.items()}
        axes = [axis for axis in self.axes if axis.name not in own]
        axes += [
            Axis(name, each, tuple(written(name, one) for one in each), False)
            for name, each in own.items() if each
        ]  # fmt: skip
        defaults = tuple(axis for axis in self.defaults if axis.name not in own)
        conditions = tuple(one for one in self.conditions if one.axis not in own)
        return replace(self, axes=tuple(axes), defaults=defaults, conditions=conditions)

    def has(self, name: str, value: Value) -> bool:
        """Whether a search may try this value of an axis, whatever the others are."""
        known = self.axis(name)
        return (known is not None and known.has(value)) or any(
            condition.axis == name and value in condition.values for condition in self.conditions
        )
