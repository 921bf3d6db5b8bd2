"""Buying beside renting: what owning costs over years, and from which use on it pays."""

from __future__ import annotations

import numpy as np

from dse.model.arrays import Array, ArrayLike

HOURS_PER_YEAR = 8760.0


def owned_usd_per_hour(
    capital_usd: ArrayLike,
    electricity_usd_per_hour: ArrayLike,
    years: float,
    residual_value: float = 0.0,
    utilisation: float = 1.0,
) -> Array:
    """USD per hour in use: ``capital (1 - residual) / (years 8760 utilisation) + electricity``.

    residual_value: share of the capital that the hardware is sold for after these years.
    utilisation: share of their hours in which it is used, in (0, 1]; only these draw power.
    """
    hours = years * HOURS_PER_YEAR * utilisation
    return np.asarray(
        np.asarray(capital_usd) * (1 - residual_value) / hours + electricity_usd_per_hour
    )


def break_even_utilisation(
    capital_usd: ArrayLike,
    electricity_usd_per_hour: ArrayLike,
    rent_usd_per_hour: ArrayLike,
    years: float,
    residual_value: float = 0.0,
) -> Array:
    """The share of hours in use at which owning costs as much as renting.

    ``capital (1 - residual) / (years 8760 (rent - electricity))``. Above 1 renting is cheaper even
    around the clock; without bound where the rent is no more than the electricity.
    """
    saved = np.asarray(rent_usd_per_hour) - np.asarray(electricity_usd_per_hour)
    spent = np.asarray(capital_usd) * (1 - residual_value) / (years * HOURS_PER_YEAR)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(saved > 0, spent / saved, np.where(np.isnan(saved), np.nan, np.inf))
