"""dse.pricing.anchors: effects of published rows, and of rows that come on top of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse import catalog
from dse.catalog import Anchors
from dse.pricing import anchors
from dse.pricing.anchors import BETWEEN_BATCHES, CONFIGURATION, SOURCE

DRAWS = 4000
Kind = Mapping[str, str]


def kind(
    workload: str = "resnet50", accelerator: str = "a100-sxm4-40gb", precision: str = "fp16"
) -> Kind:
    network, device = catalog.workload(workload), catalog.accelerator(accelerator)
    return anchors.configured(anchors.levels(network, device, precision, "vendor"))


A100, H100, MI300X = (kind(accelerator=name) for name in ("a100-sxm4-40gb", "h100-sxm", "mi300x"))
BERT = kind("bert-large-s128")
KINDS = (A100, H100, MI300X, BERT, kind("vgg16", "v100-sxm2-16gb", "fp32"))
EVERY = anchors.Rows(KINDS, np.zeros(len(KINDS)), np.zeros(len(KINDS)))


def small() -> Anchors:
    """Two families and an accelerator, of which something is known."""
    effects = [("family", "convolutional"), ("family", "encoder"), ("accelerator", "a100-sxm4")]
    covariance = np.array([[0.04, 0.01, -0.01], [0.01, 0.05, 0.0], [-0.01, 0.0, 0.02]])
    return Anchors(
        deviations={
            "family": 0.25, "family format generation": 0.1, "family stack": 0.03,
            "accelerator": 0.07, "network": 0.19, "workload": 0.1, SOURCE: 0.04,
            anchors.UNSEEN: 0.2,
        },
        noise=0.13,
        scatter={"encoder": 0.5},
        effects={effect: number for number, effect in enumerate(effects)},
        mean=np.array([0.2, 0.1, -0.05]),
        covariance=covariance,
        facts=(),
    )  # fmt: skip


def textbook(known: Anchors, kinds: list[Kind], y: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Mean of every kind's log factor and their covariance, by the joint normal distribution of
    what is asked and what is seen, written out pair by pair. Returns (kinds, kinds + 1)."""

    def weight(of: Kind, component: str) -> float:
        scattered = component in anchors.SCATTERED
        return known.scatter.get(of["family"], 1.0) if scattered else 1.0

    def prior_mean(of: Kind) -> float:
        return sum(
            weight(of, component) * known.mean[known.effects[component, level]]
            for component, level in of.items() if (component, level) in known.effects
        )  # fmt: skip

    def of_two(one: tuple[str, str], other: tuple[str, str], family: str) -> float:
        if one in known.effects and other in known.effects:
            return float(known.covariance[known.effects[one], known.effects[other]])
        if one != other:
            return 0.0
        if one[0] == CONFIGURATION:
            full = known.noise * known.scatter.get(family, 1.0)
            return full**2 - min(BETWEEN_BATCHES, full) ** 2
        return known.deviations[one[0]] ** 2

    def covariance(first: Kind, second: Kind) -> float:
        return sum(
            weight(first, a)
            * weight(second, b)
            * of_two((a, first[a]), (b, second[b]), first["family"])
            for a in first
            for b in second
        )

    seen = np.array([[covariance(a, b) for b in kinds] for a in kinds]) + np.diag(noise**2)
    asked = np.array([[covariance(a, b) for b in kinds] for a in KINDS])
    own = np.array([[covariance(a, b) for b in KINDS] for a in KINDS])
    means = np.array([prior_mean(of) for of in KINDS])
    surprise = y - np.array([prior_mean(of) for of in kinds])
    inverse = np.linalg.inv(seen)
    return np.column_stack([means + asked @ inverse @ surprise, own - asked @ inverse @ asked.T])


def effects_of(found: Anchors) -> np.ndarray:
    """The same, from anchors that know every level of the kinds."""
    design = anchors._design(found, EVERY)
    return np.column_stack([design @ found.mean, design @ found.covariance @ design.T])


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(KINDS),
            st.floats(-0.5, 0.5),
            st.floats(0.02, 0.4),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_conditioning_is_that_of_the_joint_normal_distribution(
    rows: list[tuple[Kind, float, float]],
) -> None:
    kinds = [of for of, _, _ in rows]
    y, noise = np.array([r[1] for r in rows]), np.array([r[2] for r in rows])
    known = small()
    found = anchors.conditioned(known, anchors.Rows(kinds, y, noise))
    completed = anchors._with_levels(found, EVERY)
    np.testing.assert_allclose(
        effects_of(completed), textbook(known, kinds, y, noise), rtol=1e-9, atol=1e-12
    )


def test_repeated_rows_draw_the_factor_to_what_is_measured_and_not_beyond() -> None:
    known, measured = catalog.anchors(), 0.5
    last = anchors.log_factor(known, A100)
    for count in (1, 2, 4, 16, 256):
        found = anchors.conditioned(
            known, anchors.Rows([A100] * count, np.full(count, measured), np.full(count, 0.06))
        )
        now = anchors.log_factor(found, A100)
        assert last < now < measured
        last = now
    assert last == pytest.approx(measured, abs=0.01)


def width(known: Anchors, of: Kind) -> float:
    return float(np.log(anchors.drawn_errors(known, [of], [0.0], DRAWS)).std())


def test_the_kind_that_was_measured_is_surer_and_its_relatives_a_little() -> None:
    known = catalog.anchors()
    y = np.array([anchors.log_factor(known, A100)])  # as expected
    found = anchors.conditioned(known, anchors.Rows([A100], y, np.array([0.06])))
    gain = {
        name: width(found, of) / width(known, of)
        for name, of in (("same", A100), ("accelerator", H100), ("family", BERT))
    }
    assert gain["same"] < 0.7
    assert gain["same"] < gain["accelerator"] < 1.02
    assert gain["family"] == pytest.approx(1.0, abs=0.03)
    assert anchors.log_factor(found, A100) == pytest.approx(y[0])


def test_code_that_nobody_knows_may_be_slow_until_it_is_measured() -> None:
    known, of = catalog.anchors(), {**A100, anchors.OWN_CODE: "convolutional here"}
    drawn = np.log(anchors.drawn_errors(known, [of], [0.0], DRAWS))
    fast, middle, slow = np.percentile(drawn, [5, 50, 95])
    assert slow > 1.5 * -fast
    assert abs(middle) < 0.05
    y = np.array([anchors.log_factor(known, of) + 0.43])
    found = anchors.conditioned(known, anchors.Rows([of], y, np.array([0.06])))
    assert anchors.log_factor(found, of) == pytest.approx(y[0], abs=0.03)
    assert width(found, of) < 0.5 * width(known, of)


def test_no_rows_change_nothing_and_neither_does_a_configuration_nobody_measured() -> None:
    known = catalog.anchors()
    nothing = np.zeros(0)
    assert anchors.conditioned(known, anchors.Rows([], nothing, nothing)) is known
    assert anchors.with_likeliest_source(known, anchors.Rows([], nothing, nothing)) is known
    plain = {component: level for component, level in A100.items() if component != CONFIGURATION}
    np.testing.assert_array_equal(
        anchors.drawn_errors(known, [plain], [0.1], 50),
        anchors.drawn_errors(known, [A100], [0.1], 50),
    )


def test_a_source_far_off_is_taken_for_one_of_its_own() -> None:
    known = catalog.anchors()
    expected = np.array([anchors.log_factor(known, of) for of in (A100, H100)])
    noise = np.full(2, 0.06)

    def source(shift: float) -> float:
        kinds = [A100, H100]
        found = anchors.with_likeliest_source(known, anchors.Rows(kinds, expected + shift, noise))
        return found.deviations[SOURCE]

    assert source(0.0) == source(0.02) == known.deviations[SOURCE]
    assert known.deviations[SOURCE] < source(0.5) < source(0.8) <= 1.0
    # Code that takes twice as long on one accelerator is slow on others too.
    wide = anchors.with_likeliest_source(
        known, anchors.Rows([A100], expected[:1] + np.log(2), noise[:1])
    )
    found = anchors.conditioned(wide, anchors.Rows([A100], expected[:1] + np.log(2), noise[:1]))
    moved = anchors.log_factor(found, H100) - expected[1]
    assert 0.5 * np.log(2) < moved < np.log(2)


def test_draws_do_not_depend_on_the_signs_of_eigenvectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which signs they have differs between processors; a report must not."""
    known, spreads = catalog.anchors(), [0.0] * len(KINDS)
    usual, eigh = anchors.drawn_errors(known, KINDS, spreads, 50), np.linalg.eigh

    def turned(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = eigh(matrix)
        return values, vectors * np.where(np.arange(len(values)) % 2, 1.0, -1.0)

    monkeypatch.setattr(np.linalg, "eigh", turned)
    again = replace(known)  # what was computed of the others is remembered
    found = anchors.drawn_errors(again, KINDS, spreads, 50)
    np.testing.assert_allclose(found, usual, rtol=1e-9)
