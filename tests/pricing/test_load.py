"""dse.pricing.load: what a study may not leave unknown, and what it may override."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.catalog import read_workload
from dse.errors import StudyError
from dse.pricing.load import EQUAL_LAYERS, load
from dse.pricing.problem import Problem
from dse.report.assumptions import assumptions
from dse.study.questions import Questions
from tests.pricing import priced, studies


def changed(folder: Path, *pairs: tuple[str, str]) -> Problem:
    text = studies.SMALL
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return load(studies.written(folder, text))


def test_mistakes_of_the_profiles_and_prices_of_a_study_are_told_at_once(tmp_path: Path) -> None:
    prices = "prices: {accelerators: {h100-sxmm: {hourly: 3}, h100-sxm: {purchase: 3 GB}}}\n"
    with pytest.raises(StudyError) as caught:
        changed(tmp_path, ("search:", f"calibration: [polaris-off, mine]\n{prices}search:"))
    profile, _, *priced_ = str(caught.value).splitlines()
    assert "no calibration profile 'polaris-off'" in profile
    assert "did you mean polaris-ofi?" in profile
    assert ["h100-sxmm: no such accelerator" in priced_[0], "'3 GB'" in priced_[1]] == [True, True]


def test_a_limit_in_another_currency_counts_at_the_rate_of_the_studys_own_list(
    tmp_path: Path,
) -> None:
    """By hand: 185 kEUR at 1.08; a mistake in the list is told alone, and a rate that is missing
    at its place."""
    (tmp_path / "rates.yaml").write_text("currencies: {EUR: {value: 1.08 USD, date: 2026-11-02}}\n")
    limit = ("capital <= 350 kUSD", "capital <= 185 kEUR")
    named = ("search: {", "prices: rates.yaml\nsearch: {")
    (found,) = (one for one in changed(tmp_path, limit, named).study.constraints
                if one.text.startswith("capital"))  # fmt: skip
    assert found.text == "capital <= 185 kEUR (EUR at USD 1.08 of 2026-11-02)"
    assert found.limit == ("capital", "<=", 199_800.0)
    with pytest.raises(StudyError, match=r":18:40: constraint: 'kEUR' .* no rate is given"):
        changed(tmp_path, limit)
    (tmp_path / "rates.yaml").write_text("currencies: {EUR: 0 USD}\n")
    with pytest.raises(StudyError) as caught:
        changed(tmp_path, limit, named)
    (line,) = str(caught.value).splitlines()
    assert "rates.yaml:1:" in line
    asked = Questions(budget="100 kEUR")
    (tmp_path / "rates.yaml").write_text("currencies: {EUR: 1.08 USD}\n")
    problem = load(studies.written(tmp_path, f"{studies.SMALL}prices: rates.yaml\n"), asked)
    assert problem.study.constraints[-1].text == "capital <= 100 kEUR (EUR at USD 1.08)"


def test_every_value_that_cannot_be_priced_is_told(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as caught:
        changed(
            tmp_path,
            ("[p100-sxm2-16gb, v100-sxm2-16gb]", "[p100-sxm2-16gb, b300-sxm, mi325x]"),
            ("    - 10gbe\n", "    - 10gbe\n    - aws-efa-v2\n"),
        )
    places = [(one.line, one.column) for one in caught.value.mistakes]
    assert places == [(4, 33), (9, 7)]


def capital(problem: Problem, **values: object) -> float:
    point = {**problem.study.baseline.values, **values}
    return float(np.ravel(problem.point(point)["capital"])[0])  # type: ignore[arg-type]


def test_an_unknown_purchase_price_is_refused_where_money_counts(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="b300-sxm has no known purchase price") as caught:
        changed(tmp_path, ("[p100-sxm2-16gb, v100-sxm2-16gb]", "[p100-sxm2-16gb, b300-sxm]"))
    assert caught.value.line == 4


def test_its_price_in_the_study_mends_that(tmp_path: Path) -> None:
    problem = changed(
        tmp_path,
        ("[p100-sxm2-16gb, v100-sxm2-16gb]", "[p100-sxm2-16gb, b300-sxm]"),
        ("search:", "prices: {accelerators: {b300-sxm: {purchase: 50000 USD}}}\nsearch:"),
    )
    plain = capital(problem)
    assert capital(problem, accelerator="b300-sxm") - plain == 4 * (50_000 - 7_400)


def test_own_host_and_fabric_prices_count(tmp_path: Path) -> None:
    before = capital(changed(tmp_path), gpus=8)
    prices = "prices: {host: 10000 USD, fabrics: {10gbe: {nic: 1000 USD}}}\nsearch:"
    after = capital(changed(tmp_path, ("search:", prices)), gpus=8)
    assert before - after == 2 * (85_000 - 10_000) + (2 + 1) * (150 - 1_000) + 75_000


def test_the_prices_that_an_inline_link_lacks_are_named(tmp_path: Path) -> None:
    def link(given: str) -> Problem:
        inline = f"    - {{bandwidth: 25 Gbps, latency: 5 us, nic: 300 USD{given}}}\n"
        return changed(tmp_path, ("    - 10gbe\n", inline), ("inter_node: 10gbe,", ""))

    with pytest.raises(StudyError) as caught:
        link("")
    assert str(caught.value).endswith(
        " has no known price of switch_port and cable; give switch_port and cable in its mapping"
    )
    assert capital(link(", switch_port: 200 USD, cable: 60 USD")) > 0
    assert capital(link(", fabric: 25gbe")) > 0


def test_a_baseline_that_nobody_gave_is_told_so(tmp_path: Path) -> None:
    text = studies.SMALL.replace("precision: [fp32", "precision: [fp8")
    text = text[: text.index("baseline:")] + text[text.index("constraints:") :]
    with pytest.raises(StudyError, match=r"no baseline: is given.*\(accelerator=.*precision=fp8"):
        load(studies.written(tmp_path, text))


def test_a_workload_may_be_described_in_the_study(tmp_path: Path) -> None:
    inline = (
        "workload: {name: mine, params: 1e8, forward_flops: 1e10, activation_bytes: 50 MB,"
        " input_bytes: 600 kB}"
    )
    problem = changed(tmp_path, ("workload: resnet50", inline))
    assert problem.workload.name == "mine"
    assert problem.layers.total_params == pytest.approx(1e8)
    assert problem.layers.forward_flops.sum() == pytest.approx(1e10)
    assert problem.layers.kept.elems == 25e6
    assert problem.baseline_samples_per_s > 0


def test_three_numbers_describe_a_workload(tmp_path: Path) -> None:
    short = "workload: {params: 1e8, forward_flops: 1e10, activation_bytes: 50 MB"
    problem = changed(tmp_path, ("workload: resnet50", f"{short}}}"))
    assert problem.workload.name == "own-model"
    assert problem.workload.input_bytes is None
    assert problem.baseline_samples_per_s > 0
    counted = changed(tmp_path, ("workload: resnet50", f"{short}, gradient_tensors: 161}}"))
    assert len(counted.tensors[0]) == 161
    listed = changed(
        tmp_path, ("workload: resnet50", f"{short}, gradient_tensors: [1e7, 3e7, 6e7]}}")
    )
    assert listed.tensors[0] == pytest.approx([6e7, 3e7, 1e7])
    assert listed.workload.gradient_tensors == 3
    assert listed.workload.layer_forward_flops == pytest.approx([6e9, 3e9, 1e9])


def test_memory_that_is_not_known_cannot_be_compared(tmp_path: Path) -> None:
    unknown = "workload: {params: 1e8, forward_flops: 1e10, activation_bytes: unknown}"
    found = changed(tmp_path, ("workload: resnet50", unknown))
    assert np.isnan(found.baseline["memory_slack"]).all()
    limit = ("constraints: [fits_memory", 'constraints: ["memory_slack >= 1 GiB"')
    with pytest.raises(StudyError, match="activations of own-model are unknown, so memory_slack"):
        changed(tmp_path, ("workload: resnet50", unknown), limit)


def test_without_a_layer_table_gradients_are_summed_beside_the_backward_pass(
    tmp_path: Path,
) -> None:
    inline = (
        "workload: {name: mine, params: 1e8, forward_flops: 1e10, activation_bytes: 50 MB,"
        " input_bytes: 6 kB}"
    )
    problem = changed(tmp_path, ("workload: resnet50", inline))
    values = priced.point(
        problem, gpus=8, gpus_per_node=4, batch_per_gpu=512, aggregation="ring-mpi"
    )
    terms = problem.point(values).step
    assert 0 <= float(terms["exposed_s"][0]) < float(terms.comm_s[0]) / 2
    (said,) = (line for line in assumptions(problem) if "layers of mine" in line)
    assert f"{EQUAL_LAYERS} equal ones stand for them" in said


def test_a_node_brings_its_accelerators_network_and_price() -> None:
    problem = load(Path(__file__).parents[2] / "benchmarks/search/studies/gpu-generations.yaml")
    evaluation = problem.point({**problem.study.baseline.values, "gpus": 16})
    assert float(np.ravel(evaluation["gpus_per_node"])[0]) == 8
    hourly = float(np.ravel(evaluation["hourly"])[0])
    assert hourly == pytest.approx(2 * 24.48)  # aws-p3.16xlarge, DAWNBench 2018
    part = problem.point({**problem.study.baseline.values, "gpus": 4})
    assert float(np.ravel(part["hourly"])[0]) == pytest.approx(24.48)  # no half machines


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("minimize: capital", "minimize: tco", "tpu-v5p has no known link to its host"),
        ("precision: fp32, aggregation", "precision: fp8, aggregation", "cannot be priced"),
    ],
)
def test_what_cannot_be_priced_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    pairs = [(old, new)]
    if "tpu" in message:
        pairs.append(("[p100-sxm2-16gb, v100-sxm2-16gb]", "[p100-sxm2-16gb, tpu-v5p]"))
    with pytest.raises(StudyError, match=message):
        changed(tmp_path, *pairs)


def test_an_inline_link_is_filled_from_its_fabric(tmp_path: Path) -> None:
    inline = "    - {bandwidth: 10 Gbps, fabric: 10gbe}\n"
    own = changed(tmp_path, ("    - 10gbe\n", inline), ("inter_node: 10gbe", "inter_node: 10 Gbps"))
    plain = changed(tmp_path)
    assert capital(own, gpus=8) == capital(plain, gpus=8)
    assert own.baseline_samples_per_s == pytest.approx(plain.baseline_samples_per_s)


def test_a_link_without_a_latency_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="10 Gbps has no latency"):
        changed(tmp_path, ("    - 10gbe\n", "    - 10 Gbps\n"), ("inter_node: 10gbe,", ""))


def test_the_study_of_the_reference_page_is_complete(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "study.md").read_text(encoding="utf-8")
    text = page.partition("```yaml\n")[2].partition("```")[0]
    without_profile = text.replace("calibration: [this-machine]", "# no profile")
    assert without_profile != text
    assert load(studies.written(tmp_path, without_profile)).space.size > 1000


def test_layers_of_a_workload_in_the_study_must_add_up(tmp_path: Path) -> None:
    (tmp_path / "layers.csv").write_text(
        "layer,kind,params,forward_flops,output_elems,saved_elems\n"
        "one,linear,2e7,4e9,1000,1000\ntwo,linear,8e7,6e9,1000,1000\n",
        encoding="utf-8",
    )
    inline = (
        "workload: {name: mine, params: 1e8, forward_flops: 1e10, activation_bytes: 50 MB,"
        " input_bytes: 6 kB, layers: layers.csv}"
    )
    problem = changed(tmp_path, ("workload: resnet50", inline))
    assert problem.layers.total_params == 1e8
    for key, old, wrong in (("params", "1e8", "1.1e8"), ("forward_flops", "1e10", "2e10")):
        with pytest.raises(StudyError) as found:
            changed(tmp_path, ("workload: resnet50", inline.replace(old, wrong)))
        assert (found.value.line, found.value.column) == (2, 1 + inline.index(old))
        assert f"{key} is {float(wrong):.6g} but the layers add up to {float(old):.6g}" in str(
            found.value
        )


def workload_of_the_page(folder: Path) -> str:
    """The workload file of the reference page, written to a folder beside its layers."""
    page = (Path(__file__).parents[2] / "docs" / "study.md").read_text(encoding="utf-8")
    blocks = page.partition("Such a file, `mine.yaml`")[2].split("```text\n")[1:3]
    workload, layers = (block.partition("```")[0] for block in blocks)
    (folder / "layers.csv").write_text(layers, encoding="utf-8")
    (folder / "mine.yaml").write_text(workload, encoding="utf-8")
    return workload


def test_the_workload_file_of_the_reference_page_is_complete(tmp_path: Path) -> None:
    workload = workload_of_the_page(tmp_path)
    problem = changed(tmp_path, ("workload: resnet50", "workload: mine.yaml"))
    assert (problem.workload.title, problem.workload.family) == ("Our encoder", "encoder")
    assert problem.layers.total_params == 34e6
    assert problem.baseline_samples_per_s > 0
    lines = workload.splitlines()
    for line in lines:
        key = line.partition(":")[0]
        left = "\n".join(other for other in lines if other != line)
        (tmp_path / "mine.yaml").write_text(left, encoding="utf-8")
        if key == "family":  # the one that may be left out
            assert read_workload(tmp_path / "mine.yaml").family == "other"
            continue
        with pytest.raises(StudyError, match=f"{key} is missing; (add|name)"):
            read_workload(tmp_path / "mine.yaml")


def test_layers_may_not_be_unknown(tmp_path: Path) -> None:
    text = workload_of_the_page(tmp_path).replace("layers.csv", "unknown")
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError) as found:
        changed(tmp_path, ("workload: resnet50", "workload: mine.yaml"))
    said = str(found.value)
    assert "mine.yaml:8:9: layers: no file 'unknown'; name a table with layer,kind,params" in said
    assert "a network whose layers are not known is described in the study" in said


def test_a_study_without_an_optimizer_takes_the_usual_one(tmp_path: Path) -> None:
    def optimizer(problem: Problem) -> tuple[str, ...]:
        axis = problem.study.axis("optimizer")
        assert axis is not None
        return axis.labels

    bert = ("workload: resnet50", "workload: bert-large-s128")
    small = ("[32, 64, 256]", "[4, 8]")
    start = ("batch_per_gpu: 32,", "batch_per_gpu: 4,")
    found = changed(tmp_path, bert, small, start)
    assert optimizer(found) == ("adam",)
    assert found.usual_optimizer is not None
    assert found.study.baseline.labels["optimizer"] == "adam"
    given = changed(tmp_path, bert, small, start, ("  bucket:", "  optimizer: momentum\n  bucket:"))
    assert optimizer(given) == ("momentum",)
    assert given.usual_optimizer is None
    less = np.ravel(found.baseline["memory_slack"]) - np.ravel(given.baseline["memory_slack"])
    assert less[0] == pytest.approx(-4 * found.workload.params * 1.03, rel=0.02)
    assert optimizer(changed(tmp_path)) == ("momentum",)
