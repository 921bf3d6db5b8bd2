"""Studies that leave the algorithm to the library, where only its rules tell what it takes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.calibration import Profile
from dse.model.aggregation.base import Bucketed
from dse.model.aggregation.library_rules import OpenMpi
from dse.pricing.problem import Problem
from dse.report.points import describe
from dse.search.run import run
from tests.calibration import library_profiles, synthetic
from tests.pricing import priced, studies

STUDY, MIXED, BUCKETS = studies.RULES, studies.BY_RULES, studies.RULES_BUCKETS
NAMED = ("ring", "recursive-doubling", "halving-doubling", "reduce-broadcast")


@pytest.fixture
def forced() -> Profile:
    """A profile of the algorithms that Open MPI was forced to."""
    return synthetic.profile()


def problem_of(folder: Path, *profiles: Profile, study: str = STUDY) -> Problem:
    return priced.problem_of(folder, study, *profiles)


def values_of(problem: Problem, **values: Any) -> dict[str, Any]:
    return priced.point(problem, **{"bucket": BUCKETS[2], **values})


def bucket_costs(problem: Problem, **values: Any) -> list[float]:
    points = problem.points_at(values_of(problem, **values))
    model = points.aggregation
    assert isinstance(model, Bucketed)
    return [float(np.ravel(cost)[0]) for cost in model.bucket_s(points.gradients, points)]


@pytest.mark.parametrize("calibrated", [True, False])
@pytest.mark.parametrize("gpus", [1, 2, 3, 4, 16, 128, 1024])
@pytest.mark.parametrize("bucket", BUCKETS)
def test_each_message_costs_what_the_algorithm_chosen_for_it_does(
    tmp_path: Path, forced: Profile, calibrated: bool, gpus: int, bucket: float
) -> None:
    problem = problem_of(tmp_path, *([forced] if calibrated else []))
    at = {"gpus": gpus, "bucket": bucket, "gpus_per_node": 4}
    named = {name: bucket_costs(problem, aggregation=f"{name}-mpi", **at) for name in NAMED}
    rules = OpenMpi()
    points = problem.points_at(values_of(problem, aggregation="auto-mpi", **at))
    expected = [
        named[rules.algorithms[int(rules(gpus, 4, message.message_bytes))].priced_as][number]
        for number, message in enumerate(points.gradients.buckets)
    ]
    assert bucket_costs(problem, aggregation="auto-mpi", **at) == pytest.approx(
        expected, rel=1e-12, abs=0.0
    )  # sums of arrays of other shapes may round otherwise


def test_a_grid_is_its_points_and_the_search_finds_them(tmp_path: Path, forced: Profile) -> None:
    problem = problem_of(tmp_path, forced)
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    assert outcome.tally.points == problem.space.size
    for found in outcome.front:
        alone = problem.point(found.values)
        assert found.gain == pytest.approx(float(np.ravel(alone["speedup"])[0]), rel=1e-12)
    points = [values_of(problem, aggregation="auto-mpi", gpus=n, bucket=bucket)
              for n in (2, 3, 16, 1024) for bucket in BUCKETS]  # fmt: skip
    for where, evaluation in problem.rows(points):
        together = np.broadcast_to(evaluation.step.comm_s, (len(where),))
        for position, seconds in zip(where, together, strict=True):
            own = float(np.ravel(problem.point(points[position]).step.comm_s)[0])
            assert seconds == pytest.approx(own, rel=1e-12)


def test_of_one_algorithm_interval_and_range_are_that_algorithms(
    tmp_path: Path, forced: Profile
) -> None:
    problem = problem_of(tmp_path, forced)
    chosen, named = (describe(problem, values_of(problem, aggregation=how, gpus=4))
                     for how in ("auto-mpi", "halving-doubling-mpi"))  # fmt: skip
    assert [entry.algorithm for entry in chosen.library_choice.algorithms] == ["halving-doubling"]
    same = ("step_s", "interval", "extrapolated", "speedup", "costs", "terms")
    assert {key: getattr(chosen, key) for key in same} == {key: getattr(named, key) for key in same}
    assert named.library_choice is None
    outside = describe(problem, values_of(problem, aggregation="auto-mpi", gpus=1024))
    assert outside.extrapolated is True


def test_a_step_of_several_algorithms_is_inside_if_all_are(tmp_path: Path, forced: Profile) -> None:
    only = replace(forced, fits={name: fit for name, fit in forced.fits.items() if name != "ring"})
    mixed = {"aggregation": "auto-mpi", "gpus": 2, "bucket": BUCKETS[1], "gpus_per_node": 4}
    points = []
    for number, profile in enumerate((forced, only)):
        folder = tmp_path / str(number)
        folder.mkdir()
        problem = problem_of(folder, profile)
        points.append(describe(problem, values_of(problem, **mixed)))
    taken = {entry.algorithm for entry in points[0].library_choice.algorithms}
    assert {"ring", "halving-doubling"} <= taken
    assert [point.extrapolated for point in points] == [False, True]
    assert all(point.interval for point in points)  # priced by the pooled fit, but measured


def test_the_rules_are_those_of_the_library_that_was_measured(
    tmp_path: Path, forced: Profile
) -> None:
    mpich = replace(forced, library="mpich", version="5.0.2")
    by_profile = {}
    for name, profile in (("openmpi", forced), ("mpich", mpich)):
        (tmp_path / name).mkdir()
        problem = problem_of(tmp_path / name, profile)
        at = {"gpus": 3, "bucket": BUCKETS[0]}
        for how in ("auto-mpi", "auto-mpich-mpi"):
            by_profile[name, how] = bucket_costs(problem, aggregation=how, **at)
    assert by_profile["mpich", "auto-mpi"] == by_profile["mpich", "auto-mpich-mpi"]
    assert by_profile["openmpi", "auto-mpich-mpi"] == by_profile["mpich", "auto-mpi"]
    assert by_profile["openmpi", "auto-mpi"] != by_profile["mpich", "auto-mpi"]


def test_what_was_measured_comes_before_rules_unless_they_are_named(
    tmp_path: Path, forced: Profile
) -> None:
    measured = library_profiles.theirs(transport="mpi")  # on several nodes
    problem = problem_of(tmp_path, forced, measured)
    at = {"gpus": 16, "gpus_per_node": 4, "aggregation": "auto-mpi"}
    points = problem.points_at(values_of(problem, **at))
    assert points.aggregation.choices(points.gradients, points) == ()
    assert problem.factory.candidates("auto", "mpi") == (measured,)
    assert describe(problem, values_of(problem, **at)).library_choice is None
    by_name = values_of(problem, **{**at, "aggregation": "auto-mpich-mpi"})
    assert describe(problem, by_name).library_choice.rules.startswith("MPICH")


NCCL = (
    STUDY.replace(MIXED, "auto-nccl, tree-nccl, ring-nccl")
    .replace("aggregation: ring-mpi", "aggregation: ring-nccl")
    .replace("[p100-sxm2-16gb, v100-sxm2-16gb]", "[p100-sxm2-16gb, a100-sxm4-40gb, l40s, mi300x]")
    .replace("- 10gbe\n", "- 10gbe\n    - ib-hdr\n")
)


def test_nccl_is_told_of_each_machine(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, study=NCCL)
    axis = ("p100-sxm2-16gb", "a100-sxm4-40gb", "l40s", "mi300x")
    points = [values_of(problem, aggregation="auto-nccl", accelerator=name, gpus=128,
                        gpus_per_node=4, inter_node=link)
              for name in axis for link in ("10gbe", "ib-hdr")]  # fmt: skip
    assert problem.points_at(points[0]).aggregation.authority is not None
    taken = {}
    for point in points:
        found = describe(problem, point).library_choice
        assert found is not None
        key = point["accelerator"], point["inter_node"]
        taken[key] = {entry.name for entry in found.algorithms}
    assert taken["a100-sxm4-40gb", "10gbe"] != taken["a100-sxm4-40gb", "ib-hdr"]
    ((_, evaluation),) = problem.rows(points)
    together = np.broadcast_to(evaluation.step.comm_s, (len(points),))
    alone = [float(np.ravel(problem.point(point).step.comm_s)[0]) for point in points]
    assert together == pytest.approx(np.array(alone), rel=1e-12)


def test_nccl_takes_what_is_priced_lower_message_by_message(tmp_path: Path) -> None:
    """Also where a profile prices the ring, and a link inside the node that the study chooses."""
    text = NCCL.replace("space:\n", "space:\n  intra_node: [nvlink3, pcie3-x16]\n")
    for profiles in ((), (library_profiles.between_nodes(),)):
        problem, differ = problem_of(tmp_path, *profiles, study=text), set()
        for link, gpus, bucket in product(("nvlink3", "pcie3-x16"), (4, 16, 128), BUCKETS):
            at = {"accelerator": "a100-sxm4-40gb", "intra_node": link, "gpus": gpus,
                  "gpus_per_node": 4, "inter_node": "ib-hdr", "bucket": bucket}  # fmt: skip
            auto, ring, tree = (
                bucket_costs(problem, aggregation=f"{name}-nccl", **at)
                for name in ("auto", "ring", "tree")
            )
            assert auto == [min(pair) for pair in zip(ring, tree, strict=True)]
            differ |= {pair[0] < pair[1] for pair in zip(ring, tree, strict=True)}
        assert differ == {True, False}


def test_one_rank_chooses_nothing(tmp_path: Path) -> None:
    problem = problem_of(tmp_path)
    found = describe(problem, values_of(problem, aggregation="auto-mpi", gpus=1)).library_choice
    assert found is not None
    assert found.algorithms == ()
    assert bucket_costs(problem, aggregation="auto-mpi", gpus=1)[0] == 0
