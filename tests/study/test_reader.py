"""What a study file means: axes, links, conditions, baseline, in SI units."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from dse.errors import StudyError
from dse.study import AXES, Axis, ConfiguredWorkload, InlineWorkload, Study, Wire, read_study
from dse.study.definition import written

from .conftest import NAMES, VALID, Reader

LINK = "{bandwidth: [10 Gbps, 25 Gbps], latency: 5 us}"


def axis(study: Study, name: str) -> Axis:
    found = study.axis(name)
    assert found is not None
    return found


def test_valid_study(read: Reader) -> None:
    study = read()
    assert study.name == "ethernet-upgrade"
    assert study.workload == "resnet50"
    assert [a.name for a in study.axes][:3] == ["accelerator", "gpus", "gpus_per_node"]
    assert axis(study, "gpus").values == (1, 2, 4, 8, 16, 32, 64)
    assert axis(study, "bucket").values == (2.0**20, 25 * 2.0**20)
    assert axis(study, "bucket").labels == ("1 MiB", "25 MiB")
    assert [(o.name, o.goal) for o in study.objectives] == [
        ("speedup", "maximize"),
        ("capital", "minimize"),
    ]
    assert [c.text for c in study.constraints if c.expression is None] == ["fits_memory"]
    assert [c.text for c in study.constraints][1:] == ["capital <= 2 MUSD", "global_batch <= 8192"]
    assert study.target is not None
    assert study.target.samples == 115e6
    assert (study.search.engine, study.search.budget) == ("auto", 20000)


@pytest.mark.parametrize(
    ("written", "names"),
    [("[capital]", ["capital"]), ("[power, capital]", ["power", "capital"]),
     ("[energy, time_to_target]", ["energy", "time_to_target"])],
)  # fmt: skip
def test_one_or_two_are_minimised_in_the_order_of_the_file(
    read: Reader, written: str, names: list[str]
) -> None:
    study = read(text=VALID.replace("minimize: capital", f"minimize: {written}"))
    assert [o.name for o in study.objectives] == ["speedup", *names]
    assert [o.goal for o in study.objectives[1:]] == ["minimize"] * len(names)


def test_study_is_frozen_and_can_be_sent_to_a_worker(read: Reader) -> None:
    study = read()
    with pytest.raises(FrozenInstanceError):
        study.name = "other"  # type: ignore[misc]
    copy = pickle.loads(pickle.dumps(study))
    assert copy.axes == study.axes
    assert copy.constraints == study.constraints
    assert str(copy.source.error(("space", "gpus"), "odd")) == "study.yaml:5:9: odd"


def test_hash_ignores_layout_but_not_values(read: Reader) -> None:
    plain = read().content_hash
    assert read("gpus: {from: 1, to: 64", "gpus:   {to: 64, from: 1").content_hash == plain
    assert read("study:", "# a remark\nstudy:").content_hash == plain
    assert read("to: 64", "to: 65").content_hash != plain


def test_what_is_left_out_has_defaults(read: Reader) -> None:
    study = read("  precision: [fp32, fp16]\n", "")
    values = {a.name: a.values for a in study.defaults}
    assert values == {
        "nics_per_node": (1,),
        "precision": ("fp32",),
        "accumulation": (1,),
        "gradient": ("auto",),
        "stack": ("vendor",),
        "optimizer": ("momentum",),
        "overlap": ("bucketed",),
        "ps_placement": ("dedicated",),
    }
    assert study.axis("intra_node") is None
    assert study.axis("ps_servers") is None  # conditional here


def test_node_brings_its_own_counts_and_links(read: Reader) -> None:
    text = VALID.replace("accelerator: [p100-sxm2-16gb, v100-sxm2-16gb]", "node: dgx-h100")
    text = text.replace("  gpus_per_node: [1, 4, 8]\n", "").replace(f"  inter_node: {LINK}\n", "")
    study = read(text=text.replace("accelerator: p100-sxm2-16gb, ", ""))
    assert axis(study, "node").values == ("dgx-h100",)
    assert study.axis("gpus_per_node") is None
    assert study.axis("inter_node") is None


def test_one_node_needs_no_link_between_nodes(read: Reader) -> None:
    text = VALID.replace(f"  inter_node: {LINK}\n", "").replace("inter_node: 25 Gbps", "")
    study = read(text=text.replace("[1, 4, 8]", "64"))
    assert study.axis("inter_node") is None


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("8", (8,)),
        ("[8]", (8,)),
        ("[8, 1e3]", (8, 1000)),
        ("{from: 3, to: 20, scale: doubling}", (3, 6, 12)),
        ("{from: 2, to: 8, step: 2}", (2, 4, 6, 8)),
        ("{from: 2, to: 9, scale: linear, step: 3}", (2, 5, 8)),
        ("{from: 4, to: 4, scale: doubling}", (4,)),
    ],
)
def test_counts(written: str, values: tuple[int, ...], read: Reader) -> None:
    found = axis(read("{from: 1, to: 64, scale: doubling}", written), "gpus")
    assert found.values == values
    assert found.labels == tuple(str(value) for value in values)
    assert all(isinstance(value, int) for value in found.values)


@pytest.mark.parametrize(
    ("written", "wires"),
    [
        ("25 Gbps", [("25 Gbps", 3.125e9, None)]),
        ("[25 Gbps, 12.5 GB/s]", [("25 Gbps", 3.125e9, None), ("12.5 GB/s", 12.5e9, None)]),
        (LINK, [("10 Gbps", 1.25e9, 5e-6), ("25 Gbps", 3.125e9, 5e-6)]),
        (
            "[{bandwidth: 10 Gbps, latency: 5 us}, {bandwidth: 10 Gbps, latency: 9 us}]",
            [("10 Gbps/5 us", 1.25e9, 5e-6), ("10 Gbps/9 us", 1.25e9, 9e-6)],
        ),
        (
            "{bandwidth: {from: 10 Gbps, to: 50 Gbps, scale: doubling}}",
            [("10 Gbps", 1.25e9, None), ("20 Gbps", 2.5e9, None), ("40 Gbps", 5e9, None)],
        ),
    ],
)
def test_links(written: str, wires: list[tuple[str, float, float]], read: Reader) -> None:
    text = VALID.replace("inter_node: 25 Gbps", "gpus_per_node: 1")
    found = axis(read(LINK, written, text), "inter_node")
    described = [(w.label, w.bytes_per_s, w.latency_s) for w in found.values if isinstance(w, Wire)]
    assert described == wires
    assert found.labels == tuple(label for label, _, _ in wires)


def test_link_with_prices_and_a_fabric_for_the_rest(read: Reader) -> None:
    written = "[ib-hdr, {bandwidth: 25 Gbps, nic: 200 USD, switch_port: 150 USD, fabric: 25gbe}]"
    text = VALID.replace(LINK, written)
    hdr, wire = axis(read(text=text), "inter_node").values
    assert hdr == "ib-hdr"
    assert isinstance(wire, Wire)
    assert (wire.nic_usd, wire.switch_port_usd, wire.cable_usd) == (200, 150, None)
    assert wire.fabric == "25gbe"


def test_continuous_link(read: Reader) -> None:
    written = "{bandwidth: {from: 10 Gbps, to: 100 Gbps, continuous: true}, latency: 5 us}"
    study = read(LINK, written)
    found = axis(study, "inter_node")
    assert found.continuous
    assert (found.low, found.high) == (1.25e9, 12.5e9)
    assert found.wire is not None
    assert found.wire.latency_s == 5e-6
    assert study.baseline.values["inter_node"] == Wire("25 Gbps", 3.125e9, 5e-6)
    assert found.written == "10 Gbps to 100 Gbps"
    rates = (1e9, 1.25e9, 12.5e9, 13e9)
    inside = [study.has("inter_node", Wire("", rate, 5e-6)) for rate in rates]
    assert inside == [False, True, True, False]
    assert not study.has("inter_node", Wire("", 1.25e9, 1e-6)), "another latency"
    assert not study.has("inter_node", "10gbe")


def test_continuous_bucket_needs_a_baseline(read: Reader) -> None:
    text = VALID.replace("[1 MiB, 25 MiB]", "{from: 1 MiB, to: 64 MiB, continuous: true}")
    with pytest.raises(StudyError, match=r"the baseline needs its value; add baseline: \{bucket"):
        read(text=text)
    study = read("baseline: {", "baseline: {bucket: 2 MiB, ", text)
    assert (axis(study, "bucket").low, axis(study, "bucket").high) == (2**20, 2**26)
    assert study.baseline.values["bucket"] == 2 * 2**20
    assert axis(study, "bucket").written == "1 MiB to 64 MiB"
    assert study.has("bucket", 3e6)
    assert not study.has("bucket", 2**27)


@pytest.mark.parametrize(
    ("span", "labels"),
    [
        ("{from: 1 MB, to: 4 MB, scale: doubling}", ("1 MB", "2 MB", "4 MB")),
        ("{from: 1024 KiB, to: 2 MiB, step: 512 KiB}", ("1024 KiB", "1.5 MiB", "2 MiB")),
    ],
)
def test_sizes_are_shown_in_the_units_in_which_they_are_short(
    read: Reader, span: str, labels: tuple[str, ...]
) -> None:
    text = VALID.replace("[1 MiB, 25 MiB]", span)
    assert axis(read(text=text), "bucket").labels == labels


def test_values_that_an_axis_does_not_list_are_shown_with_their_unit(read: Reader) -> None:
    study = read()
    assert axis(study, "bucket").label(2.0**22) == "4 MiB"
    assert axis(study, "gpus").label(3) == "3"
    assert axis(study, "inter_node").label(Wire("40 Gbps", 5e9)) == "40 Gbps"
    assert written("fusion_cycle", 5e-4) == "0.5 ms"
    assert written("aggregation", "ring-mpi") == "ring-mpi"


def test_order_is_told_where_there_is_one(read: Reader) -> None:
    study = read()
    assert [a.name for a in study.axes if a.ordered] == [
        "gpus",
        "gpus_per_node",
        "inter_node",
        "batch_per_gpu",
        "bucket",
    ]
    assert not axis(read("[1, 4, 8]", "[4, 1, 8]"), "gpus_per_node").ordered
    assert not axis(read(LINK, "[25 Gbps, ib-hdr]"), "inter_node").ordered


def test_conditions(read: Reader) -> None:
    (condition,) = read().conditions
    assert condition.axis == "ps_servers"
    assert condition.values == (1, 2, 4)
    assert condition.requires == (("aggregation", ("ps-grpc",)),)


def test_condition_on_several_axes_and_by_label(read: Reader) -> None:
    new = "if: {inter_node: 10 Gbps, bucket: [1 MiB, 25600 KiB]}"
    (condition,) = read("if: {aggregation: ps-grpc}", new).conditions
    (_, (wire,)), (_, buckets) = condition.requires
    assert wire == Wire("any label", 1.25e9, 5e-6)
    assert buckets == (2.0**20, 25 * 2.0**20)


def test_baseline_takes_first_values_and_says_so(read: Reader) -> None:
    baseline = read().baseline
    assert baseline.values["gpus"] == 8
    assert baseline.values["batch_per_gpu"] == 32
    assert baseline.values["ps_servers"] == 1  # its aggregation is the first, ps-grpc
    assert baseline.labels["inter_node"] == "25 Gbps"
    assert baseline.assumed == (
        "gpus_per_node",
        "batch_per_gpu",
        "precision",
        "aggregation",
        "bucket",
        "ps_servers",
    )


def test_baseline_is_optional(read: Reader) -> None:
    line = next(line for line in VALID.splitlines() if line.startswith("baseline"))
    assert read(line + "\n", "").baseline.values["gpus"] == 1


def test_baseline_outside_the_space(read: Reader) -> None:
    new = "gpus: 3, inter_node: 40 Gbps, aggregation: tree-nccl"
    baseline = read("gpus: 8, inter_node: 25 Gbps", new).baseline
    assert baseline.values["gpus"] == 3
    assert baseline.values["inter_node"] == Wire("40 Gbps", 5e9, 5e-6)  # latency of the others
    assert "ps_servers" not in baseline.values


def test_baseline_finds_a_value_in_other_words(read: Reader) -> None:
    baseline = read("inter_node: 25 Gbps}", "inter_node: 25000 Mbps}").baseline
    assert baseline.labels["inter_node"] == "25 Gbps"


def test_inline_workload(read: Reader) -> None:
    Path("layers.csv").write_text("name,params\n")
    new = (
        "workload: {name: mine, params: 25e6, forward_flops: 8e9, activation_bytes: 45 MB, "
        "input_bytes: 150 kB, layers: layers.csv}"
    )
    workload = read("workload: resnet50", new).workload
    assert workload == InlineWorkload("mine", 25e6, 8e9, 45e6, 150e3, "layers.csv")


SHORT = "workload: {params: 25e6, forward_flops: 8e9, activation_bytes: "


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("45 MB}", InlineWorkload("own-model", 25e6, 8e9, 45e6)),
        ("unknown}", InlineWorkload("own-model", 25e6, 8e9, None)),
        (
            "45 MB, gradient_tensors: 161}",
            InlineWorkload("own-model", 25e6, 8e9, 45e6, gradient_tensors=161),
        ),
        (
            "45 MB, gradient_tensors: [5e6, 20e6], input_bytes: unknown}",
            InlineWorkload("own-model", 25e6, 8e9, 45e6, gradient_tensors=(5e6, 20e6)),
        ),
    ],
)
def test_three_numbers_are_a_workload(read: Reader, written: str, meant: InlineWorkload) -> None:
    assert read("workload: resnet50", SHORT + written).workload == meant


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{forward_flops: 8e9, activation_bytes: 1 MB}", "missing key 'params'"),
        ("{params: .nan, forward_flops: 8e9, activation_bytes: 1 MB}", "params: nan is not"),
        ("{params: 1, forward_flops: 8e9, activation_bytes: lots}", "activation_bytes:"),
        (SHORT[10:] + "1 MB, gradient_tensors: 0}", "gradient_tensors: 0 is"),
        (SHORT[10:] + "1 MB, gradient_tensors: []}", "gradient_tensors: 0 tensors"),
        (SHORT[10:] + "1 MB, gradient_tensors: [1e6, 2e6]}", "they add up to 3e+06"),
        (SHORT[10:] + "1 MB, gradient_tensors: 3, layers: x.csv}", "keep one of the two"),
        ("{config: none.json}", "no file 'none.json'"),
        ("{config: 3}", "config: 3 is not a name"),
        ("{sequence: 512}", "unknown key 'sequence'"),
    ],
)
def test_what_is_no_workload_is_one_line(read: Reader, written: str, said: str) -> None:
    with pytest.raises(StudyError) as found:
        read("workload: resnet50", f"workload: {written}")
    assert said in str(found.value)
    assert found.value.line == 2


def test_a_config_with_the_length_of_a_sample(read: Reader) -> None:
    Path("config.json").write_text("{}")
    found = read("workload: resnet50", "workload: {config: config.json, sequence: 512}").workload
    assert found == ConfiguredWorkload("config.json", 512)
    with pytest.raises(StudyError, match="sequence: 0 is"):
        read("workload: resnet50", "workload: {config: config.json, sequence: 0}")


def test_paths_count_from_the_study(tmp_path: Path) -> None:
    folder = tmp_path / "studies"
    folder.mkdir()
    (folder / "mine.yaml").write_text("name: mine\n")
    (folder / "study.yaml").write_text(VALID.replace("resnet50", "./mine.yaml", 1))
    workload = read_study(folder / "study.yaml", NAMES).workload
    assert isinstance(workload, str)
    assert Path(workload).samefile(folder / "mine.yaml")


def test_inline_prices(read: Reader) -> None:
    new = (
        "prices: {host: 9 kUSD, electricity: 0.1 USD/kWh, accelerators: {h100-sxm: "
        "{purchase: 25 kUSD, hourly: 2 USD/hour}}, fabrics: {25gbe: {nic: 0 USD}}}"
    )
    assert read("executor: {kind: auto}", new).prices == (("prices",),)


def test_price_lists_and_prices_in_the_study_may_follow_one_another(tmp_path: Path) -> None:
    (tmp_path / "vendor.csv").write_text("item,price\n")
    new = "prices: [vendor.csv, {host: 9 kUSD}]"
    (tmp_path / "study.yaml").write_text(VALID.replace("executor: {kind: auto}", new))
    first, second = read_study(tmp_path / "study.yaml", NAMES).prices
    assert Path(str(first)).samefile(tmp_path / "vendor.csv")
    assert second == ("prices", 1)


def test_everything_optional_may_be_left_out(read: Reader) -> None:
    lines = VALID.splitlines(keepends=True)
    needed = [*lines[:11], next(line for line in lines if line.startswith("objectives"))]
    study = read(text="".join(needed))
    assert study.target is None
    assert study.constraints == ()
    assert study.recommend is None


def test_calibration_as_one_word_or_a_list(read: Reader) -> None:
    assert read("space:", "calibration: here\nspace:").calibration == ("here",)
    assert read("space:", "calibration: [here, there]\nspace:").calibration == ("here", "there")


@pytest.mark.parametrize("value", NAMES.aggregations)
def test_aggregations_split(value: str) -> None:
    name = NAMES.aggregations[value]
    assert name == value
    assert pickle.loads(pickle.dumps(name)).transport == name.transport
    if value in NAMES.approaches:
        assert (name.algorithm, name.transport, name.approach) == ("", "", value)
        return
    assert f"{name.algorithm}-{name.transport}" == value
    assert name.algorithm in NAMES.algorithms
    assert name.transport in NAMES.transports
    assert name.approach == ""


def test_every_axis_takes_its_own_example(read: Reader) -> None:
    for name, spec in AXES.items():
        if name in ("node", "ps_servers"):
            continue
        space = {a: s.example for a, s in AXES.items() if a in ("accelerator", "gpus", "inter_node",
                 "batch_per_gpu", "aggregation")}  # fmt: skip
        space[name] = spec.example
        body = "".join(f"  {a}: {example}\n" for a, example in space.items())
        study = read(text=f"study: s\nworkload: vgg16\nspace:\n{body}objectives: "
                     "{maximize: throughput, minimize: power}\n")  # fmt: skip
        assert len(axis(study, name).values) >= 1
