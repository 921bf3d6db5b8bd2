"""The charts: what they hold, not how they look."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from dse.report import figures, words
from tests.report.documents import AXES, THREE, document, read, read_point, written


def traces(text: str) -> dict[str, dict[str, Any]]:
    return {trace["name"]: trace for trace in json.loads(text)["data"]}


def test_front_chart_holds_front_backdrop_and_named_points() -> None:
    run = document()
    found = traces(figures.front_figure(run))
    assert {"Front", "Baseline", "Recommended", "ring-mpi", "ps-grpc"} <= set(found)
    assert found["Front"]["x"] == [p.quantity("capital") for p in run.front]
    behind = [name for name in found if name.startswith("Front, ")]
    assert sum(len(found[name]["x"]) for name in behind) == len(run.front)
    errors = found["Front, measured"]["error_y"]
    assert errors["visible"] is True
    assert all(error > 0 for error in errors["array"])


@pytest.mark.parametrize(("cost", "also"), THREE)
def test_a_second_cost_is_the_colour_of_the_front(cost: str, also: str) -> None:
    run = document("speedup", cost, also)
    chart = json.loads(figures.front_figure(run))
    found = {trace["name"]: trace for trace in chart["data"]}
    assert "Front" not in found  # no line
    values = sorted(p.quantity(also) or 0.0 for p in run.front)
    far = values[-1] > 10 * values[0]
    shades = sorted(c for name in found if name.startswith("Front, ")
                    for c in found[name]["marker"]["color"])  # fmt: skip
    assert shades == pytest.approx([math.log10(v) if far else v for v in values])
    markers = [found[name]["marker"] for name in found if name.startswith("Front, ")]
    assert [marker["showscale"] for marker in markers] == [True, *[False] * (len(markers) - 1)]
    for marker in markers:
        assert (marker["cmin"], marker["cmax"]) == pytest.approx((shades[0], shades[-1]))
    bar = markers[0]["colorbar"]
    assert bar["title"]["text"] == words.capital(words.objective(run, also).title)
    assert len(bar["tickvals"]) == len(bar["ticktext"]) >= 2
    assert all(shades[0] <= tick <= shades[-1] for tick in bar["tickvals"])
    texts = [text for name in found if name.startswith("Front, ")
             for text in found[name]["customdata"]]  # fmt: skip
    assert all(words.objective(run, also).title in text for text in texts)


def test_hover_gives_the_whole_configuration_and_the_ties() -> None:
    run = written()
    item = next(p for p in run["front"] if p["ties"] > 1)
    item.update(gpus=16.0, nodes=4.0)
    text = figures.hover(read(run), "Front point 3", read_point(item))
    for axis in AXES:
        assert item["config"][axis] in text
    assert f"and {item['ties']} equals" in text
    assert "16, 128" in text


@pytest.mark.parametrize(("factor", "kind"), [(2.0, None), (100.0, "log")])
def test_axes_are_logarithmic_where_the_span_asks_for_it(factor: float, kind: str | None) -> None:
    run = written()
    run["sample"] = {"cost": [], "gain": [], "aggregation": [], "gpus": []}
    for at, item in enumerate([run["baseline"], *run["front"]]):
        item["capital"] = 1e5 * (factor if at == 1 else 1.0)
    assert json.loads(figures.front_figure(read(run)))["layout"]["xaxis"].get("type") == kind


def test_bars_are_thinned_but_keep_the_named_points() -> None:
    run = written()
    front = run["front"]
    long = [{**front[0], "config": {**front[0]["config"], "gpus": str(at)}} for at in range(500)]
    run.update(front=long, fastest=long[-1], cheapest_within_5_percent=long[490])
    run["recommended"] = {**long[123], "rule": "fastest", "why": ""}
    found = read(run)
    rows = figures.bars(found)
    points = [item for _, item in rows]
    assert rows[0][0] == "Baseline"
    assert len(rows) <= figures.MOST_BARS + 1
    assert all(any(p is found.front[at] for p in points) for at in (123, 490, 499))
    assert len({label for label, _ in rows}) == len(rows)


def test_shares_of_a_step_add_up() -> None:
    run = document()
    data = json.loads(figures.time_figure(run))["data"]
    for bar in range(len(figures.bars(run))):
        assert sum(trace["x"][bar] for trace in data) == pytest.approx(1.0)
