"""A fitted profile: what one message costs in a transport, how sure that is, where it holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dse.calibration.compute_part import ComputeFit
from dse.calibration.experiment import STRICT, Count, NonNegative, Positive, Seconds
from dse.calibration.files import Doubt, read_checked, write_text
from dse.calibration.library_part import AUTO, LibraryFit
from dse.calibration.network_part import NetworkFit
from dse.calibration.node_cost import step_cost
from dse.calibration.number_text import percent, short, span_text
from dse.calibration.ps_part import PS, ServersFit
from dse.calibration.throughput_part import LayoutRate, Throughput
from dse.errors import OutsideCalibration
from dse.model.arrays import Array
from dse.model.links import StepCost
from dse.text_source import is_path
from dse.yaml_source import Loc

ALLREDUCE, HALVES = "allreduce", ("all_gather", "reduce_scatter")
ALLTOALL, SEND = "alltoall", "send"
UNITS = {
    "call_s": (1e6, "us a call"), "link_bytes_per_s": (1e-9, "GB/s of a link"),
    "hop_s": (1e6, "us a hop"), "cards_bytes_per_s": (1e-9, "GB/s of a node's cards"),
}  # fmt: skip
NUMBERS = tuple(UNITS)
FORMAT: Literal["dse-profile/1"] = "dse-profile/1"
POOLED = "any"
NO_TRANSPORT = "none"  # of a profile that holds no communication
CountRange = Annotated[tuple[Count, Count], Field(min_length=2, max_length=2)]
ByteRange = tuple[Positive, Positive]


@dataclass(frozen=True)
class ExchangeFit:
    """One operation as :class:`dse.model.parallel.exchanges.Tiers` prices it, with all shares 1.

    call_s, link_bytes_per_s: on one node, what a call takes and a rank's link reaches. hop_s,
    cards_bytes_per_s: across nodes, what a hop takes and all network cards of a node reach;
    cards_share: of their speed. All are 0 where they were not measured or that is not known.
    ranks, nodes, message_bytes: least and largest measured. error, error_p90: median and 90th
    percentile of the relative error on rank counts (or sizes) that were left out. low, high:
    ends of the 90 % intervals of NUMBERS, by bootstrap.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    call_s: NonNegative
    link_bytes_per_s: NonNegative
    hop_s: NonNegative
    cards_bytes_per_s: NonNegative
    cards_share: NonNegative
    ranks: tuple[Count, Count]
    nodes: tuple[Count, Count]
    message_bytes: tuple[Positive, Positive]
    error: NonNegative
    error_p90: NonNegative
    low: tuple[NonNegative, ...]
    high: tuple[NonNegative, ...]


def exchange_text(operation: str, fit: ExchangeFit) -> str:
    """One line: what was reached, where, and how far off it is."""
    parts = []
    for (number, (scale, unit)), *ends in zip(UNITS.items(), fit.low, fit.high, strict=True):
        value, low, high = (short(scale * each) for each in (getattr(fit, number), *ends))
        if getattr(fit, number):
            parts.append(f"{value} ({low} to {high}) {unit}")
    ranks, nodes = (span_text(*ends) for ends in (fit.ranks, fit.nodes))
    missed = f"what was left out missed by {percent(fit.error)}"
    return f"{operation} in layouts: {', '.join(parts)}; ranks {ranks}, nodes {nodes}; {missed}"


@dataclass(frozen=True)
class Fit:
    """One algorithm's step cost: seconds, seconds per byte, bytes.

    switch_s: per process switch where ranks share a core (no part of the step cost).
    draws: one row per bootstrap replica: latency, slopes, jumps, switch.
    error, error_p90: median and 90th percentile of the held-out absolute relative error
    (leave one rank count out, or sizes of a single one; for 'any' leave one algorithm out, which
    is how 'any' is used).
    textbook_*: the same of one alpha and one beta. residual: the median error of the fit itself.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    latency_s: NonNegative
    s_per_byte: tuple[NonNegative, ...]
    edges_bytes: tuple[Positive, ...]
    jump_s: tuple[NonNegative, ...]
    switch_s: NonNegative
    error: NonNegative
    error_p90: NonNegative
    textbook_error: NonNegative
    textbook_error_p90: NonNegative
    residual: NonNegative
    draws: tuple[tuple[NonNegative, ...], ...]

    @property
    def coefficients(self) -> Array:
        """All parameters in the order of fitting.step_cost: (columns,)."""
        values = [self.latency_s, *self.s_per_byte, *self.jump_s, self.switch_s]
        return np.array(values, dtype=np.float64)

    def step(self) -> StepCost:
        """The fitted step cost."""
        return step_cost(self.coefficients[:-1], self.edges_bytes)

    def step_draws(self, replicas: NDArray[np.intp] | None = None) -> StepCost:
        """Bootstrap replicas: every coefficient of shape (draws, 1).

        replicas: which, all by default; -1 is the best fit itself.
        """
        draws = np.array(self.draws, dtype=np.float64)
        if replicas is not None:
            draws = np.vstack([draws, self.coefficients])[replicas]
        return step_cost(draws[:, :-1], self.edges_bytes)

    def wrong(self) -> str:
        """What is wrong with it that no single value shows; empty if nothing."""
        edges = len(self.edges_bytes)
        fitting = (
            len(self.s_per_byte) == edges + 1
            and len(self.jump_s) == edges
            and list(self.edges_bytes) == sorted(set(self.edges_bytes))
            and len(self.draws) > 0
            and all(len(draw) == 3 + 2 * edges for draw in self.draws)
        )
        return "" if fitting else "edges, slopes, jumps and draws do not fit together"


Part = Fit | LibraryFit | NetworkFit | ServersFit | ComputeFit


@dataclass(frozen=True)
class Point:
    """One measured median beside its prediction by a fit that never saw its group; None if none."""

    __pydantic_config__: ClassVar[Any] = STRICT

    algorithm: str
    ranks: Count
    bytes: Count
    measured_s: Seconds
    held_out_s: Seconds | None
    ranks_per_node: Count = 1


@dataclass(frozen=True)
class Profile:
    """A profile file. Times are per rank with a core of its own (see ``node_cost.contention``).

    cores: of the machine measured. background_cores: how many of them other processes kept busy
    meanwhile, on average. ranks, message_bytes, step_bytes: least and largest measured.
    max_nodes: nodes measured. split: 'assumed' where host and wire could not be told apart.
    measurements_sha256: of the measurement file(s), or the rows of a table, this was fitted on.
    fits: by algorithm, where it was forced; network: the same between nodes; auto: where the
    library chose it. ps: parameter servers, by transport; compute: how fast devices compute;
    throughput: rates of whole training; layouts: of transformers laid out; exchanges: what ranks of
    layouts send, by operation. Without allreduce, ranks are workers. link_bytes_per_s: of a node to
    others, where one was measured and known. assumed: what no log said and was taken instead.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    name: str
    transport: str
    library: str
    version: str
    link: str
    machine: Mapping[str, str]
    cores: Count
    background_cores: NonNegative
    date: str
    source: str
    measurements_sha256: str
    gamma_s_per_byte: NonNegative
    copy_s_per_byte: NonNegative
    ranks: CountRange
    message_bytes: ByteRange
    step_bytes: ByteRange
    max_nodes: Count
    split: str
    split_reason: str
    fits: Mapping[str, Fit]
    points: tuple[Point, ...]
    auto: LibraryFit | None = None
    network: Mapping[str, NetworkFit] = field(default_factory=dict)
    ps: Mapping[str, ServersFit] = field(default_factory=dict)
    compute: tuple[ComputeFit, ...] = ()
    throughput: tuple[Throughput, ...] = ()
    layouts: tuple[LayoutRate, ...] = ()
    exchanges: Mapping[str, ExchangeFit] = field(default_factory=dict)
    system: str = ""
    device: str = "cpu"
    link_bytes_per_s: Positive | None = None
    assumed: tuple[str, ...] = ()
    format: Literal["dse-profile/1"] = FORMAT

    @property
    def silent(self) -> bool:
        """Whether it holds no communication."""
        return self.transport == NO_TRANSPORT

    @property
    def measured_algorithms(self) -> tuple[str, ...]:
        named = tuple(dict.fromkeys([*(n for n in self.fits if n != POOLED), *self.network]))
        return (*named, AUTO) if self.auto else named

    @property
    def content_hash(self) -> str:
        """sha256 of the content, independent of layout and key order."""
        text = json.dumps(asdict(self), sort_keys=True, default=dict)
        return hashlib.sha256(text.encode()).hexdigest()

    def servers(self, algorithm: str) -> ServersFit | None:
        """Parameter servers over the transport of 'ps-grpc', or over the profile's own of 'ps'."""
        if algorithm == PS:
            return self.ps.get(self.transport) or next(iter(self.ps.values()), None)
        name, _, transport = algorithm.partition("-")
        return self.ps.get(transport) if name == PS else None

    def fit(self, algorithm: str) -> Fit:
        """The algorithm's own fit, or the pooled one where it was not measured."""
        return self.fits.get(algorithm, self.fits[POOLED])

    def error(self, algorithm: str) -> float:
        """Median absolute relative error on what was held out."""
        return self._judged(algorithm).error

    def error_p90(self, algorithm: str) -> float:
        """90th percentile of the same."""
        return self._judged(algorithm).error_p90

    @property
    def only_rates(self) -> bool:
        """Whether it holds nothing but rates of whole training."""
        others = self.fits or self.auto or self.network or self.ps or self.compute
        return bool(self.throughput or self.layouts) and not (others or self.exchanges)

    def held_out(self, algorithm: str) -> Literal["ranks", "sizes"]:
        """What was left out of the fit to judge it: rank counts, or sizes where too few rank counts
        were measured for that. These say different things, and sizes are the easier."""
        judged = self._judged(algorithm)
        if not isinstance(judged, Fit):
            return judged.held_out
        counts = {point.ranks for point in self.points if point.algorithm == algorithm}
        return "sizes" if len(counts) == 1 else "ranks"

    def _judged(self, algorithm: str) -> Fit | LibraryFit | NetworkFit:
        if algorithm == AUTO and self.auto:
            return self.auto
        if algorithm in self.network and algorithm not in self.fits:
            return self.network[algorithm]
        return self.fit(algorithm)


def read_profile(path: str | Path) -> Profile:
    """Read a profile; StudyError says where it is wrong and what would be right.

    Paths of workloads are relative to its folder.
    """
    remedy = "fit it again: dse calibrate fit MEASUREMENTS --out PROFILE"
    found: Profile = read_checked(Profile, path, FORMAT, remedy, _doubts)

    def place(workload: str) -> str:
        return str(Path(path).parent / workload) if is_path(workload) else workload

    rates = (replace(row, workload=place(row.workload)) for row in found.throughput)
    layouts = (replace(row, workload=place(row.workload)) for row in found.layouts)
    return replace(found, throughput=tuple(rates), layouts=tuple(layouts))


def _doubts(profile: Profile) -> Iterator[Doubt]:
    """What does not fit together although each value is valid."""
    for name in ("ranks", "message_bytes", "step_bytes"):
        low, high = getattr(profile, name)
        if low > high:
            problem = f"{name}: the range {low:g} .. {high:g} is inverted"
            yield Doubt((name,), problem, "write the smaller first")
    of = (("network", profile.network.items()), ("ps", profile.ps.items()),
          ("fits", profile.fits.items()), ("compute", enumerate(profile.compute)))  # fmt: skip
    parts: list[tuple[Loc, Part]] = [(("auto",), profile.auto)] if profile.auto else []
    parts += [((kind, key), part) for kind, every in of for key, part in every]
    for place, part in parts:
        if wrong := part.wrong():
            yield Doubt(place, f"{'.'.join(map(str, place))}: {wrong}")
    others = profile.auto or profile.network or profile.ps or profile.compute
    rates = profile.throughput or profile.layouts or profile.exchanges
    if POOLED not in profile.fits and (profile.fits or not (others or rates)):
        yield Doubt(("fits",), f"has no fit '{POOLED}'")


def write_profile(profile: Profile, path: str | Path) -> None:
    """Write as YAML; short lists on one line, so that a difference of two profiles reads well."""
    import yaml

    record = json.loads(json.dumps(asdict(profile), default=dict))
    record = {"format": record.pop("format"), **record}
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(record, Dumper=dumper, sort_keys=False, width=100, default_flow_style=None)
    write_text(path, text)


def local_ranks(profile: Profile, point: Point) -> int:
    """Ranks on a full node where a point was measured; all of them if there was only one node."""
    return point.ranks if profile.max_nodes <= 1 else min(point.ranks, point.ranks_per_node)


def usual_ranks_per_node(profile: Profile, ranks: int) -> int:
    """The default: all ranks on one node, or the most ranks per node of the multi-node runs."""
    return int(min(ranks, usual_node(profile)))


def usual_node(profile: Profile) -> float:
    """Ranks of a full node by that default; inf where a node holds all ranks there are."""
    if profile.max_nodes <= 1:
        return inf
    local = [point.ranks_per_node for point in profile.points if point.ranks_per_node < point.ranks]
    fallback = profile.auto.ranks_per_node[1] if profile.auto else 1
    return max(local, default=fallback)


def measured_speeds(profile: Profile, algorithm: str) -> tuple[float, float] | None:
    """Bytes/s of the slowest and fastest link that the algorithm was measured on; None: unknown."""
    part = profile.servers(algorithm)
    if part is not None:
        found = [part.link_bytes_per_s]
    elif algorithm in profile.network:
        found = [profile.network[algorithm].link_bytes_per_s]
    elif profile.link_bytes_per_s is not None:
        found = [(profile.link_bytes_per_s, profile.link_bytes_per_s)]
    else:  # what rules choose, each as it was measured
        found = [fit.link_bytes_per_s for fit in profile.network.values()]
    known = [speeds for speeds in found if speeds[1] > 0]
    return (min(s for s, _ in known), max(s for _, s in known)) if known else None


def speed_at(profile: Profile, algorithm: str, given: float | None) -> float | None:
    """Bytes/s at which a prediction holds: the one ``given``, else the fastest measured, if known.

    Raises OutsideCalibration if one is given and the measured speed is not known.
    """
    measured = measured_speeds(profile, algorithm)
    if given is not None and measured is None:
        problem = f"profile {profile.name} does not state the link speed that it was measured at"
        raise OutsideCalibration(f"{problem}, so it cannot predict another; drop --link-bandwidth")
    return given if given is not None else measured and measured[1]
