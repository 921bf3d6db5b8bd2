"""A study from its file to its report, through the command line."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from dse.commands.fleet import is_fleet
from tests.commands.command import dse, files, refused, said
from tests.pricing.studies import CONTINUOUS, IMPOSSIBLE, SMALL, written

ROOT = Path(__file__).parents[2]
SHIPPED = [path for path in sorted((ROOT / "search_spaces").glob("*.yaml")) if not is_fleet(path)]
SCHEMA = ROOT / "docs" / "study.schema.json"
AXES = ("accelerator", "gpus", "gpus_per_node", "inter_node", "batch_per_gpu", "precision",
        "aggregation", "bucket", "ps_servers")  # fmt: skip
MEASURES = ["speedup", "capital", "step_s", "throughput_samples_per_s", "extrapolated"]
REPORT = {"report.html", "report.md", "front.csv", "run.json"}


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "front.csv").read_text())))


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())
    return found


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a finished run of the small study, and what it printed."""
    folder = tmp_path_factory.mktemp("ran")
    written(folder)
    done = dse("run", "study.yaml", "--seed", "7", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "reports" / "small", done.stdout


def test_a_run_writes_its_report_and_nothing_else(ran: tuple[Path, str]) -> None:
    assert set(files(ran[0])) == REPORT
    assert set(files(ran[0].parents[1])) - {f"reports/small/{name}" for name in REPORT} == {
        "study.yaml", "reports", "reports/small"}  # fmt: skip


def test_a_run_ends_with_the_answer_in_words(ran: tuple[Path, str]) -> None:
    folder, printed = ran
    found = document(folder)
    best = found["recommended"]
    assert f"{best['gpus']} x {best['config']['accelerator']}" in printed
    assert "as fast as the baseline" in printed
    assert "within 5 %" in printed
    assert printed.splitlines()[-1] == "Report: reports/small/report.html"


def test_the_document_has_what_a_reader_relies_on(ran: tuple[Path, str]) -> None:
    found = document(ran[0])
    assert found["schema_version"] == 1
    assert found["study"]["name"] == "small"
    assert found["command"] == "dse run study.yaml --seed 7"
    assert found["seed"] == 7
    assert found["engine"] == "exhaustive"
    assert found["executor"] == "local"
    assert {"dse", "python", "numpy"} <= set(found["versions"])
    assert {"study", "catalogue", "calibration"} == set(found["hashes"])
    assert len(found["hashes"]["study"]) == len(found["hashes"]["catalogue"]) == 64
    assert found["counts"]["points"] == 2304
    assert 0 < found["counts"]["front"] < found["counts"]["feasible"] < 2304
    assert found["counts"]["ties"] == sum(point["ties"] for point in found["front"])
    assert 0 < found["timings"]["search_s"] < found["timings"]["total_s"]
    assert found["baseline"]["speedup"] == pytest.approx(1, rel=1e-12)
    assert found["recommended"]["config"] in [point["config"] for point in found["front"]]


def test_the_table_has_a_column_per_axis_and_then_the_measures(ran: tuple[Path, str]) -> None:
    found, table = document(ran[0]), rows(ran[0])
    header = list(table[0])
    assert header[-len(MEASURES) :] == MEASURES
    assert set(AXES) <= set(header[: -len(MEASURES)])
    assert header[: -len(MEASURES)] == [axis["name"] for axis in found["axes"]]
    assert len(table) == found["counts"]["front"] == len(found["front"])
    for row, point in zip(table, found["front"], strict=True):
        assert {name: row[name] for name in AXES} == {name: point["config"][name] for name in AXES}
        assert float(row["speedup"]) == point["speedup"]
        assert float(row["capital"]) == point["capital"]
        assert row["extrapolated"] in ("true", "false")
    speedups, costs = ([float(row[name]) for row in table] for name in ("speedup", "capital"))
    assert speedups == sorted(set(speedups))
    assert costs == sorted(set(costs))


def test_the_page_opens_without_a_network(ran: tuple[Path, str]) -> None:
    page = (ran[0] / "report.html").read_text()
    loaded = re.findall(
        r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["'](?!data:)""", page
    )
    assert loaded == []
    assert document(ran[0])["recommended"]["config"]["accelerator"] in page


def test_a_report_is_rebuilt_the_same(ran: tuple[Path, str]) -> None:
    folder = ran[0]
    before = files(folder)
    (folder / "report.html").unlink()
    (folder / "front.csv").write_text("lost")
    done = dse("report", folder, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"{folder}/report.html" in done.stdout
    assert files(folder) == before


def test_the_same_again_gives_the_same_front(ran: tuple[Path, str], tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("run", "study.yaml", "--out", "here/or there", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    printed = json.loads(done.stdout)
    again = tmp_path / "here" / "or there"
    assert printed == document(again)
    assert printed["command"] == "dse run study.yaml --out 'here/or there' --json"
    assert (again / "front.csv").read_bytes() == (ran[0] / "front.csv").read_bytes()
    assert not (tmp_path / "reports").exists()


def test_both_engines_find_the_same_front(ran: tuple[Path, str], tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("run", "study.yaml", "--engine", "guided", "--budget", "1e9", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "which are all there are, so the front is exact" in done.stdout
    guided = document(tmp_path / "reports" / "small")
    assert guided["engine"] == "guided"
    assert guided["counts"]["budget"] == 10**9
    assert guided["counts"]["space"] == guided["counts"]["points"]

    def shape(found: dict[str, Any]) -> list[tuple[float, float, int]]:
        return [(p["speedup"], p["capital"], p["ties"]) for p in found["front"]]

    assert shape(guided) == shape(document(ran[0]))


@pytest.mark.slow
def test_both_executors_find_the_same_front(ran: tuple[Path, str], tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("run", "study.yaml", "--executor", "ray", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "reports" / "small"
    assert document(folder)["executor"] == "ray"
    assert (folder / "front.csv").read_bytes() == (ran[0] / "front.csv").read_bytes()


def test_a_second_run_replaces_the_first(tmp_path: Path) -> None:
    written(tmp_path)
    assert dse("run", "study.yaml", cwd=tmp_path).returncode == 0
    written(tmp_path, SMALL.replace("200 kUSD", "50 kUSD"))
    assert dse("run", "study.yaml", cwd=tmp_path).returncode == 0
    folder = tmp_path / "reports" / "small"
    assert set(files(folder)) == REPORT
    assert max(float(row["capital"]) for row in rows(folder)) <= 50_000


def test_the_report_of_another_study_is_kept_under_another_name(tmp_path: Path) -> None:
    """Of its name in another file, or of another version; of the same it is replaced."""
    written(tmp_path)
    folder, kept = tmp_path / "reports" / "small", tmp_path / "reports" / "small.1"
    assert dse("run", "study.yaml", cwd=tmp_path).returncode == 0
    assert "is kept" not in dse("run", "study.yaml", "--seed", "3", cwd=tmp_path).stdout
    assert not kept.exists()
    before = files(folder)
    (tmp_path / "other.yaml").write_text(SMALL.replace("200 kUSD", "50 kUSD"))
    done = dse("run", "other.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "it is kept in reports/small.1." in done.stdout
    assert files(kept) == before
    assert document(folder)["study"]["path"] == "other.yaml"
    assert dse("report", kept, cwd=tmp_path).returncode == 0
    assert files(kept) == before
    assert dse("run", "study.yaml", "--json", cwd=tmp_path).returncode == 0
    assert (tmp_path / "reports" / "small.2" / "front.csv").exists()
    assert set(files(tmp_path / "reports")) == {
        name + file for name in ("small", "small.1", "small.2")
        for file in ("", *(f"/{report}" for report in REPORT))}  # fmt: skip


def several(folder: Path) -> None:
    """Study files: two that run, one without a feasible point, one with a mistake."""
    (folder / "studies").mkdir()
    written(folder / "studies", name="a.yaml")
    written(folder / "studies", SMALL.replace("study: small", "study: other"), "b.yaml")
    written(folder / "studies", IMPOSSIBLE, "c.yml")
    written(folder / "studies", SMALL.replace("gpus:", "gpsu:"), "d.yaml")
    (folder / "studies" / "notes.txt").write_text("no study")


def test_many_studies_are_run_whatever_becomes_of_one(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    several(tmp_path)
    done = dse("run", "studies", "ps-vs-allreduce", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2
    wrong, infeasible = said(done)
    assert wrong.startswith("studies/d.yaml:5:3: unknown key 'gpsu'")
    assert infeasible.startswith("studies/c.yml: none of 2,304 points meets every constraint")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "small", "other", "ps-vs-allreduce"}  # fmt: skip
    for name in ("small", "other"):
        assert set(files(tmp_path / "out" / name)) == REPORT
        front = (tmp_path / "out" / name / "front.csv").read_bytes()
        assert front == (ran[0] / "front.csv").read_bytes()
    assert "[1/5] small: exhaustive search" in done.stdout
    table = done.stdout.partition("\nstudy ")[2]
    best = document(ran[0])["recommended"]["config"]["accelerator"]
    assert re.search(rf"\nsmall +\d+ x {best}.*out/small/report.html", table)
    assert re.search(r"\nstudies/c.yml +failed: none of 2,304 points", table)
    assert re.search(r"\nstudies/d.yaml +failed: .*unknown key 'gpsu'", table)


def test_many_studies_as_json_are_a_list(tmp_path: Path) -> None:
    several(tmp_path)
    (tmp_path / "studies" / "d.yaml").unlink()
    done = dse("run", "studies", "--json", cwd=tmp_path)
    assert done.returncode == 3  # no feasible point, and nothing worse
    small, other, infeasible = json.loads(done.stdout)
    assert small == document(tmp_path / "reports" / "small")
    assert other == document(tmp_path / "reports" / "other")
    assert infeasible["study"] == {"path": "studies/c.yml"}
    assert [infeasible["error"]] == said(done)
    assert infeasible["exit_status"] == 3


def test_a_finished_run_is_not_searched_again(tmp_path: Path) -> None:
    written(tmp_path)
    first = dse("run", "study.yaml", cwd=tmp_path)
    report = tmp_path / "reports" / "small"
    before = files(report)
    again = dse("run", "study.yaml", "--resume", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "this search is finished" in again.stdout
    assert again.stdout.endswith(first.stdout[first.stdout.index("Recommended") :])
    assert files(report) == before
    (report / "front.csv").unlink()
    once_more = dse("run", "study.yaml", "--resume", cwd=tmp_path)
    assert "nothing to resume: starting afresh" in once_more.stdout
    assert files(report)["front.csv"] == before["front.csv"]


def test_many_studies_are_resumed_without_doing_one_twice(tmp_path: Path) -> None:
    several(tmp_path)
    studies = ("studies/a.yaml", "studies/b.yaml")
    assert dse("run", studies[0], "--resume", cwd=tmp_path).returncode == 0
    before = files(tmp_path / "reports" / "small")
    done = dse("run", *studies, "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("was done before") == 1
    assert files(tmp_path / "reports" / "small") == before
    assert set(files(tmp_path / "reports" / "other")) == REPORT
    written(tmp_path / "studies", SMALL.replace("200 kUSD", "100 kUSD"), "a.yaml")
    done = dse("run", *studies, "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("was done before") == 1  # the other one
    assert "is kept in reports/small.1" in done.stdout


def test_studies_of_one_name_are_refused(tmp_path: Path) -> None:
    written(tmp_path, name="a.yaml")
    written(tmp_path, name="b.yaml")
    done = dse("run", "a.yaml", "b.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert said(done)[0].startswith("b.yaml:1:8: study 'small' has the name of a.yaml; rename one")
    assert set(files(tmp_path / "reports" / "small")) == REPORT


def test_a_folder_without_studies_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    line = refused(dse("run", "empty", cwd=tmp_path))
    assert line == "dse: empty: no .yaml file is in this folder; name a folder with study files"


@pytest.mark.slow
def test_many_studies_share_one_ray(ran: tuple[Path, str], tmp_path: Path) -> None:
    several(tmp_path)
    studies = ("studies/a.yaml", "studies/b.yaml")
    done = dse("run", *studies, "--executor", "ray", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("small", "other"):
        folder = tmp_path / "reports" / name
        assert document(folder)["executor"] == "ray"
        assert (folder / "front.csv").read_bytes() == (ran[0] / "front.csv").read_bytes()


def test_check_says_the_size_and_writes_nothing(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("check", "study.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2,304 points" in done.stdout
    assert "exhaustive" in done.stdout
    assert json.loads(dse("check", "study.yaml", "--json", cwd=tmp_path).stdout)["points"] == 2304
    assert list(files(tmp_path)) == ["study.yaml"]


def test_explain_prices_one_point(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("explain", "study.yaml", "--set", "gpus=8", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    point = json.loads(done.stdout)
    assert point["config"]["gpus"] == "8"
    assert point["config"]["aggregation"] == "ps-grpc"  # the baseline's
    assert point["nodes"] == 2
    assert sum(point["terms"].values()) == pytest.approx(point["step_s"])
    assert {"fits_memory", "capital <= 200 kUSD"} <= set(point["constraints"])
    assert all(point["constraints"].values())
    printed = dse("explain", "study.yaml", "--set", "gpus=8", cwd=tmp_path).stdout
    assert f"{point['step_s'] * 1e3:.3f} ms" in printed
    assert list(files(tmp_path)) == ["study.yaml"]


def test_explain_says_which_constraint_is_missed(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("explain", "study.yaml", "--set", "batch_per_gpu=1024", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "not met: " in done.stdout
    assert "global_batch <= 2048" in done.stdout


def test_explain_says_why_a_point_was_not_measured(calibrated: Path) -> None:
    written(calibrated, SMALL + "calibration: [this-machine]\n")
    at = ["--set", "aggregation=ring-mpi", "--set", "gpus=16", "--set", "gpus_per_node=4"]
    done = dse("explain", "study.yaml", *at, cwd=calibrated)
    assert done.returncode == 0, done.stderr
    after = done.stdout.partition("calibration      outside the measured range:\n")[2]
    assert "4 nodes; measured 1" in after
    assert "16 ranks; measured 2-" in after
    point = json.loads(dse("explain", "study.yaml", *at, "--json", cwd=calibrated).stdout)
    assert all(f"                 {reason}\n" in after for reason in point["why_outside"])
    inside = json.loads(dse("explain", "study.yaml", "--set", "gpus=1", "--json", cwd=calibrated)
                        .stdout)  # fmt: skip
    assert inside["why_outside"] == []


@pytest.mark.parametrize(
    ("aggregation", "gpus", "folded"),
    [("halving-doubling-mpi", 12, 4), ("horovod-mpi", 17, 1), ("horovod-mpi", 16, 0),
     ("ring-mpi", 17, 0), ("baidu-mpi", 17, 0)],
)  # fmt: skip
def test_explain_says_why_a_few_more_ranks_take_longer(
    tmp_path: Path, aggregation: str, gpus: int, folded: int
) -> None:
    written(tmp_path)
    at = ["--set", f"aggregation={aggregation}", "--set", f"gpus={gpus}"]
    said = dse("explain", "study.yaml", *at, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert (f"{gpus} ranks, {folded} beyond a power of two" in said.stdout) == bool(folded)


def test_explain_takes_a_bandwidth_within_a_range_for_the_study_s_link(tmp_path: Path) -> None:
    """Its latency and prices are those of the range, as in the baseline."""
    written(tmp_path, CONTINUOUS)
    said = dse("explain", "study.yaml", "--set", "inter_node=20 Gbps", "--json", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    point = json.loads(said.stdout)
    assert point["not_searched"] == []
    assert point["step_s"] > 0
    assert point["costs"]["capital"] > 0
    outside = dse("explain", "study.yaml", "--set", "inter_node=200 Gbps", "--json", cwd=tmp_path)
    assert json.loads(outside.stdout)["not_searched"] == ["inter_node"]


def test_explain_says_what_the_search_never_tries(tmp_path: Path) -> None:
    written(tmp_path)
    said = dse("explain", "study.yaml", "--set", "gpus=17", "--set", "accelerator=t4", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    marked = [
        line for line in said.stdout.splitlines() if "(not in the study: never tried)" in line
    ]
    assert [line.split()[:2] for line in marked] == [["accelerator", "t4"], ["gpus", "17"]]
    inside = dse("explain", "study.yaml", "--set", "gpus=8", cwd=tmp_path).stdout
    assert "not in the study" not in inside


def test_explain_of_the_front_agrees_with_the_run(ran: tuple[Path, str]) -> None:
    row = rows(ran[0])[-1]
    chosen = [word for name in AXES if row[name] for word in ("--set", f"{name}={row[name]}")]
    done = dse("explain", "study.yaml", *chosen, "--json", cwd=ran[0].parents[1])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["speedup"] == pytest.approx(float(row["speedup"]), rel=1e-12)


@pytest.mark.parametrize("engine", ["exhaustive", "guided"])
def test_nothing_feasible_says_what_rejects_and_what_is_nearest(
    engine: str, tmp_path: Path
) -> None:
    written(tmp_path, IMPOSSIBLE.replace("budget: 6000", "budget: 300"))
    line = refused(dse("run", "study.yaml", "--engine", engine, cwd=tmp_path), status=3)
    assert "none of" in line
    assert "'capital <= 1 USD' rejects most" in line
    assert "nearest is" in line
    assert "gpus=1," in line + ","  # the cheapest is one accelerator
    assert "p100-sxm2-16gb" in line
    assert not any(path.is_file() for path in (tmp_path / "reports").rglob("*"))


def test_nothing_feasible_leaves_the_previous_report(tmp_path: Path) -> None:
    written(tmp_path)
    assert dse("run", "study.yaml", cwd=tmp_path).returncode == 0
    before = files(tmp_path / "reports")
    written(tmp_path, SMALL.replace("200 kUSD", "1 USD"))
    assert dse("run", "study.yaml", cwd=tmp_path).returncode == 3
    assert files(tmp_path / "reports") == before


def test_the_schema_in_docs_is_the_one_printed(tmp_path: Path) -> None:
    done = dse("schema", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert SCHEMA.read_text() == done.stdout, "refresh: dse schema > docs/study.schema.json"


def test_there_are_studies_to_start_from() -> None:
    assert {
        "example",
        "ethernet-upgrade",
        "ps-vs-allreduce",
        "gpu-generations",
        "speed-price-power",
    } <= {path.stem for path in SHIPPED}


@pytest.mark.parametrize("study", SHIPPED, ids=lambda path: path.stem)
def test_shipped_studies_fit_the_schema(study: Path) -> None:
    text = study.read_text()
    jsonschema.validate(yaml.safe_load(text), json.loads(SCHEMA.read_text()))
    assert text.startswith("# yaml-language-server: $schema=../docs/study.schema.json\n")


@pytest.mark.parametrize(
    "study",
    [pytest.param(p, marks=pytest.mark.slow) if p.stem == "billion" else p for p in SHIPPED],
    ids=[path.stem for path in SHIPPED],
)
def test_shipped_studies_run_as_they_are(study: Path, calibrated: Path) -> None:
    checked = dse("check", study.stem, cwd=calibrated)
    assert checked.returncode == 0, checked.stderr
    done = dse("run", study.stem, cwd=calibrated)
    assert done.returncode == 0, done.stderr
    folder = calibrated / "reports" / study.stem
    found = document(folder)
    assert set(files(folder)) == REPORT
    assert found["counts"]["front"] == len(rows(folder)) >= 3
    assert found["recommended"]["speedup"] > 1


def test_a_calibrated_study_says_so(calibrated: Path) -> None:
    renamed = calibrated / "calibrations" / "other-name.yaml"
    (calibrated / "calibrations" / "this-machine.yaml").rename(renamed)
    measured = SMALL.replace("ps-grpc", "ps-mpi")  # the baseline's transport too
    written(calibrated, measured + "calibration: [other-name]\n")
    done = dse("run", "study.yaml", "--json", cwd=calibrated)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (profile,) = found["calibration"]
    assert profile["path"] == "calibrations/other-name.yaml"
    assert profile["hash"] == found["hashes"]["calibration"]
    assert set(profile["algorithms"]) >= {"ring", "recursive-doubling", "halving-doubling"}
    at = ["--set", "aggregation=ring-mpi", "--set", "gpus=4", "--set", "bucket=4 MiB", "--set"]
    for per_node, outside in ("4", False), ("2", True):  # it was measured in one node
        chosen = [*at, f"gpus_per_node={per_node}"]
        point = json.loads(dse("explain", "study.yaml", *chosen, "--json", cwd=calibrated).stdout)
        assert point["extrapolated"] is outside
        low, high = point["interval"]["step_s"]
        assert low <= point["step_s"] <= high


def test_an_example_without_its_profile_says_how_to_make_it(tmp_path: Path) -> None:
    line = refused(dse("run", "example", cwd=tmp_path))
    assert "example.yaml:" in line
    assert "dse calibrate run" in line
    assert files(tmp_path) == {}


@pytest.mark.parametrize("kind", ["accelerators", "fabrics", "nodes", "workloads"])
def test_the_catalogue_is_shown(kind: str, tmp_path: Path) -> None:
    listed = json.loads(dse("catalog", kind, "--json", cwd=tmp_path).stdout)
    assert len(listed) >= 20
    done = dse("catalog", kind, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 20


def test_an_entry_is_shown_with_units_and_sources(tmp_path: Path) -> None:
    done = dse("catalog", "accelerators", "h100-sxm", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in ("80 GB", "TB/s", "USD", "http", "20"):
        assert words in done.stdout


def test_a_reader_that_goes_away_is_no_error_of_ours(tmp_path: Path) -> None:
    from tests.commands.command import start

    running = start("schema", cwd=tmp_path)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.close()
    said = running.stderr.read()
    running.stderr.close()
    running.wait(timeout=60)
    assert "Traceback" not in said
