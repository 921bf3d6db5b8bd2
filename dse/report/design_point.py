"""A design point as the report shows it: what was chosen, and what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from dse.pricing.bill_of_materials import Item
from dse.report.json_form import DRAWN, IF_ANY, INLINE, Flat

Bounds: TypeAlias = tuple[float, float]  # low, high


@dataclass(frozen=True, kw_only=True)
class Interval:
    """90 % intervals of a point. costs: by quantity, of what it costs, and of a run to the target
    where the study has one."""

    speedup: Bounds | None
    step_s: Bounds | None
    throughput_samples_per_s: Bounds | None = None
    costs: Mapping[str, Bounds] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PaiStep:
    """A step by the PAI paper's model: seconds of its terms, by the names of
    :data:`dse.model.terms.TERMS`. ideal: all overlaps, else they add up."""

    architecture: str
    ideal: bool
    terms: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class MessageAlgorithm:
    """An algorithm that a library takes for some messages.

    algorithm: the model's that prices it; messages: how many, of the least to the largest
    ``bytes``.
    """

    name: str
    algorithm: str
    messages: int
    bytes: Bounds


@dataclass(frozen=True, kw_only=True)
class LibraryChoice:
    """What a library chooses by its rules at a point, by rising size of message.

    rules: whose.
    """

    rules: str
    algorithms: tuple[MessageAlgorithm, ...]


@dataclass(frozen=True, kw_only=True)
class Run:
    """Training to the study's target. time_to_target, per_run, energy: seconds, USD of rent and
    joules. start_up_s: of the time, until rented machines have started; None where it is not of
    such. fitted_batches: the global batches that ``samples`` were observed at, None where the study
    gives them. extrapolated: the point's lies outside of these."""

    samples: float | None
    time_to_target: float | None
    per_run: float | None
    energy: float | None
    start_up_s: float | None = field(default=None, metadata=IF_ANY)
    fitted_batches: Bounds | None = None
    extrapolated: bool = False


@dataclass(frozen=True, kw_only=True)
class Paid:
    """Accelerators that are paid for, where they are more than train: ``units`` ``boards`` or
    ``machines``, each of ``size``, since fewer are not sold or rented out, or ``racks`` of so many
    machines. verb: ``bought`` or ``rented``."""

    accelerators: int
    units: int
    size: int
    kind: str
    verb: str


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """A workload of a mix at a point: its share of the time on the baseline, its speedup with a
    90 % interval, its own software in words, and its whole point as labels."""

    workload: str
    share: float
    speedup: float | None
    bounds: Bounds | None
    settings: str
    config: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Point:
    """A design point: what was chosen on every axis, and what it comes to.

    config: axis -> label, '' where it does not apply. numbers: the exact values of continuous axes.
    objectives, costs: quantity -> value. evidence: what stands behind the price of its
    communication, a key of :data:`dse.report.words.EVIDENCE`. terms: seconds of a step by the names
    of :data:`dse.model.terms.TERMS`, which sum to it. library_choice: None where the study names
    the algorithm, or what the library chooses was measured. pai: the step by the PAI paper's
    model, None by another. run: to the target, None without one. immaterial: axes that change
    nothing of it. servers: parameter servers, where they sum. others: of a point of the front, the
    quantities that are neither axes nor here already, by name; None of another point. ties: points
    exactly as good, of which some are listed in ``tied`` by the labels in which they differ. mix:
    of a mix every workload, whose first has the point's own software.
    None is unknown, or does not apply.
    """

    config: Mapping[str, str]
    numbers: Mapping[str, float] = field(default_factory=dict)
    objectives: Mapping[str, float | None] = field(default_factory=dict, metadata=INLINE)
    throughput_samples_per_s: float | None
    step_s: float | None
    extrapolated: bool
    evidence: str = ""
    computing: str = ""
    paid: Paid | None = field(default=None, metadata=IF_ANY)
    why_outside: tuple[str, ...] = ()
    interval: Interval | None = field(metadata=DRAWN)
    costs: Mapping[str, float | None]
    gpus: int
    nodes: int
    global_batch: int
    memory_slack_bytes: float | None
    out_of_memory: float | None = None
    terms: Mapping[str, float | None]
    comm_s: float | None
    library_choice: LibraryChoice | None = None
    pai: PaiStep | None = None
    run: Flat[Run] | None = field(default=None, metadata=IF_ANY)
    immaterial: tuple[str, ...] = ()
    servers: int | None = None
    others: Mapping[str, float] | None = field(default=None, metadata=IF_ANY)
    ties: int = 0
    tied: tuple[Mapping[str, str], ...] = ()
    mix: tuple[Mixed, ...] | None = field(default=None, metadata=IF_ANY)

    def __repr__(self) -> str:
        machine = self.config.get("node") or self.config.get("accelerator")
        gain = "" if self.speedup is None else f", {self.speedup:.3g}x"
        return f"<{self.gpus:,} x {machine}{gain}>"

    def same_as(self, other: Point) -> bool:
        """Whether both choose alike on every axis that applies, which are all that is written down
        of a baseline, and that is not immaterial to this point."""
        mine, theirs = (
            {axis: label for axis, label in point.config.items()
             if label and axis not in self.immaterial}
            for point in (self, other)
        )  # fmt: skip
        return mine == theirs

    @property
    def speedup(self) -> float | None:
        """Of the same work: time of the baseline over that of the point."""
        return self.objectives.get("speedup")

    def bounds(self, name: str) -> Bounds | None:
        """The 90 % interval of a quantity; None where there is none. That of the throughput
        follows from the step's."""
        found = self.interval
        if found is None:
            return None
        if name == "throughput" and found.step_s is not None:
            return self.global_batch / found.step_s[1], self.global_batch / found.step_s[0]
        own = {"speedup": found.speedup, "step": found.step_s}
        return own[name] if name in own else found.costs.get(name)

    def quantity(self, name: str) -> float | None:
        """A value by the name that a study's objectives and constraints have for it."""
        if name in self.objectives:
            return self.objectives[name]
        known: dict[str, float | None] = {
            **(self.others or {}),
            **self.costs,
            "throughput": self.throughput_samples_per_s,
            "step": self.step_s,
            "gpus": self.gpus,
            "nodes": self.nodes,
            "global_batch": self.global_batch,
            "memory_slack": self.memory_slack_bytes,
            "out_of_memory": self.out_of_memory,
            "comm": self.comm_s,
            "exposed": self.terms.get("exposed_s"),
        }
        if self.run is not None:
            known |= {
                "samples_to_target": self.run.samples,
                "time_to_target": self.run.time_to_target,
                "per_run": self.run.per_run,
                "energy": self.run.energy,
            }
        return known.get(name)


@dataclass(frozen=True, kw_only=True, repr=False)
class Baseline(Point):
    """assumed: axes the study says nothing of."""

    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Recommended(Point):
    """The point that the rule recommends; why: the rule in words."""

    rule: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Change:
    """What a step changes on one axis, as labels."""

    axis: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class WaterfallStep:
    """A step from the baseline to the recommended point. software: whether all is software, on the
    baseline's hardware. speedup, cost, other: after it; factor: by which it makes training faster.
    """

    changes: tuple[Change, ...]
    software: bool
    speedup: float | None
    factor: float | None
    cost: float | None
    other: float | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True, kw_only=True, repr=False)
class WithoutBuying(Point):
    """The baseline's hardware with the best software of the study, at the baseline's costs. missed:
    the demands of the study that it fails. steps: the way to it from the baseline."""

    missed: tuple[str, ...] = ()
    steps: tuple[Flat[WaterfallStep], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Goodput:
    """What failures, checkpoints and stalls leave of a run's time. share: that trains.
    between_stops_s, interval_s: from one stop, and one checkpoint, to the next on average; None
    where there are none. stalled: share of the time that stalls are expected to take; None: none.
    """

    share: float
    between_stops_s: float | None
    interval_s: float | None
    stalled: float | None = None


@dataclass(frozen=True, kw_only=True)
class OwnedYears:
    """The cost of a point over some years: bought, fed and sold again, or rented for as much work.
    rent_usd: None where no rent is known."""

    years: float
    purchase_usd: float
    electricity_usd: float
    operation_usd: float
    residual_usd: float
    own_usd: float
    rent_usd: float | None


@dataclass(frozen=True, kw_only=True)
class Owned:
    """Buying beside renting. years: of amortisation; residual_value, utilisation: shares, see
    :class:`dse.study.terms.StudyOwnership`; term: of the rental; break_even_utilisation: from
    which on buying pays, above 1 where it never does, None where the rent is too low, not known, or
    of all hours; break_even_months: until buying has paid at ``utilisation``, None where it never
    has. same_work_usd_per_hour: the rent for the work of an owned hour, None where it is that of an
    hour. paid_idle: the rent is of all hours, a commitment."""

    years: float
    residual_value: float
    utilisation: float
    term: str
    rent_usd_per_hour: float | None
    same_work_usd_per_hour: float | None = field(default=None, metadata=IF_ANY)
    break_even_utilisation: float | None
    break_even_months: float | None = None
    totals: tuple[OwnedYears, ...]
    paid_idle: bool | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True, kw_only=True)
class Power:
    """Watts by what draws them, at full load; they sum to the power of the point. pue: of the site.
    racks: that hold it, each of ``rack_w``. carbon_kg_per_kwh: of its electricity, at
    electricity_usd_per_kwh. run_energy_j, run_carbon_kg: of training to the target. None is
    unknown, or where the study has no target."""

    accelerators_w: float | None
    hosts_w: float | None
    servers_w: float | None
    network_w: float | None
    cooling_w: float | None
    pue: float | None
    racks: int | None
    rack_w: float | None
    electricity_usd_per_kwh: float | None
    carbon_kg_per_kwh: float | None
    region: str | None = None
    run_energy_j: float | None = None
    run_carbon_kg: float | None = None


@dataclass(frozen=True, kw_only=True)
class RankGroup:
    """Ranks that exchange something. name: what they share. ranks: of a group,
    ``stride`` from one to the next; nodes: that it touches. seconds: of a step that nothing
    hides."""

    name: str
    ranks: int
    stride: int
    nodes: int
    link: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class PipelineStage:
    """A stage of a pipeline. layers: of the model; embedding, head: whether it has them. seconds:
    of a micro-batch, without sends. memory: bytes of a rank, by the names of
    :data:`dse.model.memory.PARTS`."""

    layers: int
    embedding: bool
    head: bool
    seconds: float
    memory: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A transformer laid out. replicas: data ranks. micro_batches: of a step and replica. tensor,
    context: degrees. node: ranks that share the fast links. schedule, virtual: of the pipeline.
    memory_bytes: of an accelerator."""

    replicas: int
    tensor: int
    context: int
    node: int
    micro_batches: int
    schedule: str
    virtual: int
    memory_bytes: float
    groups: tuple[RankGroup, ...]
    stages: tuple[PipelineStage, ...]

    @property
    def heaviest(self) -> int:
        """The stage that needs most memory, from 0."""
        totals = [sum(stage.memory.values()) for stage in self.stages]
        return totals.index(max(totals))


@dataclass(frozen=True, kw_only=True, repr=False)
class Explained(Point):
    """A point with its reasons. workload: what is trained; gradients: their format and the
    baseline's, None unless these differ and one is assumed; decoding: what its hosts decode, None
    unless the step waits for them; launching: what a launch takes its host, None unless launches
    decide how long both passes take; not_searched: axes with a value that the study does not have;
    memory_short: how much memory is lacking and what would fit; memory: bytes that it needs by the
    names of :data:`dse.model.memory.PARTS`; own_rates: what the user's own training rates do to it
    and say of it, None where there are none; approach: seconds that parts of it add to the step;
    constraints: text -> whether it is met; intervals: the ends of 90 % intervals by
    quantity, None where there is none; bill: what is ordered for it, or rented where the study's
    money is rent; rented: what is rented where it counts purchase and rent; goodput: the share of a
    run's time that trains; target: of its run, in words; ownership: buying beside renting; rental:
    the terms, in words; power: what draws its watts; layout: where ranks stand, of a
    transformer that is laid out."""

    workload: str = ""
    approach: Mapping[str, float | None] | None = None
    memory_short: str = ""
    memory: Mapping[str, float | None] = field(default_factory=dict)
    own_rates: str | None = None
    gradients: str | None = None
    decoding: str | None = None
    launching: str | None = None
    not_searched: tuple[str, ...] = ()
    constraints: Mapping[str, bool] = field(default_factory=dict)
    intervals: Mapping[str, Bounds | None] = field(default_factory=dict)
    bill: tuple[Flat[Item], ...] = ()
    rented: tuple[Flat[Item], ...] | None = field(default=None, metadata=IF_ANY)
    goodput: Goodput | None = None
    target: str | None = field(default=None, metadata=IF_ANY)
    ownership: Owned | None = None
    rental: str = ""
    power: Power | None = None
    layout: Layout | None = field(default=None, metadata=IF_ANY)
