"""The rows of front.csv, the named points side by side, the table of the front."""

from __future__ import annotations

import pytest

from dse.report import tables, words
from tests.report.documents import AXES, THREE, document, front_rows, read, read_point, written


@pytest.mark.parametrize(("cost", "also"), THREE)
def test_tables_have_a_row_and_a_column_for_each_cost(cost: str, also: str) -> None:
    run = document("speedup", cost, also)
    heads = [head for head, _ in tables.front_table(run).heads]
    for name in (cost, also):
        title = words.capital(words.objective(run, name).title)
        assert heads.count(title) == 1
    assert all(len(row.cells) + 1 == len(heads) for row in tables.front_table(run).rows)


def test_front_table_has_the_axes_that_vary_and_states_the_others_once() -> None:
    run = written()
    for item in run["front"]:
        item["config"]["precision"] = "fp16"
    table = tables.front_table(read(run))
    heads = [head for head, _ in table.heads]
    assert ("precision", "fp16") in table.constant
    assert "Precision" not in heads
    assert {"Speedup", "Purchase price", "Accelerator"} <= set(heads)
    assert all(len(row.cells) + 1 == len(heads) for row in table.rows)


def test_one_accelerator_has_no_aggregation_and_one_node_no_network() -> None:
    run = written()
    alone = run["front"][0]
    alone.update(gpus=1.0, nodes=1.0, immaterial=["aggregation", "inter_node"])
    alone["config"] = {**alone["config"], "gpus": "1", "aggregation": "ps-grpc"}
    table = tables.front_table(read(run))
    heads = [head for head, _ in table.heads]
    row = dict(zip(heads, (text for _, text in table.rows[0].cells), strict=False))
    assert row["Aggregation"] == row["Inter node"] == "–"
    assert "ps-grpc" not in words.describe(read_point(alone))
    assert table.note == tables.DASHES
    assert not words.matters(read_point(alone), "inter_node")
    assert words.matters(read_point(alone), "accelerator")
    several = next(p for p in run["front"] if p["nodes"] > 1)
    assert words.label(read_point(several), "inter_node") == several["config"]["inter_node"] != ""
    assert front_rows(read(run))[1][0][list(AXES).index("aggregation")] == "ps-grpc", (
        "the file has all"
    )


def test_servers_are_named_where_they_serve_alone() -> None:
    run = written()
    ring, served = run["front"][-2:]
    ring["immaterial"] = ["ps_servers"]
    for item, aggregation in ((ring, "ring-mpi"), (served, "ps-grpc")):
        item.update(gpus=16.0, nodes=4.0)
        item["config"] = {**item["config"], "aggregation": aggregation, "ps_servers": "2"}
    assert (
        words.label(read_point(ring), "ps_servers"),
        words.label(read_point(served), "ps_servers"),
    ) == ("", "2")
    assert "PS servers" in [head for head, _ in tables.front_table(read(run)).heads]
    served.update(nodes=1.0, immaterial=["ps_servers"])
    assert words.label(read_point(served), "ps_servers") == "", "one node needs none"


def test_an_axis_that_matters_to_some_points_only_varies_if_these_differ() -> None:
    run = written()
    for item in run["front"]:
        several = item["nodes"] > 1
        for config in (item["config"], *item["tied"]):
            config["inter_node"] = "25 Gbps" if several else "100 Gbps"
        item["immaterial"] = [] if several else ["inter_node"]
    assert any(p["nodes"] == 1 for p in run["front"])
    assert any(p["nodes"] > 1 for p in run["front"])
    assert ("inter node", "25 Gbps") in tables.front_table(read(run)).constant
    for item in run["front"]:
        item.update(nodes=1.0, immaterial=["inter_node"])
    assert "inter node" not in dict(tables.front_table(read(run)).constant)


def test_front_table_sorts_by_numbers_not_by_text() -> None:
    table = tables.front_table(document())
    at = [head for head, _ in table.heads].index("Speedup")
    keys = [row.cells[at][0] for row in table.rows]
    assert keys == sorted(keys)
    assert all(isinstance(key, float) for key in keys)


def test_equals_are_counted_and_named_by_axis() -> None:
    run = document()
    item = next(p for p in run.front if p.ties == 3)
    row = tables.front_table(run).rows[run.front.index(item)]
    assert row.ties == 3
    assert dict(row.axes)["batch per GPU"] == "64, 16, 128"


def test_the_front_is_thinned_around_the_points_that_are_named() -> None:
    run = written()
    front = run["front"]
    long = [{**front[0], "config": {**front[0]["config"], "gpus": str(at)}} for at in range(500)]
    run.update(front=long, fastest=long[-1], cheapest_within_5_percent=long[490])
    run["recommended"] = {**long[123], "rule": "knee", "why": ""}
    rows = tables.front_table(read(run)).rows
    kept = tables.thinned(rows)
    assert len(kept) == tables.MOST_ROWS
    assert {row.number for row in rows if row.name} <= {row.number for row in kept}
    assert kept == sorted(kept, key=lambda row: row.number)
    assert tables.thinned(rows[:3]) == list(rows[:3])
