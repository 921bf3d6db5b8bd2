"""dse.prices: prices of many points at once, whatever table they come in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.errors import StudyError
from dse.pricing import constraints, scattering, uncertainty
from dse.report.points import describe
from dse.search.run import labels_of
from dse.study import QUANTITIES
from dse.study.quantities import RATES, TARGET
from tests.evidence import beyond
from tests.pricing import priced, studies

GOLDEN = Path(__file__).parent / "golden"
NCCL = GOLDEN / "studies" / "measured-nccl.yaml"
# Of studies without layouts or tokens.
ROWS = [row for row in QUANTITIES.values() if row.needs in (None, TARGET)]


@pytest.fixture
def small(tmp_path: Path) -> dse.Study:
    return dse.load_study(studies.written(tmp_path))


def same(found: dse.Prices, other: dse.Prices) -> None:
    """To the last bit."""
    assert list(found) == list(other)
    for name, column in found.items():
        np.testing.assert_array_equal(column, other[name], name)


@pytest.fixture
def nccl(monkeypatch: pytest.MonkeyPatch) -> dse.Study:
    """By profiles of NCCL and of parameter servers."""
    monkeypatch.chdir(GOLDEN)  # where ./calibrations has them
    return dse.load_study(NCCL)


# -- tables of any kind ----------------------------------------------------------------------------

COLUMNS: dict[str, list[Any]] = {
    "gpus": [8, 16, 3, 8],
    "aggregation": ["ring-mpi", "ps-grpc", "ring-mpi", "halving-doubling-gloo"],
    "batch_per_gpu": [64, 32, 64, 256],
}


def rows() -> list[dict[str, Any]]:
    return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


def test_columns_and_rows_are_the_same_points(small: dse.Study) -> None:
    found = small.price(COLUMNS)
    assert found.rows == 4
    assert all(column.shape == (4,) for column in found.values())
    same(found, small.price(rows()))
    same(found, small.price({name: np.array(column) for name, column in COLUMNS.items()}))
    same(found, small.price({name: tuple(column) for name, column in COLUMNS.items()}))
    as_text = {name: [str(value) for value in column] for name, column in COLUMNS.items()}
    same(found, small.price(as_text))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_is_a_table_and_takes_prices(small: dse.Study, library: str) -> None:
    frames = pytest.importorskip(library)
    found = small.price(frames.DataFrame(COLUMNS))
    same(found, small.price(COLUMNS))
    table = frames.DataFrame(found)
    assert list(table.columns) == list(found)
    np.testing.assert_array_equal(table["speedup"].to_numpy(), found["speedup"])


def test_a_single_value_is_that_of_all_points(small: dse.Study) -> None:
    found = small.price({"gpus": [4, 8, 16], "aggregation": "ring-mpi", "batch_per_gpu": 64})
    spelled = {"gpus": [4, 8, 16], "aggregation": ["ring-mpi"] * 3, "batch_per_gpu": [64] * 3}
    same(found, small.price(spelled))
    assert small.price({"gpus": 8}).rows == 1
    same(small.price({"gpus": 8}), small.price([{"gpus": 8}]))


def test_what_is_left_out_is_the_baselines(small: dse.Study) -> None:
    (base,) = small.price([{}])["speedup"]
    assert base == 1.0
    some = small.price([{"gpus": 8}, {"aggregation": "ring-mpi"}, {}])
    given = small.price([{**small.baseline, **row} for row in
                         ({"gpus": 8}, {"aggregation": "ring-mpi"}, {})])  # fmt: skip
    same(some, given)


@pytest.mark.parametrize("empty", [[], {"gpus": []}, {"gpus": np.zeros(0)}])
def test_no_points_have_no_prices(small: dse.Study, empty: Any) -> None:
    for intervals in (False, True):
        found = small.price(empty, intervals=intervals)
        assert found.rows == 0
        assert {"speedup", "capital_usd", "feasible", "evidence", "reason"} <= set(found)
        assert all(column.shape == (0,) for column in found.values())


def test_prices_are_a_table(small: dse.Study) -> None:
    found = small.price(COLUMNS)
    assert {row.column for row in ROWS} < set(found)
    assert not {row.column for row in QUANTITIES.values() if row not in ROWS} & set(found)
    assert repr(found).startswith("<4 points priced: ")
    assert found._repr_html_().count("<tr>") == 5
    assert small.price({"gpus": [8] * 1234})._repr_html_().count("<tr>") == 11


# -- what they are ---------------------------------------------------------------------------------


def test_rows_may_name_different_axes(small: dse.Study) -> None:
    points = [{"gpus": 16, "gpus_per_node": 1, "ps_servers": 2}, {"aggregation": "ring-mpi"}, {}]
    found = small.price(points)
    for at, point in enumerate(points):
        alone = small.price([point])
        for name, column in found.items():
            np.testing.assert_array_equal(column[at : at + 1], alone[name], name)


@pytest.mark.parametrize("which", beyond(["small"], ["small", "nccl"]))
def test_a_price_is_that_of_the_point_alone(which: str, request: pytest.FixtureRequest) -> None:
    """To the last bit, in any company; the labels of a point are its values."""
    study: dse.Study = request.getfixturevalue(which)
    problem = study.problem
    chosen = np.random.default_rng(11).integers(problem.space.size, size=300)
    values = [problem.space.point(int(at)) for at in chosen]
    found = study.price([labels_of(problem, one) for one in values])
    aimed = problem.study.target is not None
    reasons = set()
    for at, one in enumerate(values):
        alone = problem.point(one)
        for row in ROWS:
            mine = found[row.column][at]
            if row.column in one:  # an axis
                blank = one[row.column] is None
                assert np.isnan(mine) if blank else mine == one[row.column]
                continue
            if row.needs == TARGET and not aimed:
                assert np.isnan(mine)
                continue
            expected = float(np.ravel(alone[row.name])[0])
            assert mine == expected or np.isnan([mine, expected]).all(), (row.name, one)
        demands = constraints.demands(alone, problem.study)
        missed = [constraints.unmet(demand) for demand, mask in demands if not mask.all()]
        assert found["feasible"][at] == (not missed)
        assert found["reason"][at] == (missed[0] if missed else "")
        reasons.add(found["reason"][at])
        told = describe(problem, one)
        assert found["evidence"][at] == told.evidence
    assert len(reasons) > 1, "some meet every demand and some do not"
    assert len(set(found["evidence"].tolist())) > 1


def test_a_conditional_axis_has_no_value_where_it_does_not_apply(small: dse.Study) -> None:
    ring = [{"gpus": 16, "aggregation": "ring-mpi", "ps_servers": n} for n in (1, 2)]
    one, two = small.price(ring)["capital_usd"]
    assert one == two
    served = [{"gpus": 16, "aggregation": "ps-grpc", "ps_servers": n} for n in (1, 2)]
    fewer, more = small.price(served)["capital_usd"]
    assert fewer < more


def test_a_column_named_like_an_axis_holds_its_values(small: dse.Study, tmp_path: Path) -> None:
    """As asked, or of the baseline, and no quantity in its place."""
    points = {"gpus": 16, "aggregation": ["ps-grpc", "ring-mpi"], "ps_servers": [2, 2]}
    found = small.price(points)
    np.testing.assert_array_equal(found["ps_servers"], [2.0, np.nan])
    assert found["gpus"].tolist() == [16.0, 16.0]
    assert found["gpus_per_node"].tolist() == [4.0, 4.0]
    front = small.search().front
    served = front["aggregation"] == "ps-grpc"
    np.testing.assert_array_equal(np.isnan(front["ps_servers"]), ~served)
    unconditional = studies.SMALL.replace("when:\n", "").replace(
        "  - {axis: ps_servers, values: [1, 2], if: {aggregation: ps-grpc}}\n", ""
    ).replace("space:\n", "space:\n  ps_servers: [1, 2]\n")  # fmt: skip
    always = dse.load_study(studies.written(tmp_path, unconditional))
    assert always.price(points)["ps_servers"].tolist() == [2.0, 2.0]


def test_nan_has_a_reason(tmp_path: Path) -> None:
    text = studies.SMALL.replace("precision: [fp32, fp16]", "precision: [fp32, bf16]")
    study = dse.load_study(studies.written(tmp_path, text))
    points = [{"precision": "bf16"}, {"gpus": 6}, {"gpus": 16, "batch_per_gpu": 256}, {"gpus": 8}]
    found = study.price(points)
    assert np.isnan(found["step_s"]).tolist() == [True, False, False, False]
    assert found["reason"].tolist() == [
        "the accelerator does not have this precision",
        "the last node is only partly filled",
        constraints.unmet("fits_memory"),
        "",
    ]
    assert found["feasible"].tolist() == [False, False, False, True]
    assert (found["reason"][np.isnan(found["speedup"])] != "").all()


def test_the_reason_names_the_fact_that_is_unknown(small: dse.Study) -> None:
    """Of each point its own, as the command line says it."""
    found = small.price({"gpus": 8, "inter_node": ["30 Gbps", "25gbe", "slingshot-11"]})
    assert np.isnan(found["speedup"]).tolist() == [True, False, False]
    assert found["reason"][1] == ""
    for row, link in ((0, "30 Gbps"), (2, "slingshot-11")):
        with pytest.raises(StudyError) as error:
            small.explain({"gpus": 8, "inter_node": link})
        assert found["reason"][row] == f"{error.value.problem}; {error.value.remedy}"
        assert link in found["reason"][row]


def test_what_a_run_costs_is_nan_without_a_target(tmp_path: Path) -> None:
    without = dse.load_study(studies.written(tmp_path)).price([{}])
    aimed = f"{studies.SMALL}target: {{samples: 1e7}}\n"
    with_one = dse.load_study(studies.written(tmp_path, aimed)).price([{}])
    for row in ROWS:
        assert np.isnan(without[row.column][0]) == (row.needs == TARGET)
        assert np.isfinite(with_one[row.column][0])
    training_s = with_one["time_to_target_s"] * with_one["goodput"]
    samples = training_s * with_one["throughput_samples_per_s"]
    assert samples[0] == pytest.approx(1e7)


NODES = """\
study: nodes
workload: bert-large-s512
space:
  node: [dgx-1-v100, dgx-a100-80gb]
  gpus: [8, 16, 32]
  batch_per_gpu: [4]
  precision: fp16
  aggregation: [hierarchical-nccl, ring-nccl]
objectives: {maximize: speedup, minimize: capital}
"""
LINKS = {
    "inter_node": [
        None,
        "100gbe",
        None,
        "ib-hdr",
        "{bandwidth: 25 Gbps, latency: 5 us}",
        float("nan"),
    ],
    "intra_node": ["pcie3-x16", None, None, "nvlink3", "{bandwidth: 9 GB/s, latency: 1 us}", ""],
    "nics_per_node": [None, None, 2, 4, None, 1],
    "gpus_per_node": [8, None, 4, None, 8, None],
}


@pytest.mark.parametrize("axes", [["inter_node"], ["intra_node"], [*LINKS]])
def test_a_blank_link_is_that_of_the_machine(tmp_path: Path, axes: list[str]) -> None:
    """Whatever links other points of the table have."""
    study = dse.load_study(studies.written(tmp_path, NODES))
    table = {"gpus": [16, 16, 8, 32, 16, 32], "node": ["dgx-1-v100", "dgx-a100-80gb"] * 3,
             **{name: LINKS[name] for name in axes}}  # fmt: skip
    found = study.price(table)
    assert np.isfinite(found["step_s"]).all()
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    for at, point in enumerate(rows):
        alone = study.price([point])
        left_out = study.price([{k: v for k, v in point.items() if v and v == v}])
        for name, column in found.items():
            np.testing.assert_array_equal(column[at : at + 1], alone[name], name)
            if name not in axes:
                np.testing.assert_array_equal(left_out[name], alone[name], name)
    own, chosen = study.price({"gpus": 16, axes[0]: [None, "pcie3-x16"]})["step_s"]
    assert own != chosen


def test_a_blank_on_an_axis_that_the_study_lacks_is_priced(small: dse.Study) -> None:
    slow = "{bandwidth: 100 MB/s, latency: 1 ms}"
    point = {"gpus": 8, "aggregation": "hierarchical-nccl"}
    own, chosen = small.price({**point, "intra_node": [None, slow]})["comm_s"]
    assert own == small.price(point)["comm_s"]
    assert chosen == small.price({**point, "intra_node": slow})["comm_s"]
    assert own < chosen


# -- evidence and intervals ------------------------------------------------------------------------


def test_evidence_is_by_the_point(nccl: dse.Study) -> None:
    points = [{"nics_per_node": 2}, {"gpus": 8}, {"gpus": 1}, {"aggregation": "ring-nccl"},
              {"gpus": 8, "accelerator": "p100-sxm2-16gb"}, {"gpus": 1024}]  # fmt: skip
    found = nccl.price(points)["evidence"].tolist()
    # measured at 400 Gbps a node
    assert found == ["inside", "near", "silent", "catalogue", "catalogue", "far"]


def test_of_a_closed_model_all_is_formula(tmp_path: Path) -> None:
    study = dse.load_study(studies.written(tmp_path, studies.CLOSED))
    assert set(study.price({"gpus": [1, 8, 64]})["evidence"].tolist()) == {"formula"}


def test_intervals_are_those_of_the_report(nccl: dse.Study) -> None:
    points = [
        {"gpus": 16, "inter_node": "100gbe"}, {"gpus": 8}, {"aggregation": "ring-nccl"},
        {"accelerator": "p100-sxm2-16gb"}, {"gpus": 8, "overlap": "bucketed", "precision": "fp16"},
    ]  # fmt: skip
    plain, found = nccl.price(points), nccl.price(points, intervals=True)
    for name, column in plain.items():
        np.testing.assert_array_equal(found[name], column, name)
    sure = ("speedup", "step_s", "capital_usd", "rent_usd_per_hour", "ownership_usd_per_hour",
            "power_w")  # fmt: skip
    sure = (*sure, "throughput_samples_per_s", "memory_slack_bytes", *RATES)
    ends = {f"{column}_{end}" for column in sure for end in ("low", "high")}
    assert set(found) - set(plain) == ends
    for at, point in enumerate(points):
        told = describe(nccl.problem, priced.point(nccl.problem, **point))
        assert told.interval
        for name, bounds in (("speedup", told.interval.speedup),
                             ("step_s", told.interval.step_s),
                             ("throughput_samples_per_s", told.interval.throughput_samples_per_s),
                             ("capital_usd", told.interval.costs["capital"])):  # fmt: skip
            mine = (found[f"{name}_low"][at], found[f"{name}_high"][at])
            if bounds is None:
                assert np.isnan(mine).all()
            else:
                assert mine == pytest.approx(bounds, rel=1e-12)
                assert mine[0] <= found[name][at] <= mine[1]
    assert np.isfinite(found["step_s_low"]).all()


def test_intervals_take_bounded_room_and_are_the_same_in_pieces(
    nccl: dse.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = nccl.problem.space
    chosen = np.random.default_rng(7).integers(space.size, size=60)
    alike = {"precision": "fp16", "bucket": "25 MiB", "overlap": "none"}  # of few structures
    table = [{**labels_of(nccl.problem, space.point(int(at))), **alike} for at in chosen]
    sizes: list[int] = []
    made = uncertainty.intervals

    def seen(best: Any, drawn: Any) -> Any:
        parts = [*drawn]
        sizes.extend(len(where) for where, _ in parts)
        return made(best, parts)

    monkeypatch.setattr(uncertainty, "intervals", seen)
    whole = nccl.price(table, intervals=True)
    assert 3 < max(sizes) <= scattering.DRAWN_POINTS == 40
    sizes.clear()
    monkeypatch.setattr(scattering, "DRAWN_POINTS", 3)
    same(nccl.price(table, intervals=True), whole)
    assert sum(sizes) == len(table)
    assert max(sizes) == 3
    assert np.isfinite(whole["speedup_low"]).any()


def test_without_measurements_intervals_are_the_catalogue_s(small: dse.Study) -> None:
    found = small.price(COLUMNS, intervals=True)
    assert np.isfinite(found["speedup"]).all()
    assert (found["speedup_low"] <= found["speedup"]).all()
    assert (found["step_s_high"] > found["step_s"]).all()


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([{"gpsu": 8}], "points: no axis 'gpsu'; did you mean gpus?"),
        ([{"gpus": "four"}], "points: "),
        ([{"gpus": ""}], "points: gpus has no value; give one, or leave the axis out"),
        ([{"aggregation": "ps-grpc", "ps_servers": None}],
         "points: ps_servers has no value; give one, or leave the axis out"),
        ({"aggregation": ["ring-mpi", "ps-grpc"], "ps_servers": np.array([2.0, np.nan])},
         "points: ps_servers has no value"),
        ({"node": None}, "points: this study chooses by accelerator; give accelerator"),
        ({"gpus": [8, 16], "batch_per_gpu": [32]},
         "points: column 'batch_per_gpu' has 1 values, 'gpus' has 2; give columns of one length"),
        (8, "points: int is not a table; give columns by axis, or a list of mappings"),
        ([8], 'points: int is not a point; write it as {"gpus": 8}'),
        ({"gpus": [[8]]}, "points: gpus: a list where one value should be; write one value"),
        ({"gpus": np.ones((2, 2))},
         "points: column 'gpus' is not a list of values; give one value for each point"),
        ({"gpus": {0: 8}}, "points: gpus: a mapping is not a number"),
        ({"gpus": np.ma.array([8, 16], mask=[False, True])}, "points: gpus has no value"),
        ({"gpus": True}, "points: gpus: true is not a number"),
        ([{"inter_node": {"bandwidth": ["1 Gbps", "2 Gbps"]}}],
         "points: inter_node: several links; write one bandwidth"),
    ],
)  # fmt: skip
def test_what_cannot_be_priced_names_the_argument(small: dse.Study, points: Any, said: str) -> None:
    with pytest.raises(StudyError) as found:
        small.price(points)
    assert str(found.value).startswith(said)
    assert "\n" not in str(found.value)


def test_what_is_masked_is_a_blank(small: dse.Study) -> None:
    servers = np.ma.array([1, 2], mask=[True, False])
    links = np.ma.array(["pcie3-x16", "pcie3-x16"], mask=[True, False])
    points = {"aggregation": ["ring-mpi", "ps-grpc"]}
    found = small.price({**points, "ps_servers": servers, "intra_node": links})
    same(found, small.price({**points, "ps_servers": [None, 2], "intra_node": [None, "pcie3-x16"]}))
    whole = np.ma.array([8, 16])
    same(small.price({"gpus": whole}), small.price({"gpus": [8, 16]}))
    same(small.price({"intra_node": np.ma.masked}), small.price({"intra_node": None}))


# -- what is refused, and why a number is not there ------------------------------------------------
