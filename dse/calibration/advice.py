"""The suggested runs for the eye (rich) and for programs (--json)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dse.calibration.profile import Profile
from dse.calibration.suggest import TARGET, Advice
from dse.calibration.words import percent, size_text, time_text

if TYPE_CHECKING:
    from rich.console import Console


def show_advice(profile: Profile, advice: Advice, budget_s: float, out: Console) -> None:
    """Print what is known, what to run next, and what that would give."""
    from rich.table import Table

    how = f"{advice.good_now} of {advice.demanded} points that the study needs are measured to "
    out.print(f"{how}{percent(TARGET)} or better; the median is {percent(advice.width_now)}, "
              f"the worst {percent(advice.worst_now)}", highlight=False)  # fmt: skip
    if advice.enough:
        out.print("Enough is measured: every point lies inside the range.")
        return
    if advice.runs:
        table = Table(title=f"next runs of {profile.name}, best first")
        table.add_column("algorithm")
        for column in ("ranks", "per node", "bytes", "cost", "narrows by"):
            table.add_column(column, justify="right")
        for run in advice.runs:
            table.add_row(
                run.algorithm, f"{run.ranks:,}", f"{run.ranks_per_node:,}", size_text(run.bytes),
                time_text(run.cost_s), percent(run.narrows / advice.demanded),
            )  # fmt: skip
        out.print(table)
        out.print(
            f"In {time_text(advice.cost_s)} they would give {advice.good_then} of "
            f"{advice.demanded} points to {percent(TARGET)} or better; median "
            f"{percent(advice.width_then)}, worst {percent(advice.worst_then)}", highlight=False
        )  # fmt: skip
        spent = f"{time_text(advice.cost_s)} of the {time_text(budget_s)} allowed"
        out.print(f"They end after {spent}: {advice.stopped.value}", highlight=False)
    else:
        out.print(f"No run is suggested: {advice.stopped.value}", highlight=False)
    for note in notes(advice):
        out.print(note, highlight=False)


def notes(advice: Advice) -> list[str]:
    """What no run within reach can change."""
    found = []
    if advice.unpriced:
        many = f"{advice.unpriced} more point{'s' * (advice.unpriced > 1)} of the study"
        found.append(
            f"{many} cannot be priced, so that no run is judged by them: {advice.why_unpriced}. "
            "Measure one such layout first"
        )
    if advice.beyond:
        reach = advice.reach
        nodes = f"{reach.nodes:,} node{'s' * (reach.nodes > 1)}"
        local = f"{reach.ranks_per_node:,} rank{'s' * (reach.ranks_per_node > 1)} on a node"
        found.append(
            f"{advice.beyond} points need more than {reach.ranks:,} ranks, {nodes} or {local}: "
            "runs nearer narrow them, none measures them; "
            "--max-ranks, --max-nodes and --max-ranks-per-node say what can be run"
        )
    if advice.unreachable:
        found.append(
            f"{', '.join(advice.unreachable)}: never measured, predicted from the steps of the "
            "others; no run is suggested for them"
        )
    return found


def advice_data(advice: Advice) -> dict[str, Any]:
    """Plain values for --json."""
    return {
        **asdict(advice),
        "stopped": advice.stopped.value,
        "enough": advice.enough,
        "cost_s": advice.cost_s,
        "target": TARGET,
        "notes": notes(advice),
    }
