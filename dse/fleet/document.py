"""The answer to a fleet study, part by part: what fleet.json holds, and reading it back.

A field is a key of the file; ``class``, ``from`` and ``to`` have other names here. Every number is
SI, money in USD, none of them NaN. Components of a step, resources and classes are named as in
:data:`dse.fleet.recipe.COMPONENTS`, :data:`dse.model.pai.RESOURCES` and ``ARCHITECTURES``, all jobs
together as :data:`ALL`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from dse.catalog import Citation
from dse.units import all_significant

if TYPE_CHECKING:  # it takes a while to import
    from pydantic import TypeAdapter

FORMAT = "dse-fleet-4"
ALL = "all"
_KEYS = {"architecture": "class", "source": "from", "target": "to"}


def _renamed(*fields: str) -> dict[str, Any]:
    """The pydantic configuration of a part in which ``fields`` go by the keys of ``_KEYS``."""
    return {"alias_generator": lambda field: _KEYS[field] if field in fields else field}


@dataclass(frozen=True)
class PopulationSummary:
    """Whose jobs they are. seed: None for a table. counted_by: GPU-hours, or cNodes."""

    name: str
    title: str
    path: str
    drawn: bool
    jobs: int
    seed: int | None
    counted_by: str


@dataclass(frozen=True)
class FleetHardware:
    """The hardware of the jobs, by the fields of :class:`~dse.model.pai.Hardware`, with memory."""

    gpu_flops_per_s: float
    memory_bytes_per_s: float
    pcie_bytes_per_s: float
    ethernet_bytes_per_s: float
    nvlink_bytes_per_s: float
    efficiency: float
    gpus_per_server: float
    shared_pcie: bool
    gpu_memory_bytes: float | None


@dataclass(frozen=True)
class CNodes:
    """cNodes of the jobs of a class."""

    mean: float
    median: float
    largest: float


@dataclass(frozen=True)
class Level:
    """Shares of a step by component: their means, and their cumulative distributions.

    ``cdf[component][k]`` is the part of the jobs whose share is at most k / (len - 1).
    """

    mean: Mapping[str, float]
    cdf: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Levels:
    """Both ways to count: every job once, or by what it holds of the fleet."""

    job: Level
    cnode: Level


@dataclass(frozen=True)
class Breakdown:
    """Where the time of one class goes, or that of all jobs."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _renamed("architecture")

    architecture: str
    jobs: int
    job_share: float
    resource_share: float
    cnodes: CNodes
    levels: Levels


@dataclass(frozen=True)
class Speedup:
    """A speedup of many jobs, summed up in the three ways of :mod:`dse.fleet.upgrades`."""

    mean_of_ratios: float
    aggregate: float
    gpu_hours: float


@dataclass(frozen=True)
class NamedJob:
    """One job that has a name.

    gpu_hours: what it holds of the fleet, its cNodes where nobody told. speedups: upgrade -> of
    this job. moves: port -> samples per second after it over those before, where the job can move.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = _renamed("architecture")

    name: str
    architecture: str
    cnodes: float
    data_s: float
    flops_s: float
    memory_s: float
    weights_s: float
    step_s: float
    gpu_hours: float
    speedups: Mapping[str, float]
    moves: Mapping[str, float]


@dataclass(frozen=True)
class UpgradeSpeedup:
    """The gain of each class by an upgrade. changes: resource -> its new peak as written."""

    name: str
    changes: Mapping[str, str]
    speedup: Mapping[str, Speedup]


@dataclass(frozen=True)
class Port:
    """The jobs of one class, moved to another architecture: see :func:`dse.fleet.ports.port`."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _renamed("source", "target")

    source: str
    target: str
    jobs: int
    cannot: float
    gain_per_cnode: float
    gain_throughput: float
    jobs_that_gain_per_cnode: int
    jobs_that_gain_and_finish_later: int
    mean_speedup_per_cnode: float | None
    mean_throughput_ratio: float | None
    largest_speedup_per_cnode: float | None
    speedup_if_those_move_that_gain_per_cnode: Speedup
    fleet_speedup_by_gpu_hours: float


@dataclass(frozen=True)
class UpgradeWorth:
    """Costs and savings of an upgrade; None where it has no price. basis: how that adds up."""

    name: str
    capital_usd: float | None
    basis: str
    gpu_hours_saved_per_year: float
    saved_usd_per_year: float
    worth_usd_per_gpu: float
    cost_usd_per_year: float | None
    net_usd_per_year: float | None
    payback_years: float | None


@dataclass(frozen=True)
class PortWorth:
    """Savings by moving the jobs that gain per cNode. finish_later: how many of them do."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _renamed("target")

    target: str
    jobs: int
    finish_later: int
    gpu_hours_saved_per_year: float
    saved_usd_per_year: float
    worth_usd_per_gpu: float


@dataclass(frozen=True)
class Worth:
    """Upgrades and ports in money, over a fleet of so many accelerators at these prices."""

    gpus: int
    busy: float
    gpu_hours_per_year: float
    gpu_hour_usd: float
    accelerator: str
    years: float
    gpus_per_nic: int
    upgrades: tuple[UpgradeWorth, ...]
    ports: tuple[PortWorth, ...]


Ends: TypeAlias = tuple[float, float]  # of a 90 % interval


@dataclass(frozen=True)
class Band:
    """A number of all jobs together with its 90 % interval, and with that by the jobs alone.

    kind, of, way: which, see :class:`dse.fleet.intervals.Number`.
    """

    kind: str
    of: str
    way: str
    best: float
    low: float
    high: float
    jobs_low: float
    jobs_high: float


@dataclass(frozen=True)
class MoneyBand:
    """90 % intervals of what an upgrade or a port, the kind, is worth; None where a price is not
    known. payback_years: the upper end None where it may never be paid back."""

    kind: str
    name: str
    saved_usd_per_year: Ends
    worth_usd_per_gpu: Ends
    capital_usd: Ends | None = None
    net_usd_per_year: Ends | None = None
    payback_years: tuple[float, float | None] | None = None


@dataclass(frozen=True)
class FleetIntervals:
    """Intervals of the numbers of all jobs (:mod:`dse.fleet.intervals`).

    spreads: resource -> standard deviation of the logarithm of what it reaches. few_jobs: whether
    there are too few to tell how much jobs differ.
    """

    draws: int
    spreads: Mapping[str, float]
    few_jobs: bool
    numbers: tuple[Band, ...]
    money: tuple[MoneyBand, ...]


@dataclass(frozen=True)
class Held:
    """Jobs of one kind, and what share of what all jobs of the log held."""

    name: str
    jobs: int
    share: float


@dataclass(frozen=True)
class LogSummary:
    """The contents of a scheduler's log.

    form: of the log. columns: what a column tells -> its name. left_out: reason -> jobs.
    steps: rows that are steps of jobs. jobs, gpus, gpu_hours: of all that held
    GPUs and were not left out; hours None where the log has no times. workloads: what is priced.
    unmatched: jobs whose name no pattern of the study matches, which are not priced;
    unmatched_names: the commonest, with their jobs.
    batch_per_gpu: of ``without_batch`` priced jobs.
    """

    form: str
    columns: Mapping[str, str]
    left_out: Mapping[str, int]
    steps: int
    jobs: int
    gpus: float
    gpu_hours: float | None
    workloads: tuple[Held, ...]
    unmatched: Held
    unmatched_names: Mapping[str, int]
    batch_per_gpu: float
    without_batch: int


@dataclass(frozen=True)
class Timings:
    """Seconds in all."""

    total_s: float


@dataclass(frozen=True, kw_only=True)
class FleetDocument:
    """Everything about a fleet.

    hashes: sha256 of the study, population and price list. whole: the class under which all jobs
    stand. sensitivity: class -> resource -> mean of ratios, were that twice as fast. log: None
    where the jobs come from no scheduler; where no job of one has a known workload nothing is
    priced: all from ``classes`` to ``intervals`` is empty or None.
    """

    format: str
    fleet: str
    description: str
    path: str
    hashes: Mapping[str, str]
    study_text: str
    population: PopulationSummary
    hardware: FleetHardware
    hardware_labels: Mapping[str, str]
    overlap: str
    whole: str
    classes: tuple[Breakdown, ...]
    named: tuple[NamedJob, ...]
    sensitivity: Mapping[str, Mapping[str, float]]
    most_sensitive: Mapping[str, str]
    upgrades: tuple[UpgradeSpeedup, ...]
    ports: tuple[Port, ...]
    money: Worth | None
    intervals: FleetIntervals | None
    log: LogSummary | None = None
    sources: tuple[Citation, ...]
    timings: Timings
    command: str
    created: str
    versions: Mapping[str, str]

    @property
    def all_jobs(self) -> Breakdown:
        """The breakdown of all jobs."""
        return next(row for row in self.classes if row.architecture == self.whole)


@cache  # making one takes longer than writing a report
def _adapter() -> TypeAdapter[FleetDocument]:
    from pydantic import TypeAdapter

    return TypeAdapter(FleetDocument)


def plain(document: FleetDocument) -> dict[str, Any]:
    """The document as fleet.json holds it, in twelve digits: so it is the same on every CPU."""
    absent = {"log"} if document.log is None else set()
    found = _adapter().dump_python(document, mode="json", by_alias=True, exclude=absent)
    rounded: dict[str, Any] = all_significant(found)
    return rounded


def from_plain(found: object) -> FleetDocument:
    """The document that :func:`plain` gave. Raises pydantic's ValidationError, a ValueError."""
    return _adapter().validate_python(found)
