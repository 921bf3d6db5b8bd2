"""The page of ``dse serve``: controls, the answer, the front as chart and table."""

from __future__ import annotations

import json

from dse.pricing.problem import Problem
from dse.report import live, page, tables
from dse.report.deal import deal_of
from dse.report.live import LIVE_RULES, Question
from dse.report.style import NIGHT, chart_layout
from dse.version import __version__

POLICY = page.POLICY + "; connect-src 'self'"


def render_live(problem: Problem, rule: str) -> str:
    """The page of a study; rule: with which it begins."""
    prices = live.prices_of(problem)
    gain, *costs = (live.words_of(objective.name) for objective in problem.study.objectives)
    layout = chart_layout(
        xaxis={"type": "log", "title": {"text": tables.capital(costs[0][0])}, "automargin": True},
        yaxis={"type": "log", "title": {"text": tables.capital(gain[0])}, "automargin": True},
        showlegend=False,
    )
    return page.environment().get_template("live.html.j2").render(
        study=problem.study,
        points=live.changed(problem, Question()).points,
        version=__version__,
        policy=POLICY,
        css=page.own_file("report.css"),
        js=page.own_file("live.js"),
        plotly=page.plotly_script(),
        axes=[(axis, tables.capital(tables.heading(axis)), labels)
              for axis, labels in live.axes(problem.study).items()],
        ranges=[(one, tables.capital(tables.heading(one.name)))
                for one in live.ranges(problem.study)],
        confidence=problem.study.confidence,
        rules=LIVE_RULES,
        deal=deal_of(problem.study),
        rule=rule,
        limits=[constraint.text for constraint in problem.study.constraints],
        prices=[price for price in prices if price.unit != "USD/h"],
        rents=[price for price in prices if price.unit == "USD/h"],
        layout=page.embed(json.dumps(layout)),
        night=page.embed(json.dumps(NIGHT)),
    )  # fmt: skip


def first_rule(problem: Problem) -> str:
    """The study's rule where it has one that needs no draws, else the usual one."""
    asked = problem.study.recommend
    return asked if asked in LIVE_RULES else Question().rule
