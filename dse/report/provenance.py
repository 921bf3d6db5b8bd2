"""Says who: the facts and transports behind a study's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields, replace

from dse import catalog
from dse.catalog import Citation, Fact
from dse.catalog.prices import GENERAL
from dse.catalog.stacks import layout_stacks
from dse.pricing import offers, profile_use, target
from dse.pricing.devices import USUAL_STACK
from dse.pricing.hardware import device
from dse.pricing.offers import part
from dse.pricing.problem import Problem
from dse.report import words
from dse.report.design_point import Point
from dse.report.document import RunDocument, TransportRow
from dse.report.front_columns import Column
from dse.study import AggregationName, Wire
from dse.study.axes import LAYOUT_STACKS, LINKS

FOREMOST = 20
_PRICES = ("prices.", "accelerators.")  # how facts begin that are prices
_RATES = ("memory_bandwidth", "intra_node_bandwidth", "bandwidth", "latency.")


def mentioned(problem: Problem, axis: str) -> list[str]:
    """Catalogue names an axis or the baseline mentions, each once."""
    study = problem.study
    values = [value for a in (*study.axes, *study.defaults) if a.name == axis for value in a.values]
    values += [value for name, value in study.baseline.values.items() if name == axis]
    return list(dict.fromkeys(str(v) for v in values if v is not None and not isinstance(v, Wire)))


def used_transports(problem: Problem) -> list[str]:
    """Transports of the study's aggregations; an approach brings its own."""
    names = [name.transport for name in problem.study.named_aggregations]
    return list(dict.fromkeys(filter(None, names)))


def used_approaches(problem: Problem) -> list[catalog.Approach]:
    """Approaches among the study's aggregations and the baseline's, each once."""
    names = [*problem.study.aggregations, problem.study.baseline.values["aggregation"]]
    return [
        catalog.approach(name.approach)
        for name in dict.fromkeys(names)
        if isinstance(name, AggregationName) and name.approach
    ]


def transports(problem: Problem) -> list[TransportRow]:
    """The transports of the study, and whether each is calibrated."""
    if not problem.step_model.measurable:
        note = f"model {problem.study.model} does not distinguish transports"
        return [TransportRow(name=name, title=catalog.transport(name).title, calibrated=False,
                             note=note) for name in used_transports(problem)]  # fmt: skip
    rows: list[TransportRow] = []
    if problem.study.laid_out and set(problem.study.values("stack")) <= {*LAYOUT_STACKS}:
        return rows  # layouts exchange in ways of their own
    for transport in used_transports(problem):
        used = [
            problem.aggregation(name)
            for name in problem.study.named_aggregations
            if name.transport == transport
        ]
        bare = any(profile_use.catalogue_taken(problem, one.name) for one in used)
        taken = [profile for one in used for profile in profile_use.taken(problem, one.name)]
        behind = [f"profile {name}" for name in dict.fromkeys(profile.name for profile in taken)]
        rules = dict.fromkeys(one.model.authority for one in used if one.model.authority)
        chosen = [f"the library's choice by {', '.join(rules)}"] * bool(rules)
        rows.append(TransportRow(
            name=transport, title=catalog.transport(transport).title,
            calibrated=bool(taken) and not bare, partly=bool(taken) and bare,
            note=", ".join([*behind, *["the catalogue"] * bare, *chosen]),
        ))  # fmt: skip
    for facts in used_approaches(problem):
        unverified = sum(fact.status == "unverified" for fact in facts.facts)
        checked = f"{unverified} of {len(facts.facts)} parameters unverified"
        note = f"from the catalogue, not measured; {checked}"
        rows.append(TransportRow(name=facts.name, title=facts.title, calibrated=False, note=note))
    return rows


def devices(problem: Problem) -> list[str]:
    """Accelerators of the study, those of its nodes included."""
    nodes = [catalog.node(name).accelerator for name in mentioned(problem, "node")]
    return list(dict.fromkeys([*mentioned(problem, "accelerator"), *nodes]))


OWN = "your prices"  # the item of what the user's price lists have


def own_prices(problem: Problem) -> list[Citation]:
    """The user's prices of what the study may choose, as they are written, with their terms."""
    facts = dict.fromkeys(
        fact for fact in offers.prices_of(problem)
        if fact.offer and fact.offer.file
    )  # fmt: skip
    return [_own_price(fact) for fact in facts]


def _own_price(fact: Fact) -> Citation:
    terms = fact.offer
    assert terms is not None
    said = [terms.file]
    said += [f"quotation {terms.quote}"] * bool(terms.quote)
    said += [f"valid until {terms.valid_until}"] * (terms.valid_until is not None)
    value = fact.text + f" ({terms.converted})" * bool(terms.converted)
    named = replace(fact, source=", ".join(said), text=value)
    return catalog.cite(OWN, named)


def sources(problem: Problem) -> list[Citation]:
    """Every catalogue fact behind the study, with where it is from and when it was read."""
    rows = own_prices(problem)

    def add(item: str, facts: Iterable[Fact]) -> None:
        rows.extend(catalog.cite(item, fact) for fact in facts)

    add(f"workload {problem.workload.name}", problem.workload.facts)
    if (usual := problem.usual_optimizer) is not None:
        add(f"workload {problem.workload.name}", [usual])
    if quality := target.quality_of(problem.study):
        add(f"quality {quality.name}", quality.facts)
    for name in mentioned(problem, "node"):
        add(f"node {name}", catalog.node(name).facts)
    for name in devices(problem):
        priced = ("prices.purchase", "prices.hourly")
        add(
            f"accelerator {name}",
            (f for f in device(name, problem.prices).facts if not f.name.startswith(priced)),
        )
        add(f"accelerator {name}", _prices_of(problem, name))
    for axis in LINKS:
        for name in mentioned(problem, axis):
            add(f"fabric {name}", catalog.fabric(name).facts)
    for name in used_transports(problem):
        add(f"transport {name}", catalog.transport(name).facts)
    for approach in used_approaches(problem):
        add(f"approach {approach.name}", approach.facts)
    for name in mentioned(problem, "stack") or [USUAL_STACK]:
        if name in layout_stacks():
            add(f"stack {name}", layout_stacks()[name].facts)
            continue
        add(f"memory, stack {name}", catalog.footprints()[name].facts)
        if problem.images_per_core_s(name) is not None:
            add(f"decoding, stack {name}", catalog.decoding().facts[name])
    if problem.study.target is not None and not problem.study.failures.ideal:
        add("failures", catalog.failure_terms().facts)
    add("power of links", link_watts(problem))
    add("spread of electricity, PUE and watts", catalog.power_spread().facts)
    general = (getattr(problem.prices, row.field) for row in GENERAL.values())
    add("prices", (fact for fact in general if not (fact.offer and fact.offer.file)))
    order = [*dict.fromkeys((row.source, row.url, row.accessed) for row in rows)]
    return sorted(rows, key=lambda row: order.index((row.source, row.url, row.accessed)))


def link_watts(problem: Problem) -> list[Fact]:
    """What cards, ports and optics of the networks between nodes draw."""
    names = mentioned(problem, "inter_node")
    names += [catalog.node(name).inter_node or "" for name in mentioned(problem, "node")]
    speeds = {catalog.fabric(name).bytes_per_s for name in names if name}
    speeds |= {value.bytes_per_s for value in problem.study.values("inter_node")
               if isinstance(value, Wire)}  # fmt: skip
    found = [catalog.link_power().behind(speed) for speed in sorted(filter(None, speeds))]
    return list(dict.fromkeys(fact for facts in found for fact in facts))


def _prices_of(problem: Problem, name: str) -> list[Fact]:
    found = (
        problem.prices.accelerator_usd.get(name),
        problem.prices.accelerator_hourly_usd.get(name),
    )
    return [fact for fact in found if fact is not None and not (fact.offer and fact.offer.file)]


def foremost(document: RunDocument) -> list[Citation]:
    """The inputs that matter most: prices and rates of the recommended point, then of the baseline,
    then what all points share. An address that is none of the web is left out."""
    return [
        replace(row, url=row.url if row.url.startswith(("https://", "http://")) else "",
                fact=part(row.fact) if row.item == OWN else row.fact)
        for row in sorted(document.sources, key=_order(document))[:FOREMOST]
    ]  # fmt: skip


def _order(document: RunDocument) -> Callable[[Citation], tuple[bool, int, bool]]:
    """What inputs are sorted by: whether it is neither price nor rate, how far it is from the
    answer, whether it is no price."""
    best, base = document.recommended, document.baseline
    ordered, owned = _parts_of(best), _parts_of(base)
    offered = {label for axis in document.axes for label in axis.values}
    peaks = {f"peak.{words.label(point, 'precision')}" for point in (best, base)}

    def order(row: Citation) -> tuple[bool, int, bool]:
        own = row.item == OWN
        name = part(row.fact).partition(" ")[0] if own else row.item.rpartition(" ")[2]
        price = own or row.item == "prices" or row.fact.startswith(_PRICES)
        counts = price or row.fact in peaks or row.fact.startswith(_RATES)
        chosen = name in offered or row.item.partition(" ")[0] in ("accelerator", "node", "fabric")
        far = 0 if name in ordered else 1 if name in owned else 3 if chosen else 2
        return not counts or far == 3, far, not price

    return order


def _parts_of(point: Point) -> set[str]:
    """What a point is made of, by name, the accelerators of its nodes included."""
    named = {words.label(point, axis) for axis in point.config}
    node = words.label(point, "node")
    return named | ({catalog.node(node).accelerator} if node else set())


def source_columns(document: RunDocument) -> list[Column]:
    """sources.csv: every fact behind the study."""
    return [
        Column(field.name, field.name, "", [getattr(row, field.name) for row in document.sources])
        for field in fields(Citation)
    ]
