"""What every way to sum gradients, and every model of a step, must do, whatever its parameters.

A new algorithm is here by its row in ALGORITHMS, a new approach by its file, a new kind by a line
in CASES.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from dse import catalog
from dse.calibration import Profile
from dse.model import aggregation
from dse.model.aggregation.algorithms import ALGORITHMS, node_count
from dse.model.aggregation.base import (
    HARDWARE_AXES,
    Aggregation,
    Bucketed,
    Cluster,
    Gradients,
    Layout,
    Summed,
)
from dse.model.aggregation.by_layout import ByLayout
from dse.model.aggregation.composed import Composed, Software
from dse.model.aggregation.library_rules import LibraryRules
from dse.model.aggregation.measured_library import (
    FAMILIES,
    Anchor,
    Composition,
    LibraryCost,
    MeasuredLibrary,
)
from dse.model.aggregation.nccl import NCCL_ALGORITHMS, NcclAllreduce
from dse.model.aggregation.nccl_tuner import GENERATIONS
from dse.model.aggregation.parameter_server import ParameterServer, parameter_server
from dse.model.arrays import Array
from dse.model.bill import network_cards
from dse.model.compute import Layers, roofline_device
from dse.model.kept import Kept
from dse.model.leaves import leaf
from dse.model.links import NO_WIRE, Link, Network, StepCost
from dse.model.precision import PRECISIONS
from dse.model.step import StepModel
from dse.pricing.aggregations import Factory
from dse.pricing.load import load
from dse.pricing.study_facts import STEP_MODELS
from dse.study import AXES, AggregationName, Value
from dse.study.axes import OF_LAYOUT, RENTAL
from tests.calibration import library_profiles, server_profiles
from tests.model.works import Given, gradients_of
from tests.pricing import priced, studies

LINK = 1e10  # bytes/s of a node, as reached
COST = StepCost(3e-6, (2e-10, 5e-10), (65536.0,), (1e-6,))
SOFTWARE = {
    "on devices": Software(COST, COST, 1e-10),
    "through the host": Software(COST, COST, 1e-10, reaches_device=False),
    "over all cards": Software(COST, COST, 1e-10, multirail=True),
}
# Per call; then inside and between nodes: per hop, and per byte up to an edge and of all.
EDGES = (65536.0,)
INSIDE, BETWEEN = (1e-6, 0.0, 2e-11, 1e-11), (5e-6, 2e-6, 2e-10, 1 / LINK)
CALL = (6e-6, 0.0)
RING_FROM = 2.0**25
LAYERS = (2e5, 0.0, 3e6, 7e3, 1e6)  # trainable parameters
SCALES = np.geomspace(1e-5, 1e4, 120)
LAYOUTS = ((2, 1), (3, 1), (16, 1), (2, 8), (8, 8), (16, 8), (24, 8), (12, 4), (1000, 8))
# Axes of a study, with what they are to a layout: two values of each.
OF_LAYOUTS: dict[str, tuple[dict[str, Array], dict[str, Array]]] = {
    "ps_servers": ({"servers": np.array(1.0)}, {"servers": np.array(7.0)}),
    "ps_placement": ({"colocated": np.array(False)}, {"colocated": np.array(True)}),
    "fusion_buffer": tuple({"fusion_buffer_bytes": np.array(v)} for v in (1.0, 2.0**27)),
    "fusion_cycle": tuple({"fusion_cycle_s": np.array(v)} for v in (1e-3, 0.1)),
}  # type: ignore[assignment]


def one_regime(gradients: Gradients, layout: Layout) -> Hashable:
    """More bytes never cost less, whatever the bytes."""
    del gradients, layout
    return None


@dataclass(frozen=True)
class Case:
    """A way to sum gradients. regime: where it is the same, more bytes never cost less."""

    name: str
    model: Aggregation
    regime: Callable[[Gradients, Layout], Hashable] = one_regime

    @property
    def link_share(self) -> float:
        """Of a link's nominal speed what the layouts here have; fitted costs go with the former."""
        software = getattr(self.model, "software", None)
        return software.link_share if isinstance(software, Software) else 1.0


def by_library(family: str, *longer: float, **changes: float) -> Case:
    """A library that chose by itself, as it was measured on a link as fast as here.

    longer: times that 2, 3, ... nodes of 8 took longer than composed.
    """
    how = replace(Composition(family, ring_from_bytes=RING_FROM), **changes)
    cost = LibraryCost(how, EDGES, (*CALL, *INSIDE, *BETWEEN))
    sizes = np.geomspace(1e3, 1e9, 9)
    cost = replace(cost, anchors=tuple(
        Anchor(8 * nodes, 8, tuple(sizes), tuple(off * cost(8 * nodes, 8, sizes)))
        for nodes, off in enumerate(longer, 2)
    ))  # fmt: skip

    def regime(gradients: Gradients, layout: Layout) -> Hashable:
        del layout
        return tuple(gradients.message_bytes >= RING_FROM)  # where its ring carries less

    model = MeasuredLibrary(cost, LINK / 0.9, 0.9, True)
    return Case(f"choice of {family} {longer} {changes}", model, regime)


def by_rules(algorithm: str, transport: str) -> Case:
    """A library whose rules may be wrong, so that a message of another algorithm costs less."""
    model = Factory({})(AggregationName(algorithm, transport)).model
    return Case(
        f"rules of {algorithm}-{transport}", model,
        lambda gradients, layout: tuple(
            (choice.name, choice.messages) for choice in model.choices(gradients, layout)
        ),
    )  # fmt: skip


def made(algorithm: str, transport: str, *profiles: Profile) -> Case:
    """By the catalogue, or by what was measured, on any hardware."""
    known = {profile.name: profile for profile in profiles}
    model = Factory(known)(AggregationName(algorithm, transport)).model
    if isinstance(model, ByLayout):
        model = model.parts[0]  # elsewhere the catalogue
    return Case(f"{algorithm}-{transport} {' '.join(known)}", model)


def by_layout(*parts: Case) -> Case:
    """One node by the first, several by the second."""
    models = tuple(part.model for part in parts)

    def which(layout: Layout) -> NDArray[np.intp]:
        nodes = node_count(layout.gpus, layout.gpus_per_node)
        return np.asarray(nodes > 1).astype(np.intp)

    name = f"of several nodes {parts[1].name}, else {parts[0].name}"
    return Case(name, ByLayout(models, which))  # type: ignore[arg-type]


CASES = [
    *(
        Case(f"{row.name} {where}", Composed(row, software))
        for row in ALGORITHMS.values()
        for where, software in SOFTWARE.items()
    ),
    *(made(name, "nccl") for name in NCCL_ALGORITHMS),
    *(made(name, "nccl-tcp") for name in NCCL_ALGORITHMS),
    made("ring", "nccl", library_profiles.between_nodes()),
    *(by_library(family) for family in FAMILIES),
    by_library("nccl", nvls=True),
    by_library("nccl", 2.0, 1.6),
    by_library("nccl", sharing=1.5),
    by_library("mpi", chunk_bytes=4096.0),
    by_rules("auto-openmpi", "mpi"),
    by_rules("auto-mpich", "mpi-gdr"),
    by_rules("auto", "nccl"),
    by_rules("auto", "nccl-tcp"),
    by_layout(made("tree", "nccl"), made("ring", "nccl")),
    made("ps", "grpc"),
    made("ps", "nccl"),
    made("ps", "grpc", server_profiles.profile()),
    *(
        Case(f"approach {name}", Factory({})(AggregationName(approach=name)).model)
        for name in catalog.names("approaches")
    ),
]
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_third_often = pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=pytest.mark.evidence if at % 3 else ())
        for at, case in enumerate(CASES)
    ],
)


def cluster(
    gpus: ArrayLike, per_node: ArrayLike = 1.0, link: float = LINK, **changes: Array
) -> Cluster:
    """Nodes of one card each; servers on machines of their own."""
    given = Cluster(
        np.asarray(gpus, dtype=np.float64),
        np.asarray(per_node, dtype=np.float64),
        Link(0.0, 1e11),
        Link(2e-6, link),
        host_bytes_per_s=1e10,
        memory_bytes_per_s=5e11,
        servers=np.array(3.0),
    )
    return replace(given, **changes)  # type: ignore[arg-type]


def clusters(link: float = LINK, **changes: Array) -> Cluster:
    """All LAYOUTS at once: that a point costs there what it costs alone is a test of its own."""
    return cluster(*np.array(LAYOUTS).T, link, **changes)  # type: ignore[misc]


@cache
def scaled(scale: float, overlapped: bool = True, whole: bool = False) -> Gradients:
    """Gradients so many times as large, in as many messages; ``whole``: all of one layer."""
    elements = np.array([sum(LAYERS)] if whole else LAYERS) * scale
    return gradients_of(elements, bucket_bytes=8e6 * scale, overlapped=overlapped)


def done_s(gradients: Gradients, layout: Layout) -> Array:
    """When the gradients of each layer are there: the last layer's first."""
    done = np.linspace(0.1, 0.01, len(gradients.layer_elements))
    return done.reshape((-1,) + (1,) * layout.rank)


def summed(case: Case, gradients: Gradients, layout: Layout) -> Summed:
    return case.model.summed(gradients, done_s(gradients, layout), layout)


def on_all(found: Summed) -> Array:
    """End and busy seconds on all LAYOUTS, (2, layouts)."""
    return np.array([np.broadcast_to(seconds, len(LAYOUTS)) for seconds in found])


def alone_s(case: Case, gradients: Gradients, layout: Layout) -> Array:
    """Seconds to sum gradients that are all there."""
    none = np.zeros_like(done_s(gradients, layout))
    return case.model.summed(replace(gradients, overlapped=False), none, layout).end_s


def test_every_kind_is_here() -> None:
    modules = [import_module(f"{aggregation.__name__}.{found.name}")
               for found in iter_modules(aggregation.__path__)]  # fmt: skip
    kinds = {
        kind
        for module in modules
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__
        and all(hasattr(kind, name) for name in ("summed", "priced", "bounded", "choices"))
        and kind not in (Aggregation, Bucketed)
    }
    assert kinds == {type(case.model) for case in CASES}


@every_case
@pytest.mark.parametrize("per_node", [1, 2, 8])
@pytest.mark.parametrize("overlapped", [True, False])
def test_one_accelerator_sums_nothing(case: Case, per_node: int, overlapped: bool) -> None:
    for scale in (1e-5, 1.0, 1e4):
        gradients, layout = scaled(scale, overlapped), cluster(1, per_node)
        end, busy = summed(case, gradients, layout)
        assert np.all(busy == 0)
        assert np.all(end <= (done_s(gradients, layout).max() if overlapped else 0.0))
        assert case.model.choices(gradients, layout) == ()


@every_third_often
def test_more_bytes_never_cost_less(case: Case) -> None:
    each = [cluster(*layout) for layout in LAYOUTS]
    for whole in (True, False):
        if case.model.tensor_passes > 1 and not whole:
            continue  # larger tensors fill a buffer of tensor fusion in other company
        regimes, found = [], []
        for scale in SCALES:
            gradients = scaled(scale, whole=whole)
            regimes.append([case.regime(gradients, layout) for layout in each])
            found.append(on_all(summed(case, gradients, clusters())))
        for met in zip(*regimes, strict=True):
            assert len(set(met)) < len(SCALES) / 4, "or nothing is compared"
        for (was, less), (now, more) in pairwise(zip(regimes, found, strict=True)):
            same = [before == after for before, after in zip(was, now, strict=True)]
            assert np.all(more[:, same] >= less[:, same] * (1 - 1e-12))


@every_case
@pytest.mark.parametrize("link", [1e8, LINK])
def test_never_faster_than_its_links(case: Case, link: float) -> None:
    """2 (N-1)/N m must pass the card of a node (Patarasuk & Yuan 2009), a server's no less."""
    nodes = node_count(*np.array(LAYOUTS).T)
    for colocated in (False, True):
        there = clusters(link, colocated=np.array(colocated))
        for scale in (1e-3, 1.0, 1e3):
            gradients = scaled(scale)
            total = float(gradients.tensor_bytes.sum())
            least = 2 * (nodes - 1) / nodes * total / (link / case.link_share)
            assert np.all(alone_s(case, gradients, there) >= least * (1 - 1e-12))


RATES = st.sampled_from([1e8, 1.25e9, 12.5e9, 45e9, 360e9]) | st.floats(1e8, 1e12)
FASTER = st.sampled_from([1.0, 1.001, 2.0]) | st.floats(1, 100)


@pytest.mark.parametrize("case", [case for case in CASES if "fusion_cycle" not in case.model.axes],
                         ids=lambda case: case.name)  # fmt: skip
@settings(max_examples=30)
@example(rates=(234e9, 90e9), faster=(1.0, 4.0), waits=(2e-6, 2e-6), log_scale=0.5, generation=2,
         own_links=True, hosts=(False, False), rails=1.0, sharing=0.0)  # fmt: skip
@given(
    rates=st.tuples(RATES, RATES), faster=st.tuples(FASTER, FASTER),
    waits=st.sampled_from([(2e-6, 2e-6), (2e-5, 1e-6)]), log_scale=st.floats(-5, 4),
    generation=st.integers(0, len(GENERATIONS) - 1), own_links=st.booleans(),
    hosts=st.tuples(st.booleans(), st.booleans()), rails=st.sampled_from([1.0, 4.0]),
    sharing=st.sampled_from([0.0, 0.3]),
)  # fmt: skip
def test_a_faster_link_never_costs_more(
    case: Case, rates: tuple[float, float], faster: tuple[float, float],
    waits: tuple[float, float], log_scale: float, generation: int, own_links: bool,
    hosts: tuple[bool, bool], rails: float, sharing: float,
) -> None:  # fmt: skip
    """Inside a node or between nodes, also where it changes what the library takes.

    The example gives a tree more channels. hosts: through_host and amd_host. Left out are
    frameworks that fuse what is ready: of messages that arrive sooner fewer join.
    """
    found = []
    for (inside, between), wait in zip(
        (rates, (rates[0] * faster[0], rates[1] * faster[1])), waits, strict=True
    ):
        there = clusters(
            between, inside=Link(0.0, inside), across=Link(wait, np.asarray(between)),
            generation=np.asarray(generation), own_links=np.asarray(own_links),
            through_host=np.asarray(hosts[0]), amd_host=np.asarray(hosts[1]),
            rails=np.asarray(rails), sharing=np.asarray(sharing),
        )  # fmt: skip
        found.append(on_all(summed(case, scaled(10.0**log_scale), there)))
    slower, quicker = found
    assert np.all(quicker <= slower * (1 + 1e-12))


@every_case
@pytest.mark.parametrize("per_node", [1, 8, 2e6])
@pytest.mark.parametrize("colocated", [True, False])
def test_finite_on_a_million_accelerators(case: Case, per_node: float, colocated: bool) -> None:
    there = cluster(1e6, per_node, colocated=np.array(colocated), servers=np.array(1000.0))
    for scale in (1e-6, 1.0, 1e3):
        end, busy = summed(case, scaled(scale), there)
        assert np.isfinite(end)
        assert 0 < busy < np.inf


@every_case
def test_nothing_to_train_is_nothing_to_sum(case: Case) -> None:
    gradients = scaled(0.0)
    assert gradients.buckets == ()
    end, busy = summed(case, gradients, cluster(8, 4))
    assert (float(end), float(busy)) == (0.0, 0.0)
    assert case.model.choices(gradients, cluster(8, 4)) == ()


UNKNOWN: list[dict[str, object]] = [
    {},
    {"across": Link(2e-6, np.array(np.nan))},
    {"across": Link(np.nan, LINK)},
    {"across": Link(np.inf, LINK)},
    {"across": Link(2e-6, np.array(0.0))},
    {"inside": Link(0.0, np.nan)},
    {"rails": np.nan},
    {"host_bytes_per_s": np.nan},
    {"memory_bytes_per_s": np.nan},
]


@every_case
@pytest.mark.parametrize("changes", UNKNOWN, ids=str)
def test_what_is_bounded_is_finite(case: Case, changes: dict[str, Array]) -> None:
    """Screening spares the prices of points that are: none of them may turn out to be unknown."""
    gradients = scaled(1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        for layout in LAYOUTS:
            there = cluster(*layout, **changes)
            if case.model.bounded(gradients, there) and np.all(case.model.priced(there)):
                end, busy = summed(case, gradients, there)
                assert np.isfinite(end)
                assert 0 <= busy < np.inf
            else:
                assert changes, "what is known must be bounded, or nothing is ever screened"


@every_case
def test_what_has_no_price_is_unknown(case: Case) -> None:
    for layout in (*LAYOUTS, (1, 8)):
        end, busy = summed(case, scaled(1.0), cluster(*layout))
        known = np.all(case.model.priced(cluster(*layout)))
        assert np.all(np.isfinite(end) == known)
        assert np.all(np.isfinite(busy) == known)


@pytest.mark.parametrize("inside", [True, False])
def test_a_tier_that_was_not_measured_has_no_price(inside: bool) -> None:
    free = (0.0,) * 4
    prices = (*CALL, *(INSIDE if inside else free), *(free if inside else BETWEEN))
    model = MeasuredLibrary(LibraryCost(Composition("nccl"), EDGES, prices), LINK, 1.0, True)
    for ranks, known in ((1, True), (4, inside), (8, not inside)):
        there = cluster(ranks, 4)
        assert np.all(model.priced(there)) == known
        for overlapped in (True, False):
            gradients = scaled(1.0, overlapped)
            end, busy = model.summed(gradients, done_s(gradients, there), there)
            assert np.isfinite(end) == np.isfinite(busy) == known


def oversubscribed(ratio: ArrayLike, radix: float = 4.0, **changes: Array) -> Cluster:
    """All LAYOUTS on small leaf switches, so that most have several."""
    free = clusters(**changes)
    cards = network_cards(node_count(free.gpus, free.gpus_per_node), 1.0, free.servers)
    return replace(free, leaf=leaf(cards, radix, 1.0, ratio))


@every_case
@pytest.mark.parametrize("overlapped", [True, False])
def test_oversubscription_costs_only_where_leaves_share_links(case: Case, overlapped: bool) -> None:
    """Nothing at 1 to 1, on one switch, in one node; never less the higher it is."""
    gradients = scaled(1.0, overlapped)
    free, *slower = (
        summed(case, gradients, oversubscribed(ratio)) for ratio in (1.0, 1.5, 2.0, 4.0, 64.0)
    )
    assert np.array_equal(np.array(free), np.array(summed(case, gradients, clusters())), True)
    one_switch = summed(case, gradients, oversubscribed(8.0, radix=4096.0))
    assert np.array_equal(np.array(free), np.array(one_switch), True)
    one_node = np.array([n <= g for n, g in LAYOUTS])
    for before, after in pairwise([free, *slower]):
        for a, b in zip(before, after, strict=True):
            priced = np.isfinite(a)
            assert np.all(b[priced] >= a[priced] * (1 - 1e-12))
            assert np.array_equal(a[one_node], b[one_node], True)
    assert np.array_equal(np.isfinite(slower[-1].busy_s), np.isfinite(free.busy_s))


@every_case
def test_points_of_several_ratios_are_priced_as_each_alone(case: Case) -> None:
    gradients, ratios = scaled(1.0), (1.0, 2.0, 4.0)
    for layout in LAYOUTS:
        cards = network_cards(node_count(*layout), 1.0, 3.0)
        together = replace(cluster(*layout), leaf=leaf(cards, 4.0, 1.0, np.array(ratios)))
        found = summed(case, gradients, replace(together, gpus=np.full(3, float(layout[0]))))
        for at, ratio in enumerate(ratios):
            alone = replace(cluster(*layout), leaf=leaf(cards, 4.0, 1.0, ratio))
            one = summed(case, gradients, alone)
            for part, whole in zip(one, found, strict=True):
                np.testing.assert_array_equal(np.broadcast_to(whole, (3,))[at], part)


def test_a_ring_is_hardly_slower_and_all_to_the_far_half_are_by_the_ratio() -> None:
    """Messages so large that nothing else counts, of one rank a node on leaves of 48 and 16."""
    free = StepCost(0.0, (0.0,))
    several = leaf(1024.0, 64.0, 1.0, 3.0)
    plain = Network(free, free, NO_WIRE, Link(0.0, 1.0))
    held = replace(plain, leaf=several)
    times = {
        name: [float(row(1024, 1, 1e9, network)) for network in (plain, held)]
        for name, row in ALGORITHMS.items()
    }
    for name in ("ring", "reduce-broadcast", "hierarchical", "tree"):
        assert times[name][1] == times[name][0], name
    # Of 10 doublings those 1 .. 8 ranks far send at most 16 flows, 16 far 32, farther all 48.
    assert times["recursive-doubling"][1] == 1e9 * (4 + 2 + 5 * 3)
    first = (
        sum(2.0**-k for k in (1, 2, 3, 4)) + 2 * 2.0**-5 + 3 * sum(2.0**-k for k in range(6, 11))
    )
    assert times["halving-doubling"][1] == pytest.approx(2e9 * first)


def test_servers_share_the_links_of_their_leaf_and_workers_those_of_theirs() -> None:
    free = StepCost(0.0, (0.0,))
    held = Network(free, free, NO_WIRE, Link(0.0, 1.0), leaf=leaf(1024.0, 64.0, 1.0, 3.0))
    plain = replace(held, leaf=None)
    for servers, slower in ((1, 1.0), (16, 1.0), (24, 1.5), (48, 3.0), (96, 3.0), (960, 3.0)):
        before, after = (
            parameter_server(960, 1, 1e9, network, servers) for network in (plain, held)
        )
        assert after == pytest.approx(slower * before), servers


@every_third_often
def test_what_is_no_axis_of_it_does_not_matter(case: Case) -> None:
    """Equal to the last bit: a study, and its report, may leave such an axis out."""
    assert case.model.axes <= set(AXES)
    assert case.model.axes >= HARDWARE_AXES
    seen = set()
    for layout, overlapped, (axis, both) in product(LAYOUTS, (True, False), OF_LAYOUTS.items()):
        a, b = (summed(case, scaled(1.0, overlapped), cluster(*layout, **each)) for each in both)
        if not np.array_equal(np.array(a), np.array(b)):
            assert axis in case.model.axes
            seen.add(axis)
    for layout in LAYOUTS:
        small, large = (gradients_of(np.array(LAYERS), bucket_bytes=size) for size in (1e6, 1e9))
        a, b = (summed(case, each, cluster(*layout)) for each in (small, large))
        if not np.array_equal(np.array(a), np.array(b)):
            assert "bucket" in case.model.axes
            seen.add("bucket")
    assert seen == case.model.axes - HARDWARE_AXES, "an axis that it has does matter somewhere"


@every_case
@pytest.mark.parametrize("layout", LAYOUTS)
def test_choices_are_of_its_algorithms_and_of_every_message(
    case: Case, layout: tuple[int, int]
) -> None:
    assert set(case.model.algorithms) <= set(ALGORITHMS)
    for scale in (1e-5, 1e-3, 1.0, 1e3):
        gradients = scaled(scale)
        choices = case.model.choices(gradients, cluster(*layout))
        if isinstance(case.model, Composed | NcclAllreduce | LibraryRules | ByLayout):
            assert sum(choice.messages for choice in choices) == len(gradients.buckets)
            ends = [(choice.least_bytes, choice.most_bytes) for choice in choices]
            assert min(least for least, _ in ends) == gradients.message_bytes.min()
            assert max(most for _, most in ends) == gradients.message_bytes.max()
        else:
            assert choices == (), "nobody knows"
        assert {choice.algorithm for choice in choices} <= set(case.model.algorithms)
        assert all(choice.name for choice in choices)
    authority = case.model.authority
    assert (authority is not None) == isinstance(case.model, LibraryRules)
    assert authority is None or authority


@every_case
def test_a_grid_is_its_points(case: Case) -> None:
    counts, locals_, links = (1.0, 2.0, 3.0, 8.0, 24.0), (1.0, 4.0), (1e9, LINK)
    gradients = scaled(1.0)
    grid = Cluster(
        np.array(counts).reshape(-1, 1, 1), np.array(locals_).reshape(1, -1, 1), Link(0.0, 1e11),
        Link(2e-6, np.array(links).reshape(1, 1, -1)), servers=np.full((1, 1, 1), 3.0),
        colocated=np.full((1, 1, 1), True),
    )  # fmt: skip
    shape = (len(counts), len(locals_), len(links))
    together = [np.broadcast_to(part, shape) for part in summed(case, gradients, grid)]
    for at in np.ndindex(shape):
        n, g, link = counts[at[0]], locals_[at[1]], links[at[2]]
        point = replace(cluster(n, g, link), colocated=np.array(True), host_bytes_per_s=np.inf,
                        memory_bytes_per_s=np.inf)  # fmt: skip
        alone = summed(case, gradients, point)
        assert [part[at] for part in together] == [float(part) for part in alone]


# -- in studies ------------------------------------------------------------------------------------

# Of the step, not of its communication: they decide what is summed, and when it is there.
OF_THE_STEP = {
    "precision", "gradient", "batch_per_gpu", "accumulation", "optimizer", "overlap",
    "stack",
}  # fmt: skip
VALUES: dict[str, Value] = {
    "ps_servers": 5, "ps_placement": "colocated", "fusion_buffer": 2.0**20, "fusion_cycle": 0.2,
    "bucket": 2.0**18,
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [*(f"{row}-mpi" for row in ALGORITHMS), "auto-mpi", "auto-mpich-mpi", "auto-nccl", "ps-grpc",
     *catalog.names("approaches")],
)  # fmt: skip
@pytest.mark.parametrize("model", STEP_MODELS)
def test_in_a_study_such_an_axis_changes_no_step(tmp_path: Path, name: str, model: str) -> None:
    text = f"{studies.SMALL}model: {model}\n"
    problem = load(studies.written(tmp_path, text))
    values = priced.point(problem, aggregation=name, gpus=16, gpus_per_node=4)
    axes = problem.points_at(values).aggregation.axes
    steps = {}
    for axis in (*VALUES, ""):
        point = {**values, **({axis: VALUES[axis]} if axis else {})}
        steps[axis] = float(problem.point(point)["step"][0])
    for axis in VALUES:
        changed = steps[axis] != steps[""]
        assert not changed or axis in axes
        assert not changed or problem.step_model.measurable, "a formula knows none of these axes"
    others = {"aggregation", RENTAL, *OF_LAYOUT}
    assert set(VALUES) | HARDWARE_AXES | OF_THE_STEP | others == set(AXES)


# -- models of a step ------------------------------------------------------------------------------

NETWORK = Layers(
    params=np.array(LAYERS),
    forward_flops=np.array([5e8, 2e9, 1e8, 4e8, 2e6]),
    traffic_elems=np.array([8e5, 4e5, 2e5, 1e5, 1e3]),
    kept=Kept(1.5e6),
    input_bytes=150528.0,
)
DEVICE = roofline_device(1e13, 8e11, 16e9, 1e10, 0.7, 0.7)
SUMS = {
    "ring": Composed(ALGORITHMS["ring"], SOFTWARE["on devices"]),
    "servers": ParameterServer(SOFTWARE["on devices"]),
    "approach": Factory({})(AggregationName(approach="horovod-mpi")).model,
}
every_model = pytest.mark.parametrize("model", STEP_MODELS.values(), ids=STEP_MODELS)
every_sum = pytest.mark.parametrize("sums", SUMS.values(), ids=SUMS)


def work(
    layout: Cluster, sums: Aggregation, overlap: str, scale: float = 1.0, batch: float = 32.0
) -> Given:
    layers = replace(NETWORK, params=NETWORK.params * scale)
    return Given(
        layers, PRECISIONS["fp32"], DEVICE, batch, 4.0, layout, sums, overlap, 8e6 * scale
    )  # fmt: skip


@every_model
@every_sum
def test_one_accelerator_trains_as_if_alone(model: StepModel, sums: Aggregation) -> None:
    for overlap in model.overlaps:
        alone = work(cluster(1, 8), sums, overlap)
        found, ideal = model.step_time(alone), model.without_communication(alone)
        assert float(found.comm_s) == 0.0
        assert float(found["exposed_s"]) == pytest.approx(0.0, abs=1e-15)
        assert float(found.step_s) == float(ideal.step_s)


@every_model
@every_sum
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_step_is_its_terms_and_no_shorter_than_without_communication(
    model: StepModel, sums: Aggregation, layout: tuple[int, int]
) -> None:
    found = {}
    for overlap in model.overlaps:
        for scale in (0.01, 1.0, 100.0):
            there = work(cluster(*layout), sums, overlap, scale)
            step, ideal = model.step_time(there), model.without_communication(there)
            terms = step.compute_s + step["exposed_s"] + step["optimizer_s"] + step["stalled_s"]
            assert float(terms) == pytest.approx(float(step.step_s), rel=1e-12)
            assert np.all(step.step_s >= ideal.step_s)
            most = step.comm_s * (1 + 1e-9) + 1e-12
            assert 0 <= step["exposed_s"] <= most or sums is SUMS["approach"], (
                "only tensor fusion waits beside what it sends"
            )
            found[overlap, scale] = float(step.step_s)
    for scale in (0.01, 1.0, 100.0):
        least = min(found[overlap, scale] for overlap in model.overlaps)
        assert least <= found["none", scale]


@every_model
@every_sum
def test_more_parameters_never_train_faster(model: StepModel, sums: Aggregation) -> None:
    for overlap in model.overlaps:
        steps = [model.step_time(work(clusters(), sums, overlap, scale))
                 for scale in np.geomspace(1e-3, 1e3, 30)]  # fmt: skip
        for less, more in pairwise(steps):
            assert np.all(more.compute_s >= less.compute_s * (1 - 1e-12))
            if not sums.tensor_passes > 1:  # a cycle of tensor fusion may begin at another moment
                assert np.all(more.step_s >= less.step_s * (1 - 1e-12))


@every_model
@every_sum
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_step_sums_faster_than_its_links(
    model: StepModel, sums: Aggregation, layout: tuple[int, int]
) -> None:
    nodes, total = float(node_count(*layout)), 4 * sum(LAYERS)
    least = 2 * (nodes - 1) / nodes * total / LINK
    for overlap in model.overlaps:
        step = model.step_time(work(cluster(*layout), sums, overlap))
        assert step.comm_s >= least * (1 - 1e-12)
        assert step.step_s >= least * (1 - 1e-12)


@every_model
@every_sum
@pytest.mark.parametrize("per_node", [1, 8, 2e6])
def test_a_step_on_a_million_accelerators_is_finite(
    model: StepModel, sums: Aggregation, per_node: float
) -> None:
    for overlap in model.overlaps:
        there = work(cluster(1e6, per_node, servers=np.array(1000.0)), sums, overlap)
        assert model.bounded(there)
        assert np.isfinite(model.step_time(there).step_s)


@every_model
@every_sum
@pytest.mark.parametrize("changes", UNKNOWN, ids=str)
def test_a_bounded_step_is_finite(
    model: StepModel, sums: Aggregation, changes: dict[str, Array]
) -> None:
    with np.errstate(divide="ignore", invalid="ignore"):
        for layout in LAYOUTS:
            there = work(cluster(*layout, **changes), sums, model.overlaps[0])
            if model.bounded(there):
                assert np.isfinite(model.step_time(there).step_s)
            else:
                assert changes
