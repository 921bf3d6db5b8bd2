"""What is fitted of accelerators that work together: benchmarks.scale_terms."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.scale_machines import NAMES, machine_of
from benchmarks.scale_networks import Shared, read_networks
from benchmarks.scale_terms import (
    Count,
    Series,
    Terms,
    fit,
    inside,
    read_series,
    sharing_width,
    width,
    without_each_machine,
    written,
)
from dse.catalog import scale_terms
from dse.model.scale import IDEAL, Scale

TRUE = Terms(0.03, 0.1, 0.6, 0.2)


def series(system: str, varying: bool, comm_s: float, terms: Terms = TRUE) -> Series:
    """Of a made-up system that loses what the terms say."""
    counts = []
    for gpus in (1, 2, 4, 8, 16, 32, 64):
        several = np.array([comm_s / 4] * 4) * (gpus > 1)
        ready = np.array([0.25, 0.5, 0.75, 1.0]) if gpus > 1 else np.zeros(0)
        wire = several * (gpus > 8)
        count = Count(
            gpus, max(1, gpus // 8), 32.0, 1, 1.0, 1 / 3, ready, several - wire, wire, 0.0
        )
        step_s = float(count.step_s(np.asarray(1.0), terms.scale(varying)))
        counts.append(replace(count, samples_per_s=gpus * 32.0 / step_s))
    return Series("made up", system, "any", varying, tuple(counts))


@cache
def made_up() -> list[Series]:
    return [series(name, varying, comm_s)
            for name in ("a", "b", "c") for varying in (False, True)
            for comm_s in (0.05, 0.4, 1.5)]  # fmt: skip


NETWORKS = [Shared("n", np.array([2.0, 8.0, 32.0]), 1e9 * np.array([2.0, 8.0, 32.0]) ** -0.2)]


def test_what_a_system_loses_is_found_again() -> None:
    found = fit(made_up(), NETWORKS)
    for name in ("spread", "varying_spread", "slowdown", "sharing"):
        assert getattr(found, name) == pytest.approx(getattr(TRUE, name), rel=0.02), name
    for of in made_up():
        np.testing.assert_allclose(of.predicted(found.scale(of.varying)), of.measured, rtol=2e-3)
        np.testing.assert_allclose(of.predicted(TRUE.scale(of.varying)), of.measured, rtol=1e-4)
        assert np.all(of.predicted(IDEAL) >= of.measured * (1 - 1e-9))


def test_a_fit_does_not_end_where_it_began() -> None:
    """Nor where hardly any series depends on sharing, so that the error is flat over it."""
    few = [*made_up()[:2], *(replace(of, counts=of.counts[:4]) for of in made_up()[2:])]
    found = [fit(few, NETWORKS, replace(TRUE, sharing=start)) for start in (0.02, 0.9)]
    for terms in found:
        assert vars(terms) == pytest.approx(vars(TRUE), rel=0.02)


def test_terms_of_a_system_are_fitted_without_it() -> None:
    other = [series("odd", False, 0.4, replace(TRUE, spread=0.15))]
    judged = without_each_machine([*made_up(), *other], NETWORKS)
    odd, *_ = [one for one in judged if one.series.system == "odd"]
    known = [one for one in judged if one.series.system != "odd"]
    assert odd.terms.spread == pytest.approx(0.03, rel=0.3)
    assert width(known, 0.0) < width([odd], 0.0), "a surprise asks for wider intervals"


def test_all_names_of_a_machine_are_left_out_together() -> None:
    other = [series(name, False, 0.4, replace(TRUE, spread=0.3)) for name in ("dgx-1", "dgx-2")]
    judged = without_each_machine([*made_up(), *other], NETWORKS)
    for one in judged[-2:]:
        assert one.terms.spread == pytest.approx(0.03, rel=0.3), "the other name says nothing"


def test_every_name_of_a_machine_is_in_the_tables() -> None:
    systems = {of.system for of in (*read_series(), *read_networks())}
    named = [system for systems_of in NAMES.values() for system in systems_of]
    assert len(set(named)) == len(named)
    assert set(named) <= systems
    assert machine_of("polaris-tcp") == machine_of("polaris-ofi") != machine_of("aws-h100-shared")
    assert machine_of("h3c-a100-pcie-80gb") == "h3c-a100-pcie-80gb"


def test_an_interval_holds_what_is_predicted_and_widens_with_the_draws() -> None:
    of = made_up()[2]
    narrow = replace(TRUE, spread=0.3)
    assert not inside(of, narrow)[-1]
    assert inside(of, replace(narrow, width=1.5))[-1]
    assert inside(of, TRUE).all()


def test_a_network_that_nobody_shares_counts_as_shared_by_few() -> None:
    alone = Shared("m", np.array([2.0, 8.0]), np.array([1e9, 1.1e9]))
    assert alone.exponent < 0
    assert 0 < sharing_width(TRUE, [alone]) < np.inf
    assert NETWORKS[0].exponent == pytest.approx(0.2)


def test_counts_of_another_batch_are_not_fitted_to() -> None:
    first, *rest = made_up()[0].counts
    changed = replace(made_up()[0], counts=(first, replace(rest[0], batch=8.0), *rest[1:]))
    assert [one.gpus for one in changed.alike.counts] == [1, 4, 8, 16, 32, 64]


def test_the_file_of_the_catalogue_is_what_the_fit_writes(tmp_path: Path) -> None:
    path = tmp_path / "scale.yaml"
    path.write_text(written(replace(TRUE, width=0.5, sharing_width=1.2), made_up(), NETWORKS))
    found = scale_terms(path)
    assert (found.spread.value, found.slowdown.draws, found.sharing.draws) == (0.03, 0.5, 1.2)
    assert found.cloud_sharing == scale_terms().cloud_sharing


def test_the_shipped_terms_fit_the_shipped_tables() -> None:
    """Better than ideal scale does, and no worse than the fit has it."""
    terms = scale_terms()
    shipped = {False: terms.spread.value, True: terms.varying_spread.value}
    errors = []
    for of in (one.alike for one in read_series()):
        if len(of.counts) > 1:
            scale = Scale(shipped[of.varying], terms.slowdown.value, terms.sharing.value)
            errors.append(
                [abs(of.predicted(at)[-1] / of.measured[-1] - 1) for at in (IDEAL, scale)]
            )
    ideal, fitted = np.median(errors, axis=0)
    assert fitted < 0.04 < 0.06 < ideal
    assert {of.system for of in read_networks()} == {
        "aws-h100-shared",
        "polaris-ofi",
        "polaris-tcp",
    }
