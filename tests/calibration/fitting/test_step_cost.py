"""Planted parameters are found again, with outliers in the way, and errors are honest."""

from __future__ import annotations

import numpy as np
import pytest

from dse.calibration.fitting.step_cost import (
    choose_edges,
    designed,
    fit_step,
    over_runs,
    relative_nnls,
    rows_of,
)
from dse.model.links import StepCost
from tests.calibration import synthetic
from tests.calibration.synthetic import GAMMA, PLANTED, SWITCH_S


def rows(algorithm: str = "ring", **options: object):
    made = synthetic.experiment(**options)
    kept = [s for s in made.samples if s.algorithm == algorithm]
    return over_runs(rows_of(kept, made.machine.cores))


@pytest.mark.parametrize("algorithm", synthetic.ALGORITHMS)
def test_planted_parameters_are_recovered(algorithm: str) -> None:
    found = relative_nnls(designed(rows(algorithm), GAMMA), PLANTED.edges_bytes)
    planted = [PLANTED.latency_s, *PLANTED.s_per_byte, *PLANTED.jump_s, SWITCH_S]
    assert found == pytest.approx(planted, rel=1e-3)


def test_ten_fold_outliers_barely_move_the_fit() -> None:
    clean = relative_nnls(designed(rows("ring"), GAMMA), PLANTED.edges_bytes)
    dirty = relative_nnls(designed(rows("ring", outliers=9), GAMMA), PLANTED.edges_bytes)
    assert dirty[:3] == pytest.approx(clean[:3], rel=0.1)


def test_edges_are_found_where_there_are_regimes_and_only_there() -> None:
    assert 65536.0 in choose_edges(designed(rows("recursive-doubling", noise=0.01), GAMMA))
    straight = StepCost(3e-6, (1e-9,))
    measured = rows("recursive-doubling", step=straight, noise=0.05)
    assert choose_edges(designed(measured, GAMMA)) == ()


def test_a_fit_is_monotone_in_the_message_however_noisy() -> None:
    noisy = rows("ring", noise=0.8)
    fit, *_ = fit_step(noisy, GAMMA)
    assert (fit.coefficients >= 0).all()
    assert (np.array(fit.draws) >= 0).all()


def test_held_out_errors_beat_the_textbook_where_there_are_regimes() -> None:
    noisy = rows("recursive-doubling", noise=0.02)
    fit, *_ = fit_step(noisy, GAMMA)
    assert fit.error < 0.1
    assert fit.error < fit.textbook_error / 2


def test_bootstrap_spreads_with_the_noise_and_is_repeatable() -> None:
    def draws(noise: float):
        return np.array(fit_step(rows("ring", noise=noise), GAMMA)[0].draws)

    assert draws(0.01)[:, 0].std() < draws(0.2)[:, 0].std()
    assert np.array_equal(draws(0.1), draws(0.1))
