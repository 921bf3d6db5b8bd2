"""The document of a run: all that its report says, as typed objects.

run.json holds the same, key by key and in this order, its front and sources by column: see
:mod:`dse.report.json_form`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.catalog import Citation
from dse.decision.remarks import State
from dse.pricing.bill_of_materials import Item
from dse.report.certainty.facts import Certainty
from dse.report.design_point import (
    Baseline,
    Bounds,
    Layout,
    Owned,
    Point,
    Recommended,
    WaterfallStep,
    WithoutBuying,
)
from dse.report.json_form import IF_ANY, Flat
from dse.study.quantities import PURCHASE, RENT, facts_of

SCHEMA_VERSION = 5  # of the file: another is refused


@dataclass(frozen=True, kw_only=True)
class StudyInfo:
    """Which study was asked; path: of its file. rental: the term, empty on demand.
    tokens_per_sample: of a workload of texts of one length. sides: of an encoder, then its decoder:
    the layers, and the length of their texts as a share of a sample's."""

    name: str
    description: str
    path: str
    workload: str
    workload_title: str = ""
    tokens_per_sample: float | None = field(default=None, metadata=IF_ANY)
    sides: tuple[tuple[int, float], ...] | None = field(default=None, metadata=IF_ANY)
    rental: str = field(default="", metadata=IF_ANY)


@dataclass(frozen=True, kw_only=True)
class Hashes:
    """The hashes of the study, the catalogue and the profiles in use, these joined by '+'."""

    study: str
    catalogue: str
    calibration: str


@dataclass(frozen=True, kw_only=True)
class Work:
    """Units of work, how many an earlier run had done, how often one was done again."""

    units: int = 0
    resumed: int = 0
    repeated: int = 0


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Points: evaluated, of the whole space, allowed to a guided search, feasible, priced, on the
    front, and equal to those."""

    points: int
    space: int | None = None
    budget: int | None = None
    feasible: int
    priced: int | None = None
    front: int
    ties: int


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Points on which every limit was tried, how many of them meet all, and whether they are all of
    the space or a random sample."""

    points: int
    feasible: int
    whole: bool


@dataclass(frozen=True, kw_only=True)
class Timings:
    """Wall-clock seconds."""

    search_s: float
    total_s: float


@dataclass(frozen=True, kw_only=True)
class Objectives:
    """Quantities that the study wants much and little of."""

    maximize: str
    minimize: str
    minimize_also: str | None = field(default=None, metadata=IF_ANY)

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order of the columns."""
        return (self.maximize, *self.costs)

    @property
    def costs(self) -> tuple[str, ...]:
        """What the study wants little of: its one cost, or the first and second."""
        return (self.minimize, self.minimize_also) if self.minimize_also else (self.minimize,)


@dataclass(frozen=True, kw_only=True)
class AxisRange:
    """Of a continuous axis: what its numbers are called, unit included, and their limits (SI)."""

    name: str
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class AxisRow:
    """An axis as the study writes it. conditional: where it applies, empty for everywhere."""

    name: str
    values: tuple[str, ...]
    default: bool
    conditional: str
    range: AxisRange | None = None


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Random feasible points, as columns."""

    cost: tuple[float | None, ...] = ()
    gain: tuple[float | None, ...] = ()
    aggregation: tuple[str, ...] = ()
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FitErrors:
    """Relative errors of a fit on what was left out of it. held_out: what that was."""

    error_median: float | None = None
    error_p90: float | None = None
    textbook_error_median: float | None = None
    held_out: str | None = None


@dataclass(frozen=True, kw_only=True)
class RateRow:
    """Training that was measured. workload: what was trained, in words; samples_per_s: of all
    ``gpus`` together."""

    workload: str
    accelerator: str
    precision: str
    stack: str
    gpus: int
    batch_per_gpu: float
    accumulation: int
    samples_per_s: float


@dataclass(frozen=True, kw_only=True)
class CalibrationRow:
    """A calibration profile in use; algorithms: the errors of its fits. compute: the speeds of
    devices in it, in words; rates: the training in it."""

    name: str
    transport: str
    system: str = ""
    device: str = ""
    source: str = ""
    library: str
    machine: Mapping[str, str | int | float]
    date: str
    link: str
    link_bytes_per_s: float | None = None
    ranks: tuple[int, int]
    message_bytes: Bounds
    split: str
    gamma_s_per_byte: float | None = None
    algorithms: Mapping[str, FitErrors]
    compute: tuple[str, ...] = ()
    rates: tuple[RateRow, ...] = ()
    path: str
    hash: str


@dataclass(frozen=True, kw_only=True)
class TransportRow:
    """A transport or approach of the study. partly: only some of its algorithms are calibrated."""

    name: str
    title: str
    calibrated: bool
    partly: bool = False
    note: str


@dataclass(frozen=True, kw_only=True)
class Extrapolated:
    """How many front points are priced outside what was measured, and what counts as that."""

    front: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A row of the front. front: positions of its points, from 0, first the one that stands for
    it. varies: axis -> the values that these points and their listed equals have of it."""

    front: tuple[int, ...]
    varies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The front without differences that are worth nothing. resolution: points of a row are within
    this share of its first in every objective."""

    resolution: float
    rows: tuple[Choice, ...]


@dataclass(frozen=True, kw_only=True)
class WhatIfPoint:
    """A point of a what-if; gain, cost, other: the study's objectives. missed: demands it fails.
    measured: profiles that price its communication."""

    config: Mapping[str, str]
    immaterial: tuple[str, ...] = ()
    speedup: float | None
    gain: float | None
    cost: float | None
    other: float | None = field(default=None, metadata=IF_ANY)
    missed: tuple[str, ...] = ()
    measured: tuple[str, ...] = field(default=(), metadata=IF_ANY)


@dataclass(frozen=True, kw_only=True)
class WhatIfRow:
    """A value of the axis. alone: the baseline with nothing else changed. best_software: the same
    hardware with the best software of the study; recommended: likewise, on the recommended
    hardware; None where there is too much to try."""

    value: str
    baseline: bool
    alone: Flat[WhatIfPoint]
    best_software: Flat[WhatIfPoint] | None
    recommended: Flat[WhatIfPoint] | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """What each value of one axis is worth."""

    axis: str
    rows: tuple[WhatIfRow, ...]


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """With what probability limits hold. asked: wanted of the recommended point, ``recommended``:
    what it has, reached: whether that is enough. best_estimate: the row of the front, from 1, that
    would be recommended if nobody asked. front: by row, None where a long front was thinned out.
    """

    asked: float
    reached: bool
    recommended: float
    best_estimate: int
    front: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class RemarkLine:
    """A remark as the report says it. name: of its row in :mod:`dse.decision.remarks`. blocks:
    whether it keeps the answer from being signed. action: what to do, empty where nothing helps.
    facts: the numbers of both sentences, in SI."""

    name: str
    blocks: bool
    sentence: str
    action: str
    facts: Mapping[str, str | int | float]

    @property
    def whole(self) -> str:
        """Both sentences: ``Get a new offer for the hosts. The offer in a.csv ended in May.``"""
        return f"{self.action}. {self.sentence}" if self.action else self.sentence

    @property
    def brief(self) -> str:
        """Both as one clause, for a line of several."""
        action, reason = (text[:1].lower() + text[1:] for text in (self.action, self.sentence[:-1]))
        return f"{action} ({reason})" if action else reason


@dataclass(frozen=True, kw_only=True)
class Repricing:
    """Points that may be recommended, and what the study's first cost of them is made of:
    ``cost = usd @ quantities + constant``, see :mod:`dse.pricing.linear_cost`.

    recommended: position of the recommended point. points: in words. gain: what the study
    maximizes. parts, units, usd: of every unit price. quantities: (prices, points). most: that the
    study allows of the cost; None where it sets no such limit.
    """

    recommended: int
    points: tuple[str, ...]
    gain: tuple[float, ...]
    parts: tuple[str, ...]
    units: tuple[str, ...]
    usd: tuple[float, ...]
    quantities: tuple[tuple[float, ...], ...]
    constant: tuple[float, ...]
    most: float | None


@dataclass(frozen=True, kw_only=True)
class RunDocument:
    """All that the report of a run says. rejected: demand -> points that fail it, of those that are
    judged; these are all points where that is None. A guided search prices hardly any point that
    misses a limit, so its own points would not tell. bills: what is ordered for the points that the
    answer names, by their names here.
    questions: what was asked beside the study, by option; confidence: None where none was asked
    for. target: of a run, in words, None without one. ownership: buying the recommended point
    beside renting it. owned: what stands there already, in words; None where nothing does.
    repricing: None where no price changes what the study compares. prices: of the parts that the
    search may choose. remarks: the heaviest first. state: how near the answer is to being signed.
    layout: of the recommended point, where it is one."""

    schema_version: int = SCHEMA_VERSION
    created: str
    study: StudyInfo
    command: str
    versions: Mapping[str, str]
    hashes: Hashes
    inputs_hash: str = ""
    seed: int
    engine: str
    engine_reason: str
    executor: str
    work: Work = field(default_factory=Work)
    counts: Counts
    rejected: Mapping[str, int]
    judged: Judged | None = field(default=None, metadata=IF_ANY)
    timings: Timings
    objectives: Flat[Objectives]
    units: Mapping[str, str]
    axes: tuple[AxisRow, ...]
    constraints: tuple[str, ...]
    baseline: Flat[Baseline]
    recommended: Flat[Recommended]
    cheapest_within_5_percent: Flat[Point]
    fastest: Flat[Point]
    without_buying: Flat[WithoutBuying] | None = None
    front: tuple[Flat[Point], ...]
    choices: Choices | None = None
    bills: Mapping[str, tuple[Flat[Item], ...]] = field(default_factory=dict)
    certainty: Certainty | None = None
    waterfall: tuple[Flat[WaterfallStep], ...] = ()
    what_if: WhatIf | None = None
    sample: Sample
    calibration: tuple[CalibrationRow, ...]
    transports: tuple[TransportRow, ...]
    extrapolated: Extrapolated
    target: str | None = field(default=None, metadata=IF_ANY)
    remarks: tuple[RemarkLine, ...] = ()
    state: State = "ready"
    assumptions: tuple[str, ...]
    sources: tuple[Citation, ...]
    reproduce: tuple[str, ...]
    study_text: str
    ownership: Owned | None = None
    owned: tuple[str, ...] | None = field(default=None, metadata=IF_ANY)
    questions: Mapping[str, str] | None = field(default=None, metadata=IF_ANY)
    confidence: Confidence | None = field(default=None, metadata=IF_ANY)
    repricing: Repricing | None = field(default=None, metadata=IF_ANY)
    prices: tuple[Flat[Item], ...] = field(default=(), metadata=IF_ANY)
    layout: Layout | None = field(default=None, metadata=IF_ANY)

    @property
    def buys(self) -> bool:
        """Whether purchase prices count in what the study minimizes; a rented cluster's do not."""
        facts = facts_of(self.objectives.costs)
        return PURCHASE in facts or RENT not in facts
