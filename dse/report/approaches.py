"""What the report and `dse explain` say of points aggregated by an approach of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from dse import catalog
from dse.catalog import Fact
from dse.pricing.problem import Problem
from dse.report.design_point import ApproachTerms
from dse.report.document import TransportRow
from dse.study import AggregationName

_MS, _US, _MIB = 1e3, 1e6, 2.0**20


def used_approaches(problem: Problem) -> list[catalog.Approach]:
    """Approaches among the study's aggregations and the baseline's, each once."""
    names = [*problem.study.aggregations, problem.study.baseline.values["aggregation"]]
    return [
        catalog.approach(name.approach)
        for name in dict.fromkeys(names)
        if isinstance(name, AggregationName) and name.approach
    ]


def transports(problem: Problem) -> Iterator[TransportRow]:
    """A row for each, as :func:`dse.report.provenance.transports` has them."""
    for facts in used_approaches(problem):
        note = f"from the catalogue, not measured; {_checked(facts)}"
        yield TransportRow(name=facts.name, title=facts.title, calibrated=False, note=note)


def sources(problem: Problem) -> Iterator[tuple[str, tuple[Fact, ...]]]:
    """The facts of each approach."""
    for facts in used_approaches(problem):
        yield f"approach {facts.name}", facts.facts


def lines(known: ApproachTerms, step_s: float) -> list[str]:
    """The terms of one point's approach."""
    cost = f"{known.message_s * _US:g} us per message, {known.link_efficiency:.1%} of the link"
    out = [f"approach         {known.title}", f"                 {cost}"]
    queries, adding, fusion = known.queries, known.sum, known.fusion
    if queries.per_message:
        queried = f"{queries.per_message:g} driver queries per message, {queries.query_s * _US:g}"
        out.append(f"  {queried} us each{_without(queries.without_step_s, step_s)}")
    if adding.s_per_byte or adding.start_s:
        speed = 1e-9 / adding.s_per_byte if adding.s_per_byte else float("inf")
        rate = f"{speed:.4g} GB/s{' with the copies there and back' * adding.copied}"
        summed = f"sums on the {adding.where}: {rate}, {adding.start_s * _US:g} us to start"
        out.append(f"  {summed}{_without(adding.without_step_s, step_s)}")
    else:
        out.append(f"  sums {adding.where}")
    if fusion is not None:
        buffer = f"{fusion.buffer_bytes / _MIB:g} MiB"
        out.append(f"  tensors fused up to {buffer}, every {fusion.cycle_s * _MS:g} ms at most")
    if known.unverified:
        out.append(f"  unverified: {', '.join(known.unverified)}")
    return out


def _without(without_s: float | None, step_s: float) -> str:
    """What a term adds to the step."""
    if without_s is None:
        return ""
    return f"; the step would take {(step_s - without_s) * _MS:.3f} ms less without"


def _checked(facts: catalog.Approach) -> str:
    unverified = sum(fact.status == "unverified" for fact in facts.facts)
    return f"{unverified} of {len(facts.facts)} parameters unverified"
