"""Several workloads that share one cluster: ``mix`` in a study."""

from __future__ import annotations

from collections.abc import Iterable

from dse.mistakes import each
from dse.study.axes import HARDWARE
from dse.study.cursor import Cursor
from dse.study.definition import Axis, Constraint, Objective
from dse.study.quantities import COSTS
from dse.yaml_source import Source

MIX, WORKLOAD = "mix", "workload"
_EXAMPLE = "write mix: {llama3-8b: 60 %, bert-large-s512: 40 %}"
# What hardware decides, and the speedup of all.
_OF_CLUSTER = {"speedup", "goodput", "nodes", "racks", *HARDWARE, *(row.name for row in COSTS)}
_ROUNDING = 1e-6  # of a sum of shares


def with_workload(source: Source, name: str = "") -> Source:
    """A study of a mix as one of a workload of it, by default of the first, whose details its
    report shows."""
    data = source.data
    if name:
        return source.chosen(MIX, name, WORKLOAD)
    if not isinstance(data, dict) or MIX not in data:
        return source
    if WORKLOAD in data:
        raise source.error((MIX,), "both workload and mix", "keep one of the two", key=True)
    if not isinstance(data[MIX], dict) or not data[MIX]:
        raise source.error((MIX,), "mix: no shares of workloads by their names", _EXAMPLE)
    return source.chosen(MIX, next(iter(data[MIX])), WORKLOAD)


def read_mix(at: Cursor) -> dict[str, float]:
    """The share of time of each workload on the baseline; they sum to 1."""
    names = at.given()
    shares = each(lambda name: at.at(name).quantity("share", 1.0), names)
    if abs(sum(shares) - 1) > _ROUNDING:
        problem = f"mix: the shares sum to {100 * sum(shares):.6g} %"
        raise at.wrong(problem, "write shares that sum to 100 %")
    return dict(zip(names, shares, strict=True))


def of_each(limit: Constraint) -> bool:
    """Whether each workload of a mix must keep a limit, since its software decides it."""
    names = limit.expression.names if limit.expression else ()
    return any(name not in _OF_CLUSTER for name in names)


def check_mix(top: Cursor, axes: Iterable[Axis], objectives: Iterable[Objective]) -> None:
    """Raise where a study of a mix asks for what a single workload has alone."""
    if not top.has(MIX):
        return
    for one in objectives:
        if one.name not in _OF_CLUSTER:
            problem = f"mix: {one.name} is of one workload"
            remedy = "maximize speedup and minimize a cost of the cluster"
            raise top.at("objectives", one.goal).wrong(problem, remedy)
    for axis in axes:
        if axis.continuous:
            problem = f"axis '{axis.name}' is continuous, and a mix is searched exhaustively"
            raise top.at("space", axis.name).wrong(problem, "list its values", key=True)
    asked = top.at("what_if").text() if top.has("what_if") else None
    if asked not in (None, *HARDWARE):
        problem = f"{asked} is chosen for each workload of a mix by itself"
        raise top.at("what_if").wrong(problem, "ask about an axis of the cluster, or give workload")
    if top.has("target"):
        remedy = "limit the speedup in place of a deadline, or give workload"
        raise top.at("target").wrong("target: a mix has no end", remedy, key=True)
