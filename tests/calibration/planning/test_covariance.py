"""What one measurement tells of others."""

from __future__ import annotations

import numpy as np
import pytest

from dse.calibration import Profile, predict
from dse.calibration.library_part import NORMAL_90
from dse.calibration.planning.advice import half_width
from dse.calibration.planning.covariance import NOISE, Points, conditioned, covariance
from tests.calibration import library_profiles


def points(algorithm: str, *rows: tuple[float, float, float]) -> Points:
    n, g, m = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    return Points(np.array([algorithm] * len(rows)), n, g, m)


def test_the_variance_is_that_of_the_predicted_interval(profile: Profile) -> None:
    asked = points("ring", (4, 4, 2.0**20), (64, 64, 2.0**20))
    _, low, high, _ = predict(profile, "ring", asked.ranks, asked.message_bytes)
    expected = np.log(high / low) / 2 / NORMAL_90
    assert np.sqrt(np.diag(covariance(profile, asked))) == pytest.approx(expected, rel=1e-6)


def test_covariances_are_valid_and_fall_with_distance(profile: Profile) -> None:
    rows = [(n, n, m) for n in (2, 4, 8, 16, 64) for m in (2.0**10, 2.0**16, 2.0**22)]
    found = covariance(profile, points("ring", *rows))
    assert np.linalg.eigvalsh(found).min() > -1e-9
    away = covariance(
        library_profiles.profile(),
        points("auto", (64, 4, 2.0**20), (64, 4, 2.0**22), (128, 4, 2.0**22)),
    )
    sd = np.sqrt(np.diag(away))
    assert 1 > away[0, 1] / sd[0] / sd[1] > away[0, 2] / sd[0] / sd[2] > 0


def test_algorithms_tell_nothing_of_one_another(profile: Profile) -> None:
    both = Points(np.array(["ring", "tree"]), *(np.array([v, v]) for v in (4.0, 4.0, 2.0**20)))
    assert covariance(profile, both)[0, 1] == 0


def test_conditioning_is_that_of_a_gaussian() -> None:
    prior = np.array([[0.04, 0.03], [0.03, 0.05]])
    after = conditioned(prior, 1)
    assert after[0, 0] == pytest.approx(0.04 - 0.03**2 / (0.05 + NOISE**2))
    assert after[1, 1] == pytest.approx(0.05 * NOISE**2 / (0.05 + NOISE**2))
    assert (half_width(after) < half_width(prior)).all()
