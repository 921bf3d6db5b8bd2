"""The front as columns: every quantity with its interval, whole numbers whole, units named."""

from __future__ import annotations

import pytest

import dse
from dse.report.document import RunDocument
from dse.report.front_columns import axis_column, front_columns
from tests.pricing.studies import SMALL


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> RunDocument:
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return dse.load_study(path).search().document


def test_every_quantity_and_its_interval_are_those_of_the_point(document: RunDocument) -> None:
    columns = {column.name: column for column in front_columns(document)}
    for row, point in enumerate(document.front):
        assert columns["row"].values[row] == row + 1
        assert columns["speedup"].values[row] == point.speedup
        assert columns["memory_slack_bytes"].values[row] == point.memory_slack_bytes
        assert columns["comm_s"].values[row] == point.comm_s
        assert columns["global_batch"].values[row] == point.global_batch
        named = {"capital_usd": "capital", "power_w": "power", "ownership_usd_per_hour": "tco"}
        for column, name in named.items():
            assert columns[column].values[row] == point.costs[name]
        assert point.interval is not None
        ends = {"step_s": point.interval.step_s, "capital_usd": point.interval.costs["capital"],
                "ownership_usd_per_hour": point.interval.costs["tco"]}  # fmt: skip
        for column, bounds in ends.items():
            assert bounds is not None
            found = tuple(columns[f"{column}_{end}"].values[row] for end in ("low", "high"))
            assert found == bounds
        assert {name: columns[name].values[row] for name in point.terms} == point.terms


def test_columns_have_one_name_each_and_say_their_unit(document: RunDocument) -> None:
    columns = front_columns(document)
    names = [column.name for column in columns]
    assert len(names) == len(set(names))
    units = {column.name: column.unit for column in columns}
    assert units["capital_usd"] == units["capital_usd_low"] == "USD"
    assert units["gpus_per_node"] == ""
    assert units["throughput_samples_per_s"] == "samples/s"


def test_whole_numbers_are_whole_and_what_does_not_apply_is_nothing(document: RunDocument) -> None:
    columns = {column.name: column for column in front_columns(document)}
    assert all(isinstance(value, int) for value in columns["gpus"].values)
    servers = columns["ps_servers"]
    assert servers.kind is int
    summed = columns["aggregation"].values
    for value, aggregation in zip(servers.values, summed, strict=True):
        assert (value is None) == (aggregation != "ps-grpc")


def test_an_axis_with_a_word_among_its_numbers_is_text() -> None:
    assert axis_column("gpus", ["8", ""], ["8", "16"]).values == [8, None]
    mixed = axis_column("gpus", ["8", ""], ["8", "1e3"])
    assert (mixed.values, mixed.kind) == (["8", None], str)
