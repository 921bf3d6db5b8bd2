"""Studies that leave the algorithm to the library, by a profile of what a library chose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.calibration import Profile
from dse.model import overlap
from dse.model.aggregation.measured_library import LibraryCost
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import provenance
from tests.calibration import library_profiles, synthetic
from tests.pricing import studies
from tests.pricing.priced import at, comm_s, problem_of

STUDY = studies.LIBRARY_CHOICE


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return problem_of(tmp_path, STUDY, library_profiles.theirs())


@pytest.fixture
def forced() -> Profile:
    """A profile of the named algorithms, over the same transport."""
    return replace(synthetic.profile(), transport="nccl")


def expected_s(problem: Problem, cost: LibraryCost, ranks: int, slower: float) -> float:
    """One message for the baseline's buckets, added up one by one."""
    sizes = problem.layers.params * 4.0
    buckets = overlap.fuse(sizes, 4 * 2.0**20)
    return sum(float(cost(ranks, 4, bucket.message_bytes, slower)) for bucket in buckets)


@pytest.mark.parametrize(
    ("inter_node", "slower"), [("200gbe", 1.0), ("10gbe", 20.0), ("25 Gbps", 8.0)]
)
def test_a_point_takes_what_the_profile_says_scaled_to_its_network(
    problem: Problem, inter_node: str, slower: float
) -> None:
    axis = problem.study.axis("inter_node")
    assert axis is not None
    label = next(text for text in axis.labels if text.startswith(inter_node))
    value = axis.values[axis.labels.index(label)]
    cost = library_profiles.part().cost()
    found = comm_s(problem, inter_node=value, gpus=16, bucket=4 * 2.0**20)
    assert found == pytest.approx(expected_s(problem, cost, 16, slower), rel=1e-9)


def test_more_cards_of_a_node_share_the_bytes(problem: Problem) -> None:
    one = comm_s(problem, inter_node="200gbe", gpus=16)
    two = comm_s(problem, inter_node="200gbe", gpus=16, nics_per_node=2)
    assert one / 2 < two < one


def test_where_the_link_is_not_known_every_network_takes_the_same(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, STUDY, library_profiles.theirs(link_bytes_per_s=None))
    assert comm_s(problem, inter_node="10gbe") == comm_s(problem, inter_node="200gbe")
    assert at(problem, inter_node="200gbe").extrapolated is True


def test_named_algorithms_take_the_catalogues_price_and_the_report_says_so(
    problem: Problem, tmp_path: Path
) -> None:
    bare = load(studies.written(tmp_path, STUDY.replace("auto-nccl", "tree-nccl"), "bare.yaml"))
    assert comm_s(problem, aggregation="ring-nccl") == comm_s(bare, aggregation="ring-nccl")
    assert at(problem, aggregation="ring-nccl").interval is not None
    rows = {row.name: row for row in provenance.transports(problem)}
    assert (rows["nccl"].calibrated, rows["nccl"].partly) == (False, True)
    assert (rows["grpc"].calibrated, rows["grpc"].partly) == (False, False)


@pytest.mark.parametrize("swapped", [False, True])
def test_two_profiles_of_a_transport_each_price_what_they_know(
    tmp_path: Path, forced: Profile, swapped: bool
) -> None:
    forced = replace(forced, device="a100")
    both = [library_profiles.theirs(), forced]
    found = problem_of(tmp_path, STUDY, *(reversed(both) if swapped else both))
    assert found.factory.candidates("ring", "nccl") == (forced,)
    assert found.factory.candidates("auto", "nccl") == (library_profiles.theirs(),)
    only = problem_of(tmp_path, STUDY, library_profiles.theirs())
    assert comm_s(found, aggregation="auto-nccl") == comm_s(only, aggregation="auto-nccl")
    ring = {"aggregation": "ring-nccl", "gpus": 4}
    assert comm_s(found, **ring) != comm_s(only, **ring)
    assert at(found, **ring).interval
    assert {row.name: row.partly for row in provenance.transports(found)}["nccl"]


@pytest.mark.parametrize(
    ("profile", "gpus"),
    [(library_profiles.one_node("their-cluster"), 8),
     (library_profiles.theirs(auto=library_profiles.part(library_profiles.SEVERAL_NODES)), 4)],
)  # fmt: skip
def test_a_tier_that_was_not_measured_takes_the_catalogues_price(
    tmp_path: Path, profile: Profile, gpus: int
) -> None:
    found = problem_of(tmp_path, STUDY, profile)
    bare = problem_of(tmp_path, STUDY)
    assert comm_s(found, gpus=gpus) == comm_s(bare, gpus=gpus) > 0
    assert comm_s(found, gpus=12 - gpus) != comm_s(bare, gpus=12 - gpus)
    point = at(found, gpus=gpus)
    assert point.evidence == "catalogue"
    assert point.library_choice.rules == at(bare, gpus=gpus).library_choice.rules
    assert at(found, gpus=12 - gpus).library_choice is None
