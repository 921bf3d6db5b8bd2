"""What a study takes from profiles of parameter servers."""

from __future__ import annotations

from collections.abc import Iterator

from dse.model.step import PARAMETER_SERVER
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
