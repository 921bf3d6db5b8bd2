"""Buying beside renting: what owning costs over years, and from which use on it pays."""

from __future__ import annotations

import numpy as np

from dse.model.arrays import Array, ArrayLike

HOURS_PER_YEAR = 8760.0
HOURS_PER_MONTH = HOURS_PER_YEAR / 12


def owned_usd_per_hour(
    capital_usd: ArrayLike,
    electricity_usd_per_hour: ArrayLike,
    years: float,
    resold_usd: ArrayLike = 0.0,
    utilisation: float = 1.0,
) -> Array:
    """USD per hour in use: ``(capital - resold) / (years 8760 utilisation) + electricity``.

    resold_usd: for which the hardware is sold after these years. utilisation: share of their hours
    in which it is used, in (0, 1]; only these draw power.
    """
    spent = _spread_usd_per_hour(capital_usd, resold_usd, years) / utilisation
    return np.asarray(spent + electricity_usd_per_hour)


def break_even_utilisation(
    capital_usd: ArrayLike,
    electricity_usd_per_hour: ArrayLike,
    rent_usd_per_hour: ArrayLike,
    years: float,
    resold_usd: ArrayLike = 0.0,
) -> Array:
    """The share of hours in use at which owning costs as much as renting.

    ``(capital - resold) / (years 8760 (rent - electricity))``. Above 1 renting is cheaper even
    around the clock; without bound where the rent is no more than the electricity.
    """
    saved = np.asarray(rent_usd_per_hour) - np.asarray(electricity_usd_per_hour)
    spent = _spread_usd_per_hour(capital_usd, resold_usd, years)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(saved > 0, spent / saved, np.where(np.isnan(saved), np.nan, np.inf))


def _spread_usd_per_hour(capital_usd: ArrayLike, resold_usd: ArrayLike, years: float) -> Array:
    """What is not sold again of the capital, over every hour of the years."""
    return np.asarray((np.asarray(capital_usd) - resold_usd) / (years * HOURS_PER_YEAR))


def most_utilisation(
    capital_usd: ArrayLike,
    electricity_usd_per_hour: ArrayLike,
    rent_usd_per_hour: ArrayLike,
    years: float,
    resold_usd: ArrayLike = 0.0,
) -> Array:
    """The share of hours in use up to which owning costs no more than a rent of all hours.

    ``(rent - (capital - resold) / (years 8760)) / electricity``, as only hours in use draw power;
    0 where owning costs more even idle, 1 where it costs less even around the clock.
    """
    spent = _spread_usd_per_hour(capital_usd, resold_usd, years)
    saved = np.asarray(rent_usd_per_hour) - spent
    with np.errstate(divide="ignore", invalid="ignore"):
        share = saved / np.asarray(electricity_usd_per_hour)
    return np.clip(np.where(saved == 0, 0.0, share), 0.0, 1.0)


def saved_usd_per_hour(
    times: ArrayLike,
    rent_usd_per_hour: ArrayLike,
    electricity_usd_per_hour: ArrayLike,
    owned_electricity_usd_per_hour: ArrayLike,
) -> Array:
    """USD that an hour of a cluster saves against going on with what stands there.

    ``rent max(0, 1 - 1/s) + electricity of what stands there min(1, s) - electricity``: in that
    hour the cluster works ``times`` s as fast as what stands there, which would do 1/s of the work,
    and the rest would be rented, on as many machines of the cluster's kind. Negative where the
    cluster draws more than it saves. All broadcast.
    """
    times = np.asarray(times, dtype=np.float64)
    rented = np.asarray(rent_usd_per_hour) * np.maximum(1 - 1 / times, 0.0)
    own = np.asarray(owned_electricity_usd_per_hour) * np.minimum(times, 1.0)
    return np.asarray(rented + own - electricity_usd_per_hour)


def payback_months(added_usd: ArrayLike, saved: ArrayLike, utilisation: float = 1.0) -> Array:
    """Months until what was added has saved its price: ``added / (saved 730 h utilisation)``.

    saved: USD per hour in use. 0 where nothing is added; without bound where nothing is saved.
    """
    added, saved = np.asarray(added_usd, dtype=np.float64), np.asarray(saved)
    with np.errstate(divide="ignore", invalid="ignore"):
        months = added / (saved * HOURS_PER_MONTH * utilisation)
    never = np.where(np.isnan(saved), np.nan, np.inf)
    return np.where(added == 0, 0.0, np.where(saved > 0, months, never))
