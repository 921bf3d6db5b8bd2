"""dse.calibration.evidence: whether a point was measured like this, why not, how wide it errs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.calibration import Profile, read_profile
from dse.calibration.evidence import Grade, Unmeasured
from dse.calibration.prediction import predict
from dse.calibration.profile import Fit
from dse.calibration.spread import NORMAL_90, PER_OCTAVE, held_out_spread
from dse.model.scale import IDEAL
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.design_point import Point
from dse.study.space import Box
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
    assert reasons(problem, gpus=8, inter_node="100gbe") == [
        "a link of 100 Gbps per node (measured: 200 Gbps per node)"
    ]
    assert reasons(problem, gpus=8, inter_node="200gbe", accelerator="p100-sxm2-16gb") == [
        "no profile of this study has measured tree over nccl"
    ]
    path = library_profiles.written(tmp_path, known)
    named = f"{studies.CAVEATS}calibration: {{200gbe: {path}, ib-hdr: {path}}}\n"
    by_name = load(studies.written(tmp_path, named))
    assert reasons(by_name, gpus=8, inter_node="ib-hdr") == [
        f"a link of 200 Gbps per node, ib-hdr (measured: 200 Gbps per node, {known.link})"
    ]
    assert reasons(by_name, gpus=8, inter_node="200gbe", accelerator="p100-sxm2-16gb") == [
        "another accelerator (measured: a100)"
    ]
    assert reasons(problem, gpus=8, inter_node="200gbe", gpus_per_node=2) == [
        "2 ranks per node (measured: 4)"
    ]
    half = {"gpus": 8, "inter_node": "200gbe", "gradient": "fp16"}
    width = "gradients of 2 bytes per element (measured: 4)"
    assert reasons(problem, **half) == []  # a byte is a byte,
    assert reasons(problem, **half, bucket=32768.0) == [width]  # unless messages are small,
    by_host = problem_of(tmp_path, replace(known, gamma_s_per_byte=1e-10))
    assert reasons(by_host, **half) == [width]  # or the host adds the elements
    many = reasons(problem, gpus=128, inter_node="200gbe")
    assert "128 ranks (measured: 8-32)" in many
    assert any(reason.startswith("32 nodes (measured: 2-") for reason in many)
    short = replace(known, message_bytes=(1024.0, 65536.0))
    (size,) = reasons(problem_of(tmp_path, short), gpus=8, inter_node="200gbe")
    assert size.endswith(" (measured: 1 KiB to 64 KiB)")
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
            inside[where] = evaluation.grade == Grade.INSIDE
        told = [not problem.points_at(point).why_outside() for point in points]
        assert inside.tolist() == told
        assert inside.any()
        assert not inside.all()


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

    priced.compute_exactly(monkeypatch)
    chosen = replace(chosen, scale=IDEAL, scale_spread=IDEAL)

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
        ({"gpus": 16}, "16 workers (measured: 1-8)"),
        ({"gpus": 8, "gpus_per_node": 4}, "4 accelerators per worker (measured: 1)"),
        (
            {"ps_placement": "colocated"},
            "servers on the workers' machines (measured: on their own)",
        ),
        ({"bucket": 2.0**31}, None),
        ({"gradient": "fp16"}, "gradients of 2 bytes per element (measured: 4)"),
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
        ({"servers": (2, 4)}, "1 server (measured: 2-4)"),
        ({"message_bytes": (4.0, 2.0**20)}, "(measured: 4 B to 1 MiB)"),
        ({"link_bytes_per_s": (5e9, 5e9)}, "a link of 10 Gbps (measured: 40 Gbps)"),
        (
            {"link_bytes_per_s": (0.0, 0.0)},
            "(measured: one whose speed is not known)",
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
def test_what_nobody_measured_errs_as_its_like_does(served: Problem, everywhere: bool) -> None:
    evidence = Unmeasured("nobody did", everywhere)
    one, many = (served.points_at(priced.point(served, gpus=n)) for n in (1, 8))
    assert evidence.profile is None
    assert evidence.profiles == ()
    for points in (one, many):
        assert np.all(evidence.log_spread(points.gradients, points) == 0.0)
    known = Unmeasured("nobody did", everywhere, spread=0.4, socket_spread=0.4)
    assert np.all(known.log_spread(one.gradients, one) == 0.0), "sums nothing"
    assert np.all(known.log_spread(many.gradients, many) == 0.4)
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
        said = {line for part in parts for line in part.why_outside()}
        assert set(points.why_outside()) == said


def between(folder: Path, study: str = studies.RULES, **known: Any) -> Problem:
    """A study by a ring that was measured between nodes of one rank each."""
    lab = replace(library_profiles.between_nodes(), transport="mpi", link="ethernet", **known)
    return priced.problem_of(folder, study, lab)


def spread(problem: Problem, **values: object) -> float:
    """Standard deviation of the logarithm of a point's communication."""
    points = problem.points_at(priced.point(problem, **values))
    return float(np.max(points.summing.evidence.log_spread(points.gradients, points)))


ROOT = Path(__file__).parents[2]
ONE_NODE = {"gpus": 4, "gpus_per_node": 4, "bucket": 64 * 1024.0}
SEVERAL = {"gpus": 4, "gpus_per_node": 1, "bucket": 64 * 1024.0}


def test_one_node_is_unlike_several(tmp_path: Path) -> None:
    """What was measured between nodes says little of one, whatever the network that it has."""
    problem = between(tmp_path)
    told = reasons(problem, **ONE_NODE)
    assert told == ["no profile of this study has measured ring over mpi on hardware of this kind"]
    points = problem.points_at(priced.point(problem, **ONE_NODE))
    assert np.max(points.grade()) == Grade.CATALOGUE
    networks = problem.study.axis("inter_node").values
    assert len({spread(problem, **ONE_NODE, inter_node=name) for name in networks}) == 1
    assert len(networks) > 1


def test_one_node_rests_on_what_was_measured_there(tmp_path: Path) -> None:
    """A profile that has measured both has two errors."""
    fit = Fit(
        latency_s=2e-6,
        s_per_byte=(1e-10,),
        edges_bytes=(),
        jump_s=(),
        switch_s=0.0,
        error=0.02,
        error_p90=0.05,
        textbook_error=0.2,
        textbook_error_p90=0.4,
        residual=0.01,
        draws=((2e-6, 1e-10, 0.0),),
    )
    problem = between(tmp_path, fits={"ring": fit, "any": fit}, cores=8)
    ring = problem.aggregation(priced.AGGREGATIONS["ring-mpi"])
    assert len(ring.evidence.profiles) == 1
    assert reasons(problem, **ONE_NODE) == []
    assert spread(problem, **ONE_NODE) == pytest.approx(held_out_spread(0.02, 0.05))
    assert reasons(problem, **SEVERAL) == ["a link of 10 Gbps (measured: 80 Gbps)"]
    slower = np.log2(80 / 10)
    wide = np.hypot(held_out_spread(0.1, 0.3), PER_OCTAVE * slower)
    assert spread(problem, **SEVERAL) == pytest.approx(wide)


def test_a_part_filled_node_was_not_measured(tmp_path: Path) -> None:
    found = library_profiles.theirs(
        auto=library_profiles.part(), ranks=(8, 32), device="a100", link_bytes_per_s=25e9
    )
    problem = problem_of(tmp_path, found)
    assert reasons(problem, gpus=16, inter_node="200gbe") == []
    (reason,) = reasons(problem, gpus=17, inter_node="200gbe")
    assert reason == "1 rank on the last node (measured: full nodes)"
    (reason,) = reasons(problem, gpus=18, inter_node="200gbe")
    assert reason == "2 ranks on the last node (measured: full nodes)"
    points = problem.points_at(priced.point(problem, gpus=18, inter_node="200gbe"))
    assert np.max(points.grade()) == Grade.NEAR


@pytest.mark.parametrize(("ranks", "doublings"), [(17, 2.0), (18, 1.0), (19, np.log2(4 / 3))])
def test_a_part_filled_node_widens(ranks: int, doublings: float) -> None:
    """By as many doublings as it has fewer ranks than the other nodes, beside as many full ones."""
    found = library_profiles.theirs(auto=library_profiles.part(), ranks=(8, 32))
    part_filled, full = (predict(found, "auto", n, 2.0**20, 4) for n in (ranks, 20))
    narrow, wide = (np.log(one.high / one.seconds) / NORMAL_90 for one in (full, part_filled))
    assert wide == pytest.approx(np.hypot(narrow, PER_OCTAVE * doublings))


def test_a_part_filled_node_may_have_been_measured(tmp_path: Path) -> None:
    """Then that layout is as sure as any that was."""
    part = library_profiles.part()
    anchor = replace(part.anchors[-1], ranks=18.0, ranks_per_node=4.0)
    part = replace(part, anchors=(*part.anchors, anchor))
    found = library_profiles.theirs(auto=part, ranks=(8, 32), device="a100", link_bytes_per_s=25e9)
    problem = problem_of(tmp_path, found)
    assert reasons(problem, gpus=18, inter_node="200gbe") == []
    assert reasons(problem, gpus=17, inter_node="200gbe") == [
        "1 rank on the last node (measured: full nodes or 18 ranks with 4 per node)"
    ]
    assert predict(found, "auto", 18, 2.0**20, 4).in_range
    assert not predict(found, "auto", 17, 2.0**20, 4).in_range


def test_every_distance_that_is_told_widens(served: Problem) -> None:
    """Four accelerators per worker are two doublings from the one that was measured."""
    many = {"gpus": 16, "gpus_per_node": 4, "inter_node": "10gbe"}
    assert reasons(served, **many) == ["4 accelerators per worker (measured: 1)"]
    narrow = spread(served, gpus=8, gpus_per_node=1, inter_node="10gbe")
    assert spread(served, **many) == pytest.approx(np.hypot(narrow, 2 * PER_OCTAVE))


ALONE = """\
study: alone
workload: resnet50
space:
  accelerator: v100-sxm2-16gb
  gpus: [1, 2, 4]
  gpus_per_node: 4
  batch_per_gpu: 32
  aggregation: [ring-mpi, ps-grpc]
objectives: {maximize: speedup, minimize: capital}
"""


@pytest.mark.parametrize("aggregation", ["ring-mpi", "ps-grpc"])
def test_a_node_without_a_network_needs_none(tmp_path: Path, aggregation: str) -> None:
    ring = replace(library_profiles.between_nodes(), transport="mpi")
    problem = priced.problem_of(tmp_path, ALONE, ring, server_profiles.profile())
    told = reasons(problem, aggregation=aggregation, gpus=4)
    (why,) = told[:1]
    assert why.startswith("one node") == (aggregation == "ps-grpc")
    assert why.endswith("on hardware of this kind") == (aggregation == "ring-mpi")
    assert not any("link" in reason for reason in told)


def test_rules_are_as_sure_as_what_they_choose_at_a_point(tmp_path: Path) -> None:
    """In a grid every point is as wide as it is alone."""
    (fit,) = library_profiles.between_nodes().network.values()
    problem = between(tmp_path, network={"ring": replace(fit, error=1.0, error_p90=2.0)})
    slabs = problem.space.slabs
    found = set()
    for number, slab in enumerate(slabs):
        if str(slab.fixed.get("aggregation")) != "auto-mpi":
            continue
        slices = tuple(slice(0, len(axis.values)) for axis in slab.axes)
        box = Box(number, 0, slices, slab.strides)
        grid = problem.placed(box)
        shape = tuple(len(axis.values) for axis in slab.axes)
        wide = np.broadcast_to(grid.summing.evidence.log_spread(grid.gradients, grid), shape)
        for place in np.ndindex(shape):
            values = {axis.name: axis.values[i] for axis, i in zip(slab.axes, place, strict=True)}
            alone = problem.points_at({**slab.fixed, **values})
            evidence = alone.summing.evidence
            assert wide[place] == np.max(evidence.log_spread(alone.gradients, alone))
        found |= set(wide.ravel().tolist())
    assert len(found) > 2


@pytest.mark.parametrize(
    ("cores", "reason"),
    [
        (1, "4 ranks with a core each (measured: 2-8 on 1 core)"),
        (2, "4 ranks (measured: 2 with a core each)"),
        (4, None),
    ],
)
def test_ranks_that_shared_cores_are_told_as_such(
    tmp_path: Path, cores: int, reason: str | None
) -> None:
    """A study has a core for every rank; the machine measured may have had none for any count."""
    machine = read_profile(ROOT / "tests" / "golden" / "calibrations" / "this-machine.yaml")
    problem = between(tmp_path, fits=machine.fits, network={}, ranks=(2, 8), cores=cores)
    assert reasons(problem, **ONE_NODE) == ([] if reason is None else [reason])


@pytest.mark.parametrize(
    ("cores", "reason"),
    [(2, "4 ranks per node with a core each (measured: 4 on 2 cores)"), (4, None)],
)
def test_ranks_of_a_node_that_shared_cores_are_told_as_such(
    tmp_path: Path, cores: int, reason: str | None
) -> None:
    found = library_profiles.theirs(
        auto=library_profiles.part(), ranks=(8, 32), cores=cores, link_bytes_per_s=25e9
    )
    told = reasons(problem_of(tmp_path, found), gpus=8, inter_node="200gbe")
    assert [why for why in told if "core" in why] == ([] if reason is None else [reason])
