"""dse.calibration.prediction: `calibrate predict` asks the evidence that a study asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.calibration import Profile, prediction, read_profile
from dse.calibration.evidence import Grade
from dse.calibration.evidence.joined import ByLayoutEvidence
from dse.calibration.prediction import MeasuredSystem, one_message, predict, rules_of, why_outside
from dse.calibration.profile import usual_ranks_per_node
from dse.calibration.spread import NORMAL_90, UNLIKE
from dse.errors import OutsideCalibration
from dse.model.aggregation.base import Gradients
from dse.model.arrays import ArrayLike
from dse.model.links import Link
from tests.calibration import library_profiles, server_profiles
from tests.pricing import priced

STUDY = """\
study: as-measured
workload: resnet50
space:
  accelerator: v100-sxm2-16gb
  gpus: [1, 8]
  inter_node: [10gbe]
  batch_per_gpu: 32
  aggregation: {name}
objectives: {{maximize: speedup, minimize: capital}}
"""
CORES = 4096  # a study has a core for every rank; here the system measured has, too
SIZES = (1024.0, 2.0**20, 2.0**26, 2.0**34)
RANKS, LOCAL, SERVERS = (1, 2, 3, 8, 12, 64, 300), (1, 2, 4, 8), (1, 2, 5)
SPEEDS = (None, 1.25e9, 25e9)
ROOT = Path(__file__).parents[2]
FILES = sorted([
    *(ROOT / "models" / "calibrations").glob("*.yaml"),
    *(ROOT / "tests" / "golden" / "calibrations").glob("*.yaml"),
])  # fmt: skip
FILES_BY_NAME = {path.stem: path for path in FILES}


def kinds(profile: Profile) -> Iterator[str]:
    """All that `calibrate predict` can predict: what was measured, and by a library's rules."""
    yield from profile.measured_algorithms
    if profile.fits:
        yield from (name for name in ("tree", "hierarchical") if name not in profile.fits)
    if profile.fits or profile.network:
        rules = ("auto", "auto-openmpi", "auto-mpich")
        yield from (name for name in rules if rules_of(profile, name) is not None)
    yield from (f"ps-{transport}" for transport in profile.ps)


OFTEN = 8  # of so many cases one is in make test, the others are evidence


def cases() -> Iterator[object]:
    found = {path.stem: read_profile(path) for path in FILES}
    found |= {"between-nodes": library_profiles.between_nodes(),
              "servers": server_profiles.profile()}  # fmt: skip
    every = [(name, profile, kind) for name, profile in found.items()
             for kind in dict.fromkeys(kinds(profile))]  # fmt: skip
    for at, (name, profile, kind) in enumerate(every):
        marks = [pytest.mark.evidence] if at % OFTEN else []
        yield pytest.param(undrawn(profile), kind, id=f"{name}-{kind}", marks=marks)


def undrawn(profile: Profile) -> Profile:
    """With one draw of every cost, so that its spread is that of the evidence alone."""
    fits = {name: replace(fit, draws=fit.draws[:1]) for name, fit in profile.fits.items()}
    ps = {name: replace(part, draws=part.draws[:1], cores=None)
          for name, part in profile.ps.items()}  # fmt: skip
    return replace(profile, cores=CORES, fits=fits, ps=ps)


@pytest.mark.parametrize(("profile", "kind"), list(cases()))
def test_a_study_and_predict_are_equally_sure_of_every_kind(
    tmp_path: Path, profile: Profile, kind: str
) -> None:
    """The same width, the same reasons and the same side of the measured range."""
    serving = kind.startswith("ps-")
    name = f"{kind}-{profile.transport}"
    name = name if name in priced.AGGREGATIONS else kind
    problem = priced.problem_of(tmp_path, STUDY.format(name=name), profile)
    evidence = problem.aggregation(priced.AGGREGATIONS[name]).evidence
    over = catalog.transport(profile.transport if not serving else kind[3:])
    share = over.across.link_efficiency
    compared = 0
    layouts = product(RANKS[1:], (1,), SERVERS) if serving else product(RANKS, LOCAL, (1,))
    for (n, g, servers), size, speed in product(layouts, SIZES, SPEEDS):
        if not serving and g > n:
            continue
        try:
            found = predict(profile, kind, n, size, g, speed, servers)
        except OutsideCalibration:
            continue
        compared += 1
        limit = known_speed(profile, kind)
        link = Link(0.0, share * (speed or limit or np.inf))
        at = MeasuredSystem(
            np.array(float(n)), np.array(float(g)), across=link, servers=np.array(float(servers))
        )
        message, own = one_message(size), ""
        if isinstance(evidence, ByLayoutEvidence):
            (first, _), *_ = evidence.used(message, at)
            if not first.profiles:
                continue  # a study takes the catalogue's price, predict the fit's
        told = why_outside(profile, kind, n, size, g, speed, servers)
        # No network of a study is known to be the same, nor is one of a given speed.
        if not limit and speed is None and (n > g or serving):
            (own,) = (why for why in evidence.why_outside(message, at) if "not known" in why)
        expected = [why for why in evidence.why_outside(message, at) if why != own]
        assert told == ", ".join(expected)
        assert bool(found.in_range) is (told == "")
        if not own:
            assert (int(np.max(evidence.grade(message, at))) == Grade.INSIDE) is (told == "")
        if n > 1:
            width = np.log(max(found.high / found.seconds, found.seconds / found.low)) / NORMAL_90
            sure = float(np.max(evidence.log_spread(message, at)))
            assert width * (UNLIKE if own else 1.0) == pytest.approx(sure, rel=1e-6)
    assert compared > 10


def known_speed(profile: Profile, kind: str) -> float:
    """Bytes/s of the fastest link measured; 0 where it is not known."""
    part = profile.servers(kind)
    if part is not None:
        return part.link_bytes_per_s[1]
    fits = [fit.link_bytes_per_s[1] for fit in profile.network.values()]
    return profile.link_bytes_per_s or max(fits, default=0.0)


@pytest.mark.parametrize("kind", ["ring", "auto", "ps-grpc"])
def test_many_sizes_are_predicted_at_once_as_one_by_one(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their evidence is asked once, or once more for sizes below those measured."""
    known = {"ring": library_profiles.between_nodes(), "auto": library_profiles.theirs(),
             "ps-grpc": server_profiles.profile()}[kind]  # fmt: skip
    sizes = np.geomspace(1.0, 2.0**36, 50)
    alone = [predict(known, kind, 12, size) for size in sizes]
    asked = []

    def counted(message_bytes: ArrayLike) -> Gradients:
        asked.append(np.shape(message_bytes))
        return one_message(message_bytes)

    monkeypatch.setattr(prediction, "one_message", counted)
    found = predict(known, kind, 12, sizes)
    assert 1 <= len(asked) <= 2
    for together, apart in zip(found, zip(*alone, strict=True), strict=True):
        np.testing.assert_allclose(together, apart, rtol=1e-12)
    assert len(set((found.high / found.low).tolist())) > 1


def test_a_given_link_is_not_the_one_of_unknown_speed_that_was_measured() -> None:
    """Unless none is given: then it is the system's own."""
    part = server_profiles.part(link_bytes_per_s=(0.0, 0.0), cores=None)
    served = server_profiles.profile(ps={"grpc": part})
    assert predict(served, "ps-grpc", 2, 1e6).in_range
    found = predict(served, "ps-grpc", 2, 1e6, link_bytes_per_s=1e8)
    assert not found.in_range
    told = why_outside(served, "ps-grpc", 2, 1e6, link_bytes_per_s=1e8)
    assert told == "a link of 0.8 Gbps (measured: one whose speed is not known)"
    alike = predict(served, "ps-grpc", 2, 1e6, link_bytes_per_s=np.inf)
    assert np.log(found.high / found.seconds) > np.log(alike.high / alike.seconds)


def test_why_outside_refuses_what_predict_refuses() -> None:
    """In the same words: what was not measured at all lies not merely outside of a range."""
    forced, chosen = read_profile(FILES_BY_NAME["this-machine"]), library_profiles.theirs()
    for known, kind in ((replace(forced, library="other", transport="other"), "auto"),
                        (chosen, "ring"), (forced, "no-such")):  # fmt: skip
        with pytest.raises(OutsideCalibration) as refused:
            predict(known, kind, 8, 1e6)
        with pytest.raises(OutsideCalibration) as told:
            why_outside(known, kind, 8, 1e6)
        assert str(told.value) == str(refused.value)


@pytest.mark.parametrize("name", sorted(FILES_BY_NAME))
def test_the_ranks_per_node_that_are_not_given_are_the_usual_ones(name: str) -> None:
    """In a prediction and its reasons as in the tables of `calibrate predict`."""
    known = read_profile(FILES_BY_NAME[name])
    (kind, *_), ranks = kinds(known), known.ranks[1]
    usual = usual_ranks_per_node(known, ranks)
    assert predict(known, kind, ranks, 1e6) == predict(known, kind, ranks, 1e6, usual)
    assert why_outside(known, kind, ranks, 1e6) == why_outside(known, kind, ranks, 1e6, usual)
