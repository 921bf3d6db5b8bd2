"""dse.calibration.evidence: whether a point was measured like this, why not, how wide it errs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.calibration import Profile
from dse.calibration.evidence import Grade, Unmeasured
from dse.pricing import uncertainty
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.design_point import Point
from tests.calibration import library_profiles, server_profiles
from tests.pricing import priced, studies
from tests.pricing.priced import at, width


@pytest.fixture
def chosen(tmp_path: Path) -> Problem:
    """A study by what a library chose."""
    return priced.problem_of(tmp_path, studies.LIBRARY_CHOICE, library_profiles.theirs())


@pytest.fixture
def served(tmp_path: Path) -> Problem:
    """A study by measured parameter servers."""
    return priced.problem_of(tmp_path, studies.MEASURED_SERVERS, server_profiles.profile())


def problem_of(folder: Path, profile: Profile, study: str = studies.CAVEATS) -> Problem:
    path = library_profiles.written(folder, profile)
    return load(studies.written(folder, f"{study}calibration: [{path}]\n"))


def reasons(problem: Problem, **values: object) -> list[str]:
    return problem.points_at(priced.point(problem, **values)).why_outside()


def test_every_reason_is_told(tmp_path: Path) -> None:
    known = library_profiles.theirs(
        auto=library_profiles.part(), device="a100", link_bytes_per_s=25e9, ranks=(8, 32)
    )
    problem = problem_of(tmp_path, known)
    assert reasons(problem, gpus=8, inter_node="200gbe") == []
    assert reasons(problem, gpus=1) == []
    assert (
        "another link: 100 Gbps a node (100gbe); measured 200 Gbps a node"
        in (reasons(problem, gpus=8, inter_node="100gbe")[0])
    )
    assert reasons(problem, gpus=8, inter_node="200gbe", accelerator="p100-sxm2-16gb") == [
        "another accelerator; measured on a100"
    ]
    assert reasons(problem, gpus=8, inter_node="200gbe", gpus_per_node=2) == [
        "2 ranks per node; measured 4"
    ]
    half = {"gpus": 8, "inter_node": "200gbe", "precision": "fp16"}
    width = "gradients of 2 bytes an element; measured 4"
    assert reasons(problem, **half) == []  # a byte is a byte,
    assert reasons(problem, **half, bucket=32768.0) == [width]  # unless messages are small,
    by_host = problem_of(tmp_path, replace(known, gamma_s_per_byte=1e-10))
    assert reasons(by_host, **half) == [width]  # or the host adds the elements
    many = reasons(problem, gpus=128, inter_node="200gbe")
    assert "128 ranks; measured 8-32" in many
    assert any(reason.startswith("32 nodes; measured 1-") for reason in many)
    short = replace(known, message_bytes=(1024.0, 65536.0))
    (size,) = reasons(problem_of(tmp_path, short), gpus=8, inter_node="200gbe")
    assert size.endswith("; measured 1 KiB to 64 KiB")
    assert reasons(problem, aggregation="ring-nccl") == [
        "no profile of this study has measured ring over nccl"
    ]


def test_a_reason_is_told_exactly_where_a_point_is_outside(tmp_path: Path) -> None:
    """What a search flags over a block of points is what each of them is told by itself."""
    for profile in (library_profiles.theirs(link_bytes_per_s=25e9), library_profiles.profile()):
        problem = problem_of(tmp_path, profile)
        points = [problem.space.point(at) for at in range(problem.space.size)]
        inside = np.zeros(len(points), dtype=bool)
        for where, evaluation in problem.rows(points):
            inside[where] = evaluation.in_range
        told = [not problem.points_at(point).why_outside() for point in points]
        assert inside.tolist() == told
        assert inside.any()
        assert not inside.all()


@pytest.mark.parametrize(
    ("values", "outside"),
    [
        ({}, False),
        ({"gpus": 16}, False),
        ({"gpus": 1}, False),
        ({"gpus": 64}, True),  # ranks
        ({"gpus_per_node": 1}, True),  # ranks per node
        ({"inter_node": "10gbe"}, True),  # another speed
        ({"inter_node": "ib-hdr"}, True),  # another kind of network
        ({"precision": "fp16"}, False),  # another element, of messages bound by their bytes
        ({"precision": "fp16", "bucket": 32768.0}, True),  # of small ones
        ({"accelerator": "v100-sxm2-16gb"}, True),  # another device
        ({"bucket": 256.0}, True),  # smaller messages
        ({"aggregation": "ring-nccl"}, True),  # not what was measured
    ],
)
def test_what_differs_from_the_measured_counts_as_extrapolated(
    chosen: Problem, values: dict[str, object], outside: bool
) -> None:
    assert at(chosen, **values).extrapolated is outside


def test_the_link_inside_a_node_must_be_the_devices_own(tmp_path: Path) -> None:
    study = studies.LIBRARY_CHOICE.replace(
        "space:\n", "space:\n  intra_node: [nvlink3, pcie3-x16]\n"
    )
    found = priced.problem_of(tmp_path, study, library_profiles.theirs())
    assert at(found, intra_node="nvlink3").extrapolated is False
    assert at(found, intra_node="pcie3-x16").extrapolated is True


def test_intervals_come_from_the_profiles_own_spread(
    chosen: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr(uncertainty, "COMPUTE_ERROR_MEDIAN", 0.0)

    part = library_profiles.part()
    inside = float(part.log_spread(np.array(8.0), np.array(4.0), np.array(0.0), 2.0**20))
    assert width(chosen, gpus=8) == pytest.approx(2 * 1.645 * inside, rel=0.3)
    # 8 ranks were measured, 64 are beyond.
    assert width(chosen, gpus=8) < width(chosen, gpus=16) < width(chosen, gpus=64)
    assert width(chosen, gpus=8) < width(chosen, gpus=8, inter_node="ib-hdr")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, None),
        ({"gpus": 8, "ps_servers": 2}, None),
        ({"gpus": 1}, None),
        ({"gpus": 16}, "16 workers; measured 1-8"),
        ({"gpus": 8, "gpus_per_node": 4}, "4 accelerators a worker; measured 1"),
        ({"ps_placement": "colocated"}, "servers on the workers' machines; measured beside them"),
        ({"bucket": 2.0**31}, None),
        ({"precision": "fp16"}, "gradients of 2 bytes an element; measured 4"),
        ({"aggregation": "ps-mpi"}, "no profile of this study has measured ps over mpi"),
        ({"aggregation": "ring-mpi"}, "no profile of this study has measured ring over mpi"),
    ],
)
def test_what_differs_from_the_measured_is_named(
    served: Problem, values: dict[str, object], reason: str | None
) -> None:
    found = at(served, **values)
    assert found.why_outside == (() if reason is None else (reason,))
    assert found.extrapolated is (reason is not None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"servers": (2, 4)}, "1 servers; measured 2-4"),
        ({"message_bytes": (4.0, 2.0**20)}, "measured 4 B to 1 MiB"),
        ({"link_bytes_per_s": (5e9, 5e9)}, "a link of 10 Gbps; measured 40 Gbps"),
        (
            {"link_bytes_per_s": (0.0, 0.0)},
            "measured one whose speed is not known",
        ),
    ],
)
def test_what_the_profile_lacks_is_named(
    tmp_path: Path, changes: dict[str, object], reason: str
) -> None:
    part = server_profiles.part(**changes)
    problem = priced.problem_of(
        tmp_path, studies.MEASURED_SERVERS, server_profiles.profile(ps={"grpc": part})
    )
    (text,) = at(problem).why_outside
    assert reason in text


def log_width(point: Point) -> float:
    assert point.interval is not None
    low, high = point.interval.step_s
    return float(np.log(high / low))


def test_intervals_hold_the_point_and_widen_with_doubt(tmp_path: Path) -> None:
    def spread(**changes: object) -> float:
        made = server_profiles.profile(ps={"grpc": server_profiles.part(**changes)})
        problem = priced.problem_of(tmp_path, studies.MEASURED_SERVERS, made)
        point = at(problem, gpus=16)
        assert point.interval is not None
        assert point.step_s is not None
        low, high = point.interval.step_s
        assert low < point.step_s < high
        return log_width(point)

    assert spread(workers=(1, 16)) < spread() < spread(cores=2.0)
    assert spread(workers=(1, 16)) < spread(workers=(1, 16), error_p90=0.9)
    noisy = tuple(tuple(s * c for c in server_profiles.COSTS) for s in (0.2, 1.0, 3.0))
    assert spread() < spread(draws=noisy)


# -- each kind alone -------------------------------------------------------------------------------


@pytest.mark.parametrize("everywhere", [False, True])
def test_what_nobody_measured_has_no_error_that_is_known(served: Problem, everywhere: bool) -> None:
    evidence = Unmeasured("nobody did", everywhere)
    one, many = (served.points_at(priced.point(served, gpus=n)) for n in (1, 8))
    assert evidence.profile is None
    assert evidence.profiles == ()
    assert evidence.parts_measured == (False,)
    for points in (one, many):
        assert not evidence.measured(points.gradients, points)
        assert float(evidence.log_spread(points.gradients, points)) == 0.0
    assert evidence.why_outside(many.gradients, many) == [evidence.why]
    assert np.all(evidence.grade(many.gradients, many) == Grade.CATALOGUE)
    alone = Grade.CATALOGUE if everywhere else Grade.INSIDE  # where there is nothing to sum
    assert np.all(evidence.grade(one.gradients, one) == alone)
    assert evidence.why_outside(one.gradients, one) == ([evidence.why] if everywhere else [])


def test_rules_rest_on_all_that_they_choose(tmp_path: Path) -> None:
    """Ring measured between nodes, the rest not: inside where the rules take the ring alone."""
    lab = replace(library_profiles.between_nodes(), transport="mpi", library="openmpi")
    study = studies.RULES.replace("gpus_per_node: [1, 4]", "gpus_per_node: [1]").replace(
        "gpus_per_node: 4", "gpus_per_node: 1"
    )
    problem = priced.problem_of(tmp_path, study, lab)
    found = problem.aggregation(priced.AGGREGATIONS["auto-mpi"])
    assert found.evidence.profile is None, "not of all that may be chosen"
    assert found.evidence.profiles == (lab,)
    assert sorted(found.evidence.parts_measured) == [False, False, False, True]
    for gpus in (2, 4, 16):
        points = problem.points_at(
            priced.point(problem, aggregation="auto-mpi", gpus=gpus, bucket=4 * 1024.0)
        )
        taken = {
            choice.algorithm for choice in points.aggregation.choices(points.gradients, points)
        }
        parts = [
            problem.points_at(
                priced.point(problem, aggregation=f"{name}-mpi", gpus=gpus, bucket=4 * 1024.0)
            )
            for name in sorted(taken)
        ]
        assert np.max(points.grade()) == max(np.max(part.grade()) for part in parts)
        assert points.measured() == all(part.measured() for part in parts)
        said = {line for part in parts for line in part.why_outside()}
        assert set(points.why_outside()) == said
