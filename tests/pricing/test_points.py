"""dse.pricing.points: which axes matter to a point, and who serves it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.study import Value
from tests.pricing import priced, studies

SOME = 40


def step_s(problem: Problem, values: dict[str, Value | None]) -> float:
    return float(np.ravel(problem.point(values).step.step_s)[0])


@pytest.mark.parametrize("study", [studies.SMALL, studies.APPROACHES], ids=["small", "approaches"])
def test_an_axis_that_does_not_matter_changes_nothing(tmp_path: Path, study: str) -> None:
    problem = load(studies.written(tmp_path, study))
    tried = 0
    for at in np.random.default_rng(5).integers(problem.space.size, size=SOME):
        values = problem.space.point(int(at))
        known = step_s(problem, values)
        for axis in problem.points_at(values).immaterial():
            axes = (*problem.study.axes, *problem.study.conditions)
            for other in next((a.values for a in axes if getattr(a, "name", a) == axis), ()):
                if values[axis] is None:
                    continue
                tried += 1
                assert step_s(problem, problem.applicable({**values, axis: other})) == known
    assert tried > SOME / 4


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"gpus": 1, "aggregation": "ring-mpi"},
         {"aggregation", "bucket", "gradient", "inter_node", "ps_servers"}),
        ({"gpus": 4, "gpus_per_node": 4, "aggregation": "ring-mpi"}, {"inter_node", "ps_servers"}),
        ({"gpus": 8, "gpus_per_node": 4, "aggregation": "ring-mpi"}, {"ps_servers"}),
        ({"gpus": 8, "gpus_per_node": 4, "aggregation": "ps-grpc"}, set()),
        ({"gpus": 4, "gpus_per_node": 4, "aggregation": "ps-grpc"}, {"inter_node", "ps_servers"}),
    ],
)  # fmt: skip
def test_what_one_accelerator_one_node_and_an_aggregation_leave_out(
    tmp_path: Path, given: dict[str, Value], names: set[str]
) -> None:
    problem = load(studies.written(tmp_path))
    others = {"ps_placement": "dedicated", "nics_per_node": 2}
    found = problem.points_at(priced.point(problem, **others, **given)).immaterial()
    assert set(found) - set(others) == names
    assert ("nics_per_node" in found) is ("inter_node" in found)
    assert list(found) == sorted(found)
    assert ("ps_placement" in found) is ("ps_servers" in found)


def test_leaf_switches_matter_where_there_are_several(tmp_path: Path) -> None:
    text = studies.SMALL.replace("space:\n", "space:\n  oversubscription: [1, 2]\n")
    text = text.replace("gpus: [1,", "gpus: [128, 1,")
    problem = load(studies.written(tmp_path, text))
    for gpus, local, matters in ((4, 4, False), (16, 1, False), (128, 1, True)):
        point = priced.point(problem, gpus=gpus, gpus_per_node=local, inter_node="10gbe",
                             aggregation="ring-mpi", oversubscription=2)  # fmt: skip
        assert ("oversubscription" not in problem.points_at(point).immaterial()) is matters


def test_a_link_inside_a_node_matters_where_a_node_has_several(tmp_path: Path) -> None:
    text = studies.SMALL.replace("space:\n", "space:\n  intra_node: [nvlink1, pcie3-x16]\n")
    problem = load(studies.written(tmp_path, text))
    for gpus, local, matters in ((1, 4, False), (8, 1, False), (2, 4, True), (8, 4, True)):
        point = priced.point(problem, gpus=gpus, gpus_per_node=local, intra_node="pcie3-x16")
        assert ("intra_node" not in problem.points_at(point).immaterial()) is matters


def test_servers_serve_several_nodes(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    for given, servers in (
        ({"gpus": 8, "ps_servers": 2}, 2),
        ({"gpus": 4}, None),
        ({"gpus": 1}, None),
        ({"gpus": 8, "aggregation": "ring-mpi"}, None),
    ):
        assert problem.points_at(priced.point(problem, **given)).serving() == servers
