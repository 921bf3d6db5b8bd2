"""``dse run``: search a study, write its report, print the answer."""

from __future__ import annotations

import time

from dse.commands.options import Json, Long, StudyPath, with_options
from dse.commands.progress import Printer
from dse.commands.terminal import command_line
from dse.plan import Listener, Plan, carried_out, plan_of
from dse.search_options import SearchOptions


@with_options
def run(study: StudyPath, options: SearchOptions, long: Long = False, json: Json = False) -> None:
    """Search a study and write its report."""
    from dse.pricing.load import load

    started = time.perf_counter()
    run_one(plan_of(load(study, options.questions), options), started, long, json)


def run_one(plan: Plan, started: float, long: bool, as_json: bool) -> None:
    """Carry out a plan and print the answer."""
    from dse.report.answer import LONG, answer, every_remark
    from dse.report.json_form import text

    listener = Listener() if as_json else Printer()
    done = carried_out(plan, command_line(), started, listener)
    if as_json:
        print(text(done.document))
        return
    remarks = every_remark(done.document) if long else ()
    print("", *answer(done.document), *remarks, *done.kept, sep="\n")
    print(f"Report: {done.page}{'' if long else f'          {LONG}'}")
