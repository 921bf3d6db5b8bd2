"""What whoever signs an answer accepts: what nobody can do anything about before."""

from __future__ import annotations

from collections.abc import Callable

from dse.pricing.anchors import NOBODY
from dse.pricing.computing import GIVEN
from dse.report import bills, none_feasible, one_age, words
from dse.report.certainty import words as sure_words
from dse.report.certainty.verdict import COMPUTING
from dse.report.confidence import USUAL
from dse.report.deal import buys, deal
from dse.report.document import RunDocument
from dse.report.readiness.doubts import LARGE, bill
from dse.report.words import SILENT
from dse.spelling import enumerated

MOST_CONDITIONS = 3  # that are told of what can be signed


def conditions(document: RunDocument) -> list[str]:
    """What whoever signs accepts, the weightiest first, as clauses."""
    said = [clause for kind in _CONDITIONS if (clause := kind(document))]
    return said[:MOST_CONDITIONS]


def _odds(document: RunDocument) -> str:
    """That it is not the best in most draws."""
    found = document.certainty
    assert found is not None
    alike, rivals = sure_words.alike_and_rivals(document)
    asked = document.confidence
    if asked is not None and asked.reached:
        sure = [one for one in rivals if one.meets_all >= asked.asked]
        best = sure_words.nearest(sure).beaten if sure else 1.0
        better = deal(document).better
        said = f"it is {better} than another that is as sure in {{}} of simulated outcomes only"
    else:
        best = sure_words.best_of(found, alike) if rivals else 1.0
        said = "it is the best choice in {} of simulated outcomes only"
    return said.format(sure_words.chance(best)) if best is not None and best < 0.5 else ""


def _given(document: RunDocument) -> str:
    """That some of what is ordered has a price of 0."""
    given = bills.at_no_charge(bill(document))
    if not given:
        return ""
    named = enumerated([bills.ordered(item) for item in given])
    sources = enumerated(list(dict.fromkeys(item.source for item in given)))
    return f"{named} {'cost' if given[1:] else 'costs'} USD 0, as {sources} says"


def _by_the_accelerator(document: RunDocument) -> str:
    """That a rent is by the accelerator, though several of a machine are rented."""
    best = document.recommended
    if buys(document) or not best.config.get("accelerator") or best.gpus == 1:
        return ""
    return "the rent is by the accelerator, and nobody said that such machines are let at it"


def _past_by_now(document: RunDocument) -> str:
    """That offers were valid on the day that the price list states, and are not any more."""
    days, today = document.price_days, document.created[:10]
    past = [item for item in bill(document) if days is not None and item.terms
            and days.offers <= item.terms.valid_until < today]  # fmt: skip
    if not past or days is None:
        return ""
    offers = dict.fromkeys(
        f"{item.terms.quote or item.source} until {item.terms.valid_until}"
        for item in past if item.terms
    )  # fmt: skip
    return (
        f"it is the answer of {days.offers} (as_of), and offers have expired since: "
        f"{enumerated([*offers])}"
    )


def _likely(document: RunDocument) -> str:
    """That limits may well be missed, though they are met as surely as was asked."""
    asked = document.confidence
    if asked is None or not asked.reached or not asked.limits or asked.recommended >= USUAL:
        return ""
    met = sure_words.chance(asked.recommended, asked.asked)
    return f"it meets {enumerated(list(asked.limits))} in {met} of simulated outcomes only"


def _committed(document: RunDocument) -> str:
    """That more is committed to than a run is charged."""
    return "".join(bills.commitment(document)).rstrip(".")


def _none_feasible(document: RunDocument) -> str:
    """That the answer was not chosen among all that the study names."""
    return "; ".join(none_feasible.clauses(document)[:1])


def _reversed(document: RunDocument) -> str:
    """That the difference to the baseline's price hangs on the age of prices."""
    then, now = one_age.reversal(document), one_age.ratio(document)
    if then is None or now is None or document.one_age is None:
        return ""
    return (
        f"the comparison with the baseline's price, {words.change(now)}, reads "
        f"{words.change(then)} at prices of one age ({document.one_age.month})"
    )


def _baseline_price(document: RunDocument) -> str:
    """That the baseline's price, which the answer compares, is not one that anybody asks today."""
    share = bills.doubtful_share(document.bills.get("baseline", ()))
    best, base = document.recommended, document.baseline
    if share < LARGE or best.same_as(base) or one_age.reversal(document) is not None:
        return ""
    for sense in document.objectives.minimized:
        mine, theirs = (words.cost(document, point, sense) for point in (best, base))
        if words.aim(document, sense).unit.startswith("USD") and mine is not None and theirs:
            return (
                f"the comparison with the baseline's price, {words.change(mine / theirs)}, rests "
                f"on old or unchecked prices for {words.percent(share)} of the baseline's "
                "sum"
            )
    return ""


def _unmeasured(document: RunDocument) -> str:
    """That communication lies beyond what was measured."""
    point = document.recommended
    if point.evidence in _MEASURED:
        return ""
    first = words.says_who(point)[1].partition(";")[0].partition(":")[0]
    first = first.partition(", where")[0].rstrip(".")
    return f"{first[:1].lower()}{first[1:]}"


def _untimed(document: RunDocument) -> str:
    """That nobody timed such computing."""
    kind = document.recommended.computing
    return COMPUTING.get(kind, "") if kind in (NOBODY, GIVEN) else ""


def _extrapolated(document: RunDocument) -> str:
    """That the length of a run is not one that was observed."""
    named = (("its", document.recommended), ("the baseline's", document.baseline))
    whose = [name for name, point in named if point.run and point.run.extrapolated]
    return f"{' and '.join(whose)} samples to the target are extrapolated" if whose else ""


def _guided(document: RunDocument) -> str:
    """That not every point was priced."""
    priced, space = document.counts.points, document.counts.space
    if document.engine != "guided" or priced == space:
        return ""
    return f"the search priced {words.count(priced)} points, and others may be better"


# The weightiest first.
_CONDITIONS: tuple[Callable[[RunDocument], str], ...] = (
    _past_by_now, _given, _committed, _by_the_accelerator, _likely, _odds, _none_feasible,
    _guided, _reversed, _baseline_price, _unmeasured, _untimed, _extrapolated,
)  # fmt: skip
_MEASURED = ("inside", SILENT)  # communication, or none
