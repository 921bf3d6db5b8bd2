"""What a study takes from profiles besides allreduce: parameter servers, and compute efficiency."""

from __future__ import annotations

from collections.abc import Iterator

from dse import catalog
from dse.catalog import Accelerator
from dse.model.step import PARAMETER_SERVER
from dse.pricing.efficiency import DEFAULT_EFFICIENCY, Reached, measured
from dse.pricing.problem import Problem


def server_note(problem: Problem, transport: str) -> str:
    """Where the price of parameter servers over a transport comes from; empty if not measured."""
    known = problem.factory.candidates(PARAMETER_SERVER, transport)
    names = [profile.name for profile in known if transport in profile.ps]
    if not names:
        return ""
    return f"parameter servers as measured by {_profiles(names)}, wire from the catalogue"


def _profiles(names: list[str]) -> str:
    return f"profile{'s' * (len(names) > 1)} {', '.join(names)}"


def server_assumptions(problem: Problem, transports: list[str]) -> Iterator[str]:
    """What the price of measured parameter servers rests on, a sentence or two per profile."""
    for transport in transports:
        for profile in problem.factory.candidates(PARAMETER_SERVER, transport):
            part = profile.ps.get(transport)
            if part is None:
                continue
            where = (
                "with a machine for each worker and server"
                if part.cores is None
                else f"with all processes on one machine of {part.cores:g} cores"
            )
            yield (
                f"Parameter servers over {transport} were measured {where} (profile "
                f"{profile.name}). Here each has a machine of its own, as fast as the one "
                "measured; a process is assumed to do half of the work of its messages, on one "
                "core."
            )


def efficiency_lines(problem: Problem) -> Iterator[str]:
    """What share of the peaks training is taken to reach, and how that is known."""
    study = problem.study
    if study.efficiency.compute is not None and study.efficiency.memory is not None:
        return
    found = list(_measured(problem)) if study.efficiency.compute is None else []
    rest = " unless stated otherwise" if found else ""
    yield (
        f"Training is assumed to reach {DEFAULT_EFFICIENCY:.0%} of an accelerator's peak "
        f"arithmetic and memory bandwidth{rest} (Wang et al., IISWC 2019; unverified). "
        "Set efficiency: in the study to change it."
    )
    for device, precision, share in found:
        yield (
            f"{device.name} reaches {share.share:.0%} of its {precision} peak in arithmetic: "
            f"measured in large matrix products, {share.low:.0%} to {share.high:.0%} (profile "
            f"{share.profile})."
        )


def _measured(problem: Problem) -> Iterator[tuple[Accelerator, str, Reached]]:
    """Every accelerator and precision of the study whose products were timed."""
    names = [str(name) for name in problem.study.values("accelerator")]
    names += [catalog.node(str(name)).accelerator for name in problem.study.values("node")]
    precisions = [str(name) for name in problem.study.values("precision")] or ["fp32"]
    for name in dict.fromkeys(names):
        device = catalog.accelerator(name)
        for precision in dict.fromkeys(precisions):
            share = measured(problem.profiles.values(), device, precision)
            if share is not None:
                yield device, precision, share
