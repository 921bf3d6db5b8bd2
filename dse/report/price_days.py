"""On which days an answer counts how old prices are, and whether offers are past."""

from __future__ import annotations

from dse.pricing.problem import Problem
from dse.report.document import PriceDays, RunDocument


def price_days(problem: Problem) -> PriceDays:
    """Those of a study."""
    prices = problem.prices
    return PriceDays(ages=prices.as_of.isoformat(), offers=prices.valid_on.isoformat())


def said(document: RunDocument) -> list[str]:
    """Both in a sentence, the second where there is an offer; empty where the bills that the answer
    compares tell no age, and where nobody knows."""
    days = document.price_days
    items = [item for name in ("recommended", "baseline") for item in document.bills.get(name, ())]
    if days is None or all(item.age_years is None for item in items):
        return []
    ages = f"Ages of prices are those on {days.ages}, the day of the price list"
    if days.ages == days.offers and any(item.price_date > days.ages for item in items):
        ages += " (newer prices count as if they were of that day)"
    if not any(item.source and item.standing.own for item in items):
        return [f"{ages}."]
    if days.ages == days.offers:
        return [f"{ages}, on which offers must be valid."]
    return [f"{ages}; offers must be valid on {days.offers}, the day of this run."]
