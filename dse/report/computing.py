"""What the seconds of both passes rest on: laws of products, software, published training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dse import catalog
from dse.catalog import Accelerator
from dse.catalog.computing import OTHER
from dse.pricing.devices import USUAL_STACK
from dse.pricing.efficiency import DEFAULT_EFFICIENCY, Reached, measured
from dse.pricing.hardware import accelerators_of
from dse.pricing.problem import Problem
from dse.report import own_rates
from dse.report.words import STACK
from dse.study import Value


def computing_lines(
    problem: Problem, recommended: Mapping[str, Value | None] | None = None
) -> Iterator[str]:
    """A sentence or two each. recommended: the values of the recommended point."""
    study = problem.study
    if study.efficiency.compute is not None or not problem.step_model.measurable:
        reached = study.efficiency.compute or DEFAULT_EFFICIENCY
        source = "as the study says" if study.efficiency.compute else "by the model"
        yield (
            f"Matrix products are taken to reach {reached:.0%} of an accelerator's peak, {source}; "
            "memory traffic comes on top."
        )
        return
    yield (
        "Matrix products take what timed products of each generation of accelerators say. Memory "
        f"traffic comes on top, and published training rates of {_family(problem)} correct the sum "
        "(docs/compute.md)."
    )
    if study.axis(STACK) in study.defaults:
        title = catalog.computing().stacks[USUAL_STACK].title
        yield (
            f"The training software is assumed to be {title} (stack: {USUAL_STACK}). Ordinary code "
            "is slower (plain), code as tuned as submissions to MLPerf faster (tuned)."
        )
    without = [device.title for device, _ in _used(problem) if _law(device, "bf16") == OTHER]
    if without:
        yield (
            f"No timed products of {', '.join(dict.fromkeys(without))} are known: a law "
            "between those of other accelerators stands in, and intervals are wider."
        )
    if own := own_rates.said(problem, recommended, "the recommended configuration"):
        yield f"{own}."
    for device, precision, share in _measured(problem):
        yield (
            f"{device.name} reaches {share.share:.0%} of its {precision} peak in arithmetic: "
            f"measured in large matrix products, {share.low:.0%} to {share.high:.0%} (profile "
            f"{share.profile})."
        )


def software_lines(problem: Problem, recommended: Mapping[str, Value | None]) -> list[str]:
    """Which software the recommended point and the baseline are assumed to run, where the study
    names some. recommended: its values."""
    study, stacks = problem.study, catalog.computing().stacks
    if study.axis(STACK) in study.defaults or not problem.step_model.measurable:
        return []
    mine, theirs = (
        str(values.get(STACK) or USUAL_STACK) for values in (recommended, study.baseline.values)
    )
    first = " (not given, so the first of the axis)" * (STACK in study.baseline.assumed)
    if mine == theirs:
        return [
            "Recommended point and baseline are both assumed to train with "
            f"{stacks[mine].title} (stack: {mine})."
        ]
    return [
        f"The recommended point is assumed to train with {stacks[mine].title} (stack: {mine}), the "
        f"baseline with {stacks[theirs].title} (stack: {theirs}){first}."
    ]


def _family(problem: Problem) -> str:
    """Of the workload, in words."""
    family = problem.workload.family
    return "all kinds of networks" if family == "other" else f"{family} networks"


def _law(device: Accelerator, precision: str) -> str:
    return catalog.computing().law(device, precision).generation


def _used(problem: Problem) -> Iterator[tuple[Accelerator, str]]:
    """Every accelerator and precision of the study."""
    precisions = [str(name) for name in problem.study.values("precision")] or ["fp32"]
    for name in accelerators_of(problem.study):
        for precision in dict.fromkeys(precisions):
            yield catalog.accelerator(name), precision


def _measured(problem: Problem) -> Iterator[tuple[Accelerator, str, Reached]]:
    """Those whose products were timed."""
    for device, precision in _used(problem):
        share = measured(problem.profiles.values(), device, precision)
        if share is not None:
            yield device, precision, share
