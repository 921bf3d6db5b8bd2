"""What the PAI paper published beside a fleet, and dse's own model: rows, notes, text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dse.report.fleet_ranges import times
from dse.report.words import percent

if TYPE_CHECKING:
    from dse.fleet.document import FleetDocument, PaperFact

ROLES = {
    "identity": "Facts marked identity follow exactly from the equations on the paper's hardware, "
    "so their agreement is no evidence.",
    "fitted": "Facts marked fitted were used to set the model or the populations that come with "
    "dse, or follow from those that were, so their agreement is no evidence either.",
    "assumed": "Facts marked assumed depend on unverified values and count neither as agreement "
    "nor as failure.",
    "": "These jobs are not the paper's population on its hardware, so facts without a role are "
    "not expected to agree.",
}
AGREES = {True: "yes", False: "NO", None: ""}


def value(number: float | str | None) -> str:
    """A published or computed number as text."""
    if number is None:
        return ""
    return number if isinstance(number, str) else f"{number:.4g}"


def span(fact: PaperFact) -> str:
    """What agrees with a published number; empty for a name."""
    if fact.low is None:
        return ""
    return f"{fact.low:g} to {fact.high:g}"


def fact_rows(document: FleetDocument) -> list[Sequence[str]]:
    """Fact, published, computed, agrees from .. to .., role, whether it does, source, why."""
    return [
        (fact.fact, value(fact.published), value(fact.computed), span(fact), fact.role,
         AGREES[fact.ok], fact.source, fact.why)
        for fact in document.facts or ()
    ]  # fmt: skip


def assumption_rows(document: FleetDocument) -> list[Sequence[str]]:
    """Assumption, jobs that gain, speedup."""
    return [
        (row.assumption, "" if row.gain is None else percent(row.gain),
         "" if row.speedup is None else times(row.speedup))
        for row in document.assumptions or ()
    ]  # fmt: skip


def model_rows(document: FleetDocument) -> list[Sequence[str]]:
    """Model, share of communication, speedup, jobs that gain."""
    return [
        (row.model, percent(row.communication), times(row.speedup), percent(row.gain))
        for row in document.models or ()
    ]


def model_notes(document: FleetDocument) -> list[str]:
    """Which costs the rows of dse's own model have, and how many jobs lie beyond what was measured.

    Empty without such rows.
    """
    if not document.models:
        return []
    far = [row.extrapolated for row in document.models if row.extrapolated is not None]
    if not far:
        return [
            "The costs of gRPC and NCCL come from the catalogue, most of them unverified. To use "
            "measured costs, name profiles under calibration: in the study."
        ]
    return [
        "Costs come from the catalogue, most of them unverified, except in the rows that say "
        "measured.",
        *measured_notes(document),
        f"In those rows {' and '.join(dict.fromkeys(map(percent, far)))} of the jobs lie outside "
        "the measured range.",
    ]


def measured_notes(document: FleetDocument) -> list[str]:
    """What measured costs stand for, a sentence for each part that a profile has."""
    notes = []
    for row in document.profiles:
        if row.device is None:
            notes.append(
                f"{row.part}: measured by {row.profile}, with one machine per process. Outside its "
                "range are other numbers of workers or servers, other sizes, another or an unknown "
                "link speed, and processes that shared a machine."
            )
        else:
            notes.append(
                f"{row.part}: measured by {row.profile} on {row.device} and the links between "
                "them, whatever GPU and NVLink the study has. Outside its range are other numbers "
                "of GPUs, other sizes, and times that the study's NVLink could not reach."
            )
    return notes


def fact_notes(document: FleetDocument) -> list[str]:
    """What the roles that occur mean, one sentence each; and that memory is left aside."""
    roles = {fact.role for fact in document.facts or ()}
    notes = [sentence for role, sentence in ROLES.items() if role in roles]
    if roles and document.hardware.gpu_memory_bytes is not None:
        notes.append(
            "Facts and models ignore memory, as the paper does: a job that cannot move because its "
            "state does not fit counts here as if it could."
        )
    return notes


def fact_lines(document: FleetDocument) -> Iterator[str]:
    """Both tables, aligned."""
    yield "What the Alibaba-PAI paper published, compared with this population"
    heads = ("fact", "published", "here", "agrees within", "role", "agrees")
    yield from aligned([heads, *(row[:6] for row in fact_rows(document))])
    yield from fact_notes(document)
    rows = assumption_rows(document)
    if rows:
        yield ""
        yield "PS/Worker jobs on their own base hardware, under other assumptions"
        yield from aligned([("assumption", "gain from AllReduce-Local", "to 100 Gbps"), *rows])
    rows = model_rows(document)
    if rows:
        yield ""
        yield "The same PS/Worker jobs in dse's own model, adding one effect at a time"
        titles = ("model", "communication", "to 100 Gbps", "gain from AllReduce-Local")
        yield from aligned([titles, *rows])
        yield from model_notes(document)


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as their widest cell."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(
            f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)
        ).rstrip()
