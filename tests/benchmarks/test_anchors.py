"""Anchors: what a fit recovers, what it leaves open, and what is in the file that was fitted."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy.board import missed
from benchmarks.anchors.__main__ import main
from benchmarks.anchors.accelerators import CONSUMER
from benchmarks.anchors.fit import (
    COMMON,
    LEAST_SOURCE,
    SCATTER,
    UNSEEN_GENERATION,
    Deviations,
    Kind,
    deviations,
    fit,
    posterior,
)
from benchmarks.anchors.held_out import (
    accelerator_of,
    comparable,
    leaving_out,
    network_of,
    source_of,
    without,
)
from benchmarks.anchors.modelled import flops_s, step_s
from benchmarks.anchors.networks import known
from benchmarks.anchors.own_code import OWN_CODE, OwnCode
from benchmarks.anchors.rows import NoReference, Row
from benchmarks.anchors.training import Training
from benchmarks.anchors.write import write
from dse import catalog
from dse.catalog.anchors import ANCHORS
from dse.catalog.computing import FORMATS
from dse.catalog.rows_of_work import FAMILIES
from dse.pricing.anchors import FAMILY, SOURCE, UNSEEN, WORKLOAD, drawn_errors, levels, log_factor

NOISE = 0.02
TRUE = {"recurrent": 0.5, "convolutional": 0.1}
ACCELERATORS = ("v100-sxm2-16gb", "a100-sxm4-80gb", "h100-sxm", "p100-sxm2-16gb")
SLOWER = dict(zip(ACCELERATORS, (0.2, -0.2, 0.1, -0.1), strict=True))
NETWORKS = ("one", "two", "three")


def workload(family: str, network: str) -> catalog.Workload:
    return replace(known("resnet50"), name=f"{family} {network}", family=family, network=network)


def kind(family: str, network: str, accelerator: str, source: str = "somebody") -> Kind:
    trained = workload(family, network)
    found = levels(trained, catalog.accelerator(accelerator), "fp32", "vendor")
    return {**found, SOURCE: f"{family} {source}"}


def synthetic() -> tuple[list[Kind], np.ndarray]:
    """Rows whose effects are known, with little noise."""
    random = np.random.default_rng(1)
    kinds, y = [], []
    for family, network, name in product(TRUE, NETWORKS, ACCELERATORS):
        for source in ("somebody", "another"):
            kinds.append(kind(family, network, name, source))
            y.append(TRUE[family] + SLOWER[name] + NOISE * random.standard_normal())
    return kinds, np.array(y)


def test_known_effects_are_recovered() -> None:
    kinds, y = synthetic()
    anchors = fit(kinds, y)
    left = [value - log_factor(anchors, of) for of, value in zip(kinds, y, strict=True)]
    assert np.max(np.abs(left)) < 4 * NOISE
    assert anchors.noise == pytest.approx(NOISE, rel=0.3)
    expected = log_factor(anchors, kind("recurrent", "unseen", ACCELERATORS[0]))
    assert expected == pytest.approx(TRUE["recurrent"] + SLOWER[ACCELERATORS[0]], abs=0.05)


def test_the_deviation_of_accelerators_is_that_of_the_effects() -> None:
    kinds, y = synthetic()
    found = deviations(kinds, y).components
    assert 0.08 < found["accelerator"] < 0.35
    assert max(found["network"], found[WORKLOAD]) < 0.05
    assert found[SOURCE] == LEAST_SOURCE, "no source is told from its networks"


def test_what_was_never_seen_keeps_the_width_that_it_had_before() -> None:
    kinds, y = synthetic()
    given = Deviations(
        {name: 0.1 for name in kinds[0] if name != UNSEEN} | {FAMILY: 0.25}, noise=0.1
    )
    anchors = posterior(kinds, y, given)
    assert ("accelerator", "t4") not in anchors.effects
    seen = kind("recurrent", "one", ACCELERATORS[0])
    new_network = {**seen, "network": "new", WORKLOAD: "new"}
    new_generation = {**seen, UNSEEN: "new"}
    wide = [np.log(drawn_errors(anchors, [of], [0.0], 20_000)).std()
            for of in (seen, new_network, new_generation)]  # fmt: skip
    at = anchors.effects["network", "one"]
    known_network = anchors.covariance[at, at]
    assert known_network < 0.1**2
    assert wide[1] > wide[0]
    assert wide[2] == pytest.approx(np.hypot(wide[0], UNSEEN_GENERATION), rel=0.03)


def test_families_without_rows_take_what_all_have_in_common() -> None:
    kinds, y = synthetic()
    anchors = fit(kinds, y)
    mean = anchors.mean[anchors.effects[FAMILY, "other"]]
    seen = [anchors.mean[anchors.effects[FAMILY, family]] for family in TRUE]
    assert 0 < mean < max(seen)
    at = anchors.effects[FAMILY, "other"]
    least = anchors.deviations[FAMILY] ** 2
    assert least < anchors.covariance[at, at] < least + COMMON**2


def test_transformers_take_half_of_an_accelerators_effect() -> None:
    kinds, y = synthetic()
    anchors = fit(kinds, y)
    at = anchors.mean[anchors.effects["accelerator", "v100-sxm2"]]
    bare = {FAMILY: "decoder"}
    moved = log_factor(anchors, {**bare, "accelerator": "v100-sxm2"}) - log_factor(anchors, bare)
    assert moved == pytest.approx(SCATTER["decoder"] * at)


def test_the_fitted_file_has_levels_that_a_study_can_ask_for() -> None:
    anchors, reached = catalog.anchors(), catalog.computing()
    formats = {"tf32", *(kinds[0] for name, kinds in FORMATS.items() if name != "tf32")}
    generations = {generation for generation, _ in reached.laws}
    possible = {
        FAMILY: set(FAMILIES),
        "family stack": {f"{f} {stack}" for f in FAMILIES for stack in reached.stacks},
        "family format generation": {
            f"{f} {kind} {generation}"
            for f in FAMILIES
            for kind in formats
            for generation in generations
        },
        WORKLOAD: set(catalog.names("workloads")),
        UNSEEN: generations,
    }
    asked = levels(known("bert-large-s128"), catalog.accelerator("h100-sxm"), "bf16", "plain")
    for component, level in anchors.effects:
        assert component in asked
        assert component != SOURCE
        assert level in possible.get(component, {level})
    assert {f for component, f in anchors.effects if component == FAMILY} == set(FAMILIES)
    names = {level for component, level in anchors.effects if component == "accelerator"}
    assert asked["accelerator"] in names
    networks = {level for component, level in anchors.effects if component == "network"}
    assert {catalog.workload(name).network for name in catalog.names("workloads")} & networks
    assert set(anchors.deviations) == set(asked)


def test_the_fitted_covariance_is_one() -> None:
    anchors = catalog.anchors()
    covariance = anchors.covariance
    assert covariance.shape == (len(anchors.effects),) * 2
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-5)
    assert np.linalg.eigvalsh(covariance).min() > -1e-6
    for (component, _), at in anchors.effects.items():
        before = anchors.deviations[component] ** 2 + (COMMON**2 if component == FAMILY else 0)
        assert covariance[at, at] <= before


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    kinds, y = synthetic()
    anchors = replace(fit(kinds, y), faster={OWN_CODE: 0.4})
    row = Row("somebody", known("resnet50"), "h100-sxm", "bf16", "vendor", 8, 100)
    write(anchors, [row] * len(y), tmp_path)
    found = catalog.anchors(tmp_path / ANCHORS)
    assert found.effects == anchors.effects
    np.testing.assert_allclose(found.mean, anchors.mean, rtol=1e-5)
    np.testing.assert_allclose(found.covariance, anchors.covariance, rtol=1e-5)
    assert found.deviations == pytest.approx(anchors.deviations, rel=1e-5)
    assert found.faster == anchors.faster
    assert {fact.name: fact.value for fact in found.facts}["rows"] == len(y)


def test_recomputing_and_stored_scores_take_longer() -> None:
    row = Row("somebody", known("llama3-8b"), "h100-sxm", "bf16", "vendor", 1, 1)
    assert 1.2 * step_s(row) < step_s(replace(row, recomputed=True)) < 1.4 * step_s(row)
    assert step_s(replace(row, fuses_attention=False)) > 1.2 * step_s(row)
    assert step_s(replace(row, accumulation=8)) < step_s(row)
    assert step_s(replace(row, shards=8)) < step_s(row)
    assert flops_s(row, 1.0) < step_s(row)


def test_without_the_tables_one_line_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DSE_REFERENCE", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["anchors"])
    assert main() == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "DSE_REFERENCE" in said


@pytest.fixture(scope="module")
def training() -> Training:
    try:
        return Training.published()
    except NoReference as missing:
        pytest.skip(str(missing))


def test_the_published_rows_are_those_that_were_fitted(training: Training) -> None:
    facts = {fact.name: fact.value for fact in catalog.anchors().facts}
    assert training.telling.sum() == facts["rows"]
    left = training.log_left[training.telling]
    assert np.all(np.abs(left) < 1)
    assert np.median(left) == pytest.approx(0.15, abs=0.1)
    assert not {row.accelerator for row in training.rows if row.fitted} & CONSUMER


def test_the_fitted_file_is_what_the_rows_give(training: Training) -> None:
    used = np.flatnonzero(training.telling)
    found = fit([training.sourced_kinds[at] for at in used], training.log_left[used])
    anchors = catalog.anchors()
    assert found.effects == anchors.effects
    np.testing.assert_allclose(found.mean, anchors.mean, atol=0.01)
    assert found.noise == pytest.approx(anchors.noise, rel=0.05)
    own = OwnCode.of(training)
    slower, faster = own.sides()
    assert slower == pytest.approx(anchors.deviations[OWN_CODE], rel=0.05)
    assert faster / slower == pytest.approx(anchors.faster[OWN_CODE], rel=0.05)
    assert own.sides("horovod/horovod#288")[0] < slower
    assert not missed(np.mean(own.held_out().inside), len(own.rows))


@pytest.mark.evidence
def test_sources_left_out_are_predicted_by_others_alone(training: Training) -> None:
    found = leaving_out(training, source_of, network_of)
    assert sorted(found.rows) == list(range(len(training.rows)))
    of_lambda = np.array([source_of(row) == "lambda" for row in training.rows])
    alone = without(training, of_lambda)
    by_source = leaving_out(training, source_of)
    same = by_source.part(np.isin(by_source.rows, alone.rows))
    np.testing.assert_allclose(same.ratio[np.argsort(same.rows)], alone.ratio)


def test_pairs_differ_in_the_accelerator_alone(training: Training) -> None:
    pairs = comparable(training.rows)
    assert len(pairs) > 400
    for i, j in pairs:
        one, other = training.rows[i], training.rows[j]
        assert one.workload is other.workload
        assert accelerator_of(one) != accelerator_of(other)
        assert one.stack == other.stack
