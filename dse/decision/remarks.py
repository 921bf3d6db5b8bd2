"""What a buyer must know of an answer, one row a remark.

A row says how the remark is found, how much it weighs, whether it keeps an answer from being
signed, and in a sentence what it is and what to do. Finders compute; the sentences are filled in
by the report. To add a remark: its finder, and its row in :data:`OF_ANSWER`, or in :data:`OF_STUDY`
where the study alone tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from dse import catalog
from dse.calibration.evidence import Grade
from dse.catalog import implausible
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.nccl import NCCL_ALGORITHMS
from dse.model.arrays import scalar
from dse.model.memory import DOUBT
from dse.pricing import anchors, hardware, market, stock, throughput
from dse.pricing.bill_of_materials import RACK, TIERS, UNSAID, UNSOLD, Item
from dse.pricing.bill_of_rent import for_other_terms
from dse.pricing.constraints import FITS
from dse.pricing.evaluation import Evaluation
from dse.pricing.offers import part, prices_of
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from dse.pricing.profile_use import unused
from dse.search.certainty.sources import COMMUNICATION, COMPUTING
from dse.spelling import enumerated
from dse.study import Value, Wire
from dse.study.definition import IGNORED
from dse.study.quantities import PURCHASE, RENT, facts_of

Number: TypeAlias = str | int | float  # a name, or a number in SI units
Facts: TypeAlias = Mapping[str, Number]
State: TypeAlias = Literal["ready", "nearly", "not ready", "open"]

LARGE = 0.5  # share of a sum that a doubtful price must have to be told of
NOTED = 0.05  # and a price that is none of today
COMMUNICATING = 0.1  # share of a step that communication must take to be measured before buying
DECIDES = 0.05  # share of the rule's aim that must rest on a number to be measured before buying
USUAL = 0.9  # probability that limits should hold with, where the study asks for none
STEPS = 3  # that are named before an answer is called not ready
UNDECIDED = 0.45  # share of outcomes in which a rival that wins leaves the answer open
ROUNDING = 1e-9  # a share of a term; what is over by less needs no other
AS_FAST = 0.995  # what reaches this share of a speed is as fast
MEMORY = ("memory ignored", "memory unknown")


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A price at which another purchase is the answer, within the interval of what sellers ask.

    own: whether the recommended purchase has the part. at: the price, in ``unit``. instead: the
    other purchase, by its name.
    """

    part: str
    own: bool
    usd: float
    at: float
    unit: str
    instead: str

    @property
    def distance(self) -> float:
        """How far the price must move, as the absolute logarithm of its factor."""
        return abs(math.log(self.at / self.usd))

    @property
    def facts(self) -> Facts:
        """The turn for the sentences of its row."""
        side = "above" if self.at > self.usd else "below"
        return {"part": self.part, "usd": self.usd, "at": self.at, "unit": self.unit,
                "instead": self.instead, "side": side}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """The largest source of what is not known of the recommended point.

    share: its total-order index, of the gain or of the cost per gain. regret: the share of the
    rule's aim that the recommended choice is expected to miss.
    """

    source: str
    share: float
    regret: float


@dataclass(frozen=True, kw_only=True)
class Side:
    """A point of the answer: what it comes to, arrays of one, and its bill."""

    values: Mapping[str, Value | None]
    evaluation: Evaluation
    bill: tuple[Item, ...]
    computing: str
    extrapolated: bool

    def number(self, name: str) -> float:
        """A quantity of the study, in SI."""
        return scalar(self.evaluation[name])


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the search found, as far as remarks need it.

    priced, space: points of a guided search, else 0. turns: by falling weight. met: by
    limit, the probability that it holds; asked: the one that the study asks for. idle_gain: the
    speedup of the baseline's machines with ``settings``; NaN where they are no choice.
    """

    problem: Problem
    recommended: Side
    baseline: Side
    priced: int = 0
    space: int = 0
    turns: tuple[Turn, ...] = ()
    doubt: Doubt | None = None
    met: Mapping[str, float] = field(default_factory=dict)
    asked: float | None = None
    idle_gain: float = float("nan")
    settings: str = ""

    @cached_property
    def each(self) -> list[tuple[Problem, Points]]:
        """The recommended point as each workload of the study trains there."""
        each = self.problem.each(self.recommended.values)
        return [(problem, problem.points_at(values)) for problem, values in each]


Finder: TypeAlias = Callable[[Any], Iterator[Facts]]  # in a study's problem, or in its answer


@dataclass(frozen=True)
class Row:
    """A kind of remark.

    weight: the heaviest come first. blocks: whether it keeps an answer from being signed. sentence,
    action: with the facts in braces, and after a colon how they are written.
    """

    name: str
    finder: Finder
    weight: int
    blocks: bool
    sentence: str
    action: str = ""


@dataclass(frozen=True)
class Remark:
    """A remark that was found: its row, and its numbers."""

    row: Row
    facts: Facts


def remarks(problem: Problem, answer: Answer | None = None) -> tuple[Remark, ...]:
    """Every remark, the heaviest first. answer: None before the search."""
    every = [Remark(row, facts) for row in OF_STUDY for facts in row.finder(problem)]
    if answer is not None:
        every += [Remark(row, facts) for row in OF_ANSWER for facts in row.finder(answer)]
    return tuple(sorted(every, key=lambda one: -one.row.weight))


def state(found: Sequence[Remark], rival: float) -> State:
    """How near an answer is to being signed.

    rival: the share of outcomes in which the nearest rival of other hardware wins.
    """
    if rival >= UNDECIDED:
        return "open"
    blocking = [one.row.name for one in found if one.row.blocks]
    if not blocking:
        return "ready"
    certain = not set(blocking) & set(MEMORY)
    return "nearly" if len(blocking) <= STEPS and certain else "not ready"


# Of the answer: memory, limits.


def _memory_ignored(answer: Answer) -> Iterator[Facts]:
    lacking = -np.fmin.reduce([scalar(points.room.free_bytes) for _, points in answer.each])
    if answer.problem.study.memory == IGNORED and lacking > 0:
        yield {"lacking": float(lacking)}


def _may_not_fit(answer: Answer) -> Iterator[Facts]:
    """The workload that is most doubtful."""
    risks = [(scalar(points.room.out_of_memory), _title(one)) for one, points in answer.each]
    doubtful = [(risk, title) for risk, title in risks if risk > DOUBT]
    if answer.problem.study.memory != IGNORED and doubtful:
        risk, title = max(doubtful)
        yield {"workload": title, "risk": risk, "most": DOUBT}


def _memory_unknown(problem: Problem) -> Iterator[Facts]:
    for alone, _ in problem.each(problem.study.baseline.values):
        if not alone.memory_known:
            yield {"workload": _title(alone)}


def _title(problem: Problem) -> str:
    return problem.workload.title or problem.workload.name


def _limit_missed(answer: Answer) -> Iterator[Facts]:
    if answer.asked is None:
        return
    for limit, share in answer.met.items():
        if share < answer.asked and limit != FITS:  # which is told apart
            yield {"limit": limit, "share": share, "asked": answer.asked}


def _limit_doubtful(answer: Answer) -> Iterator[Facts]:
    if answer.asked is not None:
        return
    for limit, share in answer.met.items():
        if share < USUAL and limit != FITS:
            yield {"limit": limit, "share": share}


def _slower(answer: Answer) -> Iterator[Facts]:
    speedup = answer.recommended.number("speedup")
    if speedup < AS_FAST:
        yield {"speedup": speedup}


def _for_nothing(answer: Answer) -> Iterator[Facts]:
    if answer.idle_gain >= answer.recommended.number("speedup"):
        yield {"settings": answer.settings}


# Of prices.


def _turns(answer: Answer) -> Iterator[Facts]:
    """Of each part of the recommended purchase, the nearest price that turns the answer."""
    own = [turn for turn in answer.turns if turn.own]
    for name in dict.fromkeys(turn.part for turn in own):
        yield min((turn for turn in own if turn.part == name), key=lambda one: one.distance).facts


def _rival_turns(answer: Answer) -> Iterator[Facts]:
    """Of the prices of other purchases, the nearest one that turns the answer."""
    others = [turn for turn in answer.turns if not turn.own]
    if others:
        yield min(others, key=lambda one: one.distance).facts


def _large(bill: Sequence[Item], least: float) -> Iterator[tuple[Item, float]]:
    """Items of a bill that are at least such a share of its sum, with that share."""
    whole = sum(item.usd or 0.0 for item in bill)
    for item in bill:
        share = (item.usd or 0.0) / whole if whole else 0.0
        if share >= least:
            yield item, share


def _expired(answer: Answer) -> Iterator[Facts]:
    for item in answer.recommended.bill:
        if item.terms and item.terms.expired:
            until = item.terms.valid_until or item.price_date
            yield {"part": item.item, "source": item.source, "until": until}


def _stale(answer: Answer) -> Iterator[Facts]:
    """Items of some weight whose price is none of today."""
    for item, share in _told_alone(answer, NOTED):
        if item.stale and item.obstacle != UNSOLD:  # whose seller is asked for first
            age = item.age_years
            why = "without a date" if age is None else f"{age:.1f} years old"
            yield _priced(item, share, why)


def _doubtful(answer: Answer) -> Iterator[Facts]:
    """Large items whose price is of today and no offer, or was not checked."""
    for item, share in _told_alone(answer, LARGE):
        if item.asked_anew and not item.stale:
            yield _priced(item, share, "a list price" if item.checked else "unchecked")


def _told_alone(answer: Answer, least: float) -> Iterator[tuple[Item, float]]:
    """Items that are such a share of the recommended bill, unless their price turns the answer,
    which is told instead."""
    told = {turn.part for turn in answer.turns}
    for item, share in _large(answer.recommended.bill, least):
        if not any(part in item.item for part in told):  # bills say the maker, too
            yield item, share


def _priced(item: Item, share: float, why: str) -> Facts:
    return {"part": item.item, "share": share, "usd": item.unit_usd or 0.0, "unit": item.unit,
            "why": why}  # fmt: skip


def _free(answer: Answer) -> Iterator[Facts]:
    """That parts which are ordered cost nothing, though they do not stand there."""
    for item in answer.recommended.bill:
        if item.usd == 0 and item.to_buy and item.own and item.source:
            yield {"part": item.item, "source": item.source}


def _obstacle(kind: str) -> Finder:
    """Finds items that something stands in the way of."""

    def finder(answer: Answer) -> Iterator[Facts]:
        for item in answer.recommended.bill:
            if item.obstacle == kind:
                yield {"part": item.item, "why": item.remark or ""}

    return finder


def _implausible(problem: Problem) -> Iterator[Facts]:
    """Prices of one's own that lie far from the catalogue's, bought or not."""
    for fact in prices_of(problem):
        if why := implausible(fact):
            yield {"part": part(fact.name), "why": why}


def _idle(answer: Answer) -> Iterator[Facts]:
    for item in answer.recommended.bill:
        if item.idle:
            yield {"idle": item.idle, "bought": item.quantity, "part": item.item}


def _committed(answer: Answer) -> Iterator[Facts]:
    """What is paid over all terms that the run needs, whatever it is charged."""
    for item in answer.recommended.bill:
        rent = item.rent
        if rent is not None and rent.committed_hours and item.unit_usd:
            terms = math.ceil((rent.hours or 0.0) / rent.committed_hours * (1 - ROUNDING)) or 1
            hours = terms * rent.committed_hours
            yield {"usd": hours * item.unit_usd * item.quantity, "term": rent.term}
            return


def _other_terms(problem: Problem) -> Iterator[Facts]:
    wanted = [rental.study.term for rental in problem.rentals]
    for terms, names in for_other_terms(problem).items():
        yield {"machines": enumerated(names), "terms": enumerated(list(terms)),
               "term": enumerated(wanted)}  # fmt: skip


def _past_offers(problem: Problem) -> Iterator[Facts]:
    """Offers past their last day that a search may choose by; those that are bought block."""
    past = [fact for fact in prices_of(problem) if problem.prices.lapsed(fact)]
    if past:
        yield {"count": len(past), "part": past[0].name}


def _rent_classes(problem: Problem) -> Iterator[Facts]:
    """Machines whose rent is that of another class of sellers than the study compares."""
    study, prices = problem.study, problem.prices
    if RENT not in facts_of(objective.name for objective in study.objectives):
        return
    others: dict[str, list[str]] = {}
    for row in hardware.machines_of(study, prices):
        fact = row.rent.fact
        kind = "" if fact is None or catalog.own(fact) else catalog.class_of(fact)
        if kind not in ("", prices.rent_class):
            others.setdefault(kind, []).append((row.node or row.accelerator).title)
    for kind, titles in others.items():
        yield {"machines": enumerated(titles), "kind": kind, "usual": prices.rent_class}


def _left_out(problem: Problem) -> Iterator[Facts]:
    """Machines that no point may have, since they are no longer sold new."""
    study, prices = problem.study, problem.prices
    rows = hardware.machines_of(study, prices)
    if market.buys_new(study, prices):
        old = [(row.node or row.accelerator).title for row in rows if row.sold_until]
        yield {"machines": ", ".join(old)}


def _same_price(problem: Problem) -> Iterator[Facts]:
    """That links of several speeds cost what the links of one fabric do."""
    study = problem.study
    if PURCHASE not in facts_of(objective.name for objective in study.objectives):
        return
    for link in study.values("inter_node"):
        if not isinstance(link, Wire) or link.fabric is None:
            continue
        own = None not in (link.nic_usd, link.switch_port_usd, link.cable_usd)
        if not own and link.bytes_per_s != catalog.fabric(link.fabric).bytes_per_s:
            yield {"link": link.label, "fabric": catalog.fabric(link.fabric).title}


# Of how sure the speed is.


def _unmeasured(answer: Answer) -> Iterator[Facts]:
    """That communication is a good part of the step and was not measured on such machines."""
    if not answer.problem.step_model.measurable:
        return
    best = answer.recommended
    share = best.number("comm") / best.number("step")
    far = int(scalar(best.evaluation.grade)) > Grade.NEAR
    if far and share >= COMMUNICATING and best.number("gpus") > 1:
        yield {"share": share}


def _decisive(answer: Answer, kind: str) -> Iterator[Facts]:
    """The largest source of doubt if it is of a kind and its share of the expected regret is large.
    That share stands in for what measuring it is worth."""
    doubt = answer.doubt
    if doubt is not None and doubt.share * doubt.regret >= DECIDES:
        of, _, by = doubt.source.partition(": ")
        if of == kind:
            yield {"share": min(doubt.share, 1.0), "by": by}


def _rate_decides(answer: Answer) -> Iterator[Facts]:
    """That the training rate is the largest doubt and the user did not measure it."""
    by_others = (anchors.PUBLISHED, anchors.ALIKE)
    if answer.recommended.computing in by_others:
        yield from _decisive(answer, COMPUTING)


def _communication_decides(answer: Answer) -> Iterator[Facts]:
    """That communication is the largest doubt and was not measured, unless its share of the step
    says so."""
    if not [*_unmeasured(answer)]:
        grade = int(scalar(answer.recommended.evaluation.grade))
        yield from _decisive(answer, COMMUNICATION) if grade > Grade.INSIDE else ()


def _untimed(answer: Answer) -> Iterator[Facts]:
    found = dict[str, Facts]()
    for at, (problem, points) in enumerate(answer.each):
        known = problem.computing_known(points) if at else answer.recommended.computing
        chip = points.machines[0].accelerator
        what = {
            anchors.NOBODY: f"{_title(problem)} on such machines",
            anchors.OWN_CODE: "your code",
            anchors.UNSEEN: chip.title if chip.compute_capability else chip.maker,  # CUDA is timed
        }
        found |= {what[known]: {"what": what[known]}} if known in what else {}
    yield from found.values()


def _extrapolated(answer: Answer) -> Iterator[Facts]:
    named = (("recommended", answer.recommended), ("baseline", answer.baseline))
    for whose, side in named:
        if side.extrapolated:
            yield {"whose": whose, "batch": side.number("global_batch")}


def _guided(answer: Answer) -> Iterator[Facts]:
    if 0 < answer.priced != answer.space:
        yield {"priced": answer.priced}


def _of_batches(answer: Answer) -> Iterator[Facts]:
    """That a speedup between batches of different sizes is per sample."""
    mine, theirs = (side.number("global_batch") for side in (answer.recommended, answer.baseline))
    if answer.problem.study.target is None and mine != theirs:
        yield {"mine": mine, "theirs": theirs}


# Of the study and its measurements.


def _unused_profiles(problem: Problem) -> Iterator[Facts]:
    study = problem.study
    if problem.step_model.measurable:
        for name, why in unused(problem).items():
            yield {"profile": problem.profiles[name].name, "why": why}
    else:
        for name in study.calibration:
            yield {"profile": name, "why": f"model {study.model} uses no measurements"}


def _contradicting_rates(problem: Problem) -> Iterator[Facts]:
    if problem.study.efficiency.compute is not None:
        return
    own = throughput.own_rates(problem.profiles.values())
    for rows in throughput.by_configuration(own).values():
        if throughput.contradict(rows):
            rates = sorted(row.samples_per_s for row in rows)
            yield {"low": rates[0], "high": rates[-1], "accelerator": rows[0].accelerator}


def _not_of_nccl(problem: Problem) -> Iterator[Facts]:
    for name in problem.study.aggregations:
        known = name.algorithm in NCCL_ALGORITHMS or name.algorithm not in ALGORITHMS
        if name.transport.startswith("nccl") and not known:
            yield {"aggregation": str(name)}


def _approaches_elsewhere(problem: Problem) -> Iterator[Facts]:
    """Approaches whose share of the link was fitted on another fabric than the study's."""
    if not problem.several_nodes or not problem.step_model.measurable:
        return
    links = [str(link) for link in problem.study.values("inter_node")]
    for name in problem.study.aggregations:
        facts = problem.aggregation(name).approach
        if facts is not None and facts.fitted_on and any(link != facts.fitted_on for link in links):
            yield {"approach": facts.name, "fabric": facts.fitted_on}


def _shared_cards(problem: Problem) -> Iterator[Facts]:
    """That the accelerators of a node share a card, where such machines are sold with more."""
    study = problem.study
    chosen = {axis.name for axis in study.axes} | {one.axis for one in study.conditions}
    if not problem.several_nodes or chosen & {"nics_per_node", "node"}:
        return
    for node in map(catalog.node, catalog.names("nodes")):
        listed = study.has("accelerator", node.accelerator)
        if listed and node.accelerators in problem.ranks_per_node and (node.nics or 1) > 1:
            yield {"count": node.accelerators, "accelerator": node.accelerator,
                   "nics": node.nics or 1}  # fmt: skip
            return


def _embeddings(problem: Problem) -> Iterator[Facts]:
    if problem.workload.embedding_params:
        yield {"bytes": 4.0 * problem.workload.embedding_params}


def _owned_unused(problem: Problem) -> Iterator[Facts]:
    for title in stock.unused(problem.study, problem.standing):
        yield {"title": title}


OF_ANSWER = (
    Row("memory ignored", _memory_ignored, 100, True,
        "Memory is ignored: each accelerator lacks {lacking:B}.",
        "Lay the model out over more memory, or drop memory: ignore"),
    Row("may not fit", _may_not_fit, 97, True,
        "Memory may not hold {workload}, with a probability of {risk:%}.",
        "Train one step of it, or demand out_of_memory <= {most:%}"),
    Row("for nothing", _for_nothing, 94, True,
        "With {settings} they are as fast.",
        "Use the baseline's machines first"),
    Row("price of zero", _free, 92, True,
        "{source} says that it costs nothing.", "Confirm the price of {part}"),
    Row("offer expired", _expired, 90, True,
        "The offer in {source} ended on {until}.", "Get a new offer for {part}"),
    Row("limit missed", _limit_missed, 88, True,
        "It holds in {share:%} of outcomes, not {asked:%}.", "Loosen {limit}"),
    Row("price turns the answer", _turns, 86, True,
        "{instead} wins {side} {at:{unit}}.", "Get a quote for the {part}"),
    Row("rival's price turns the answer", _rival_turns, 84, True,
        "It wins {side} {at:{unit}}.", "Get a quote for the {part}"),
    Row("training rate decides", _rate_decides, 82, True,
        "It is behind {share:%} of what is not known.",
        "Measure the training rate on one such machine"),
    Row("communication decides", _communication_decides, 80, True,
        "It is behind {share:%} of what is not known.",
        "Measure communication by {by} on such machines"),
    Row("limit doubtful", _limit_doubtful, 78, True,
        "{limit} holds in {share:%}.", "Run it with --confidence 90%"),
    Row("not sold", _obstacle(UNSOLD), 76, True, "{why}.", "Find a seller of {part}"),
    Row("rack", _obstacle(RACK), 74, True, "{why}.", "Plan racks that feed such a node"),
    Row("network too large", _obstacle(TIERS), 74, True, "{why}.", "Get a design of the network"),
    Row("servers unsaid", _obstacle(UNSAID), 72, True,
        "Nobody said so; it is assumed.", "Ask whether the price of {part} includes servers"),
    Row("communication unmeasured", _unmeasured, 70, True,
        "It takes {share:%} of a step, unmeasured.",
        "Measure communication on two such machines"),
    Row("computing untimed", _untimed, 83, True,
        "No training rate of {what} is known, and one removes the doubt.", "Time one step on one"),
    Row("idle", _idle, 66, True,
        "{idle:n} of the {bought:n} stay idle: fewer are not sold.", "Fill the nodes"),
    Row("slower than the baseline", _slower, 60, False,
        "This is slower than the baseline: {speedup:x}.", "Demand speedup >= 1"),
    Row("price old", _stale, 61, True,
        "{share:%} of the sum rests on {usd:{unit}} for it, {why}.", "Get a quote for the {part}"),
    Row("price doubtful", _doubtful, 58, False,
        "{share:%} of the sum rests on {usd:{unit}} for it, {why}.", "Get a quote for the {part}"),
    Row("run extrapolated", _extrapolated, 48, False,
        "No run to the target was observed at a batch of {batch:n} ({whose})."),
    Row("speedup per sample", _of_batches, 46, False,
        "Speedup is per sample: a step takes {mine:n}, the baseline's {theirs:n}.",
        "Give a target to compare whole runs"),
    Row("guided", _guided, 44, False, "The search priced {priced:n} points; others may be better."),
    Row("commitment", _committed, 40, False, "The {term} term commits to {usd:USD}."),
)  # fmt: skip
OF_STUDY = (
    Row("memory unknown", _memory_unknown, 98, True,
        "Memory was not judged: nobody knows the activations of {workload}.",
        "Train one step of it on one accelerator"),
    Row("price implausible", _implausible, 91, True, "{why}.", "Check the price of {part}"),
    Row("rent for another term", _other_terms, 62, False,
        "Your rent of {machines} is for {terms} alone, not {term}: it is not used."),
    Row("rates contradict", _contradicting_rates, 56, False,
        "Your rates on {accelerator} contradict one another: {low:samples/s} and {high:samples/s}.",
        "Remove one"),
    Row("owned hardware unused", _owned_unused, 42, False,
        "No point can use what is owned: {title}."),
    Row("offers past", _past_offers, 38, False,
        "{count:n} offers are past their last day, that for {part} among them."),
    Row("rents of several classes", _rent_classes, 36, False,
        "{machines}: the rent is of a {kind}, all others of a {usual}."),
    Row("links priced alike", _same_price, 34, False,
        "{link} is priced as {fabric}.", "Give nic, switch_port and cable of each speed"),
    Row("profile unused", _unused_profiles, 32, False, "Profile {profile} prices nothing: {why}."),
    Row("cards shared", _shared_cards, 28, False,
        "{count:n} {accelerator} of a node share one network card; such machines have {nics:n}."),
    Row("fitted elsewhere", _approaches_elsewhere, 26, False,
        "{approach} was fitted on {fabric} and is assumed on other links."),
    Row("embedding tables", _embeddings, 24, False,
        "Embedding tables of {bytes:B} are in no accelerator's memory."),
    Row("not of NCCL", _not_of_nccl, 23, False,
        "NCCL has no {aggregation}: somebody would have to write it."),
    Row("left out", _left_out, 20, False, "No longer sold new, so left out: {machines}."),
)  # fmt: skip
ROWS = (*OF_ANSWER, *OF_STUDY)
BY_NAME: Mapping[str, Row] = {row.name: row for row in ROWS}
