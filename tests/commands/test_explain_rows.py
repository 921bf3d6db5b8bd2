"""Points of a finished run by their rows: alone, side by side, and where the run is an old one."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from dse.report.document_files import sealed
from tests.commands.command import dse
from tests.commands.reports import document, rows


def explained(ran: Path, *options: str) -> str:
    done = dse("explain", ran, *options, cwd=ran.parents[1])
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_a_row_is_the_point_of_the_run(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    for number, row in enumerate(rows(folder), 1):
        point = json.loads(explained(folder, "--row", str(number), "--json"))
        assert int(row["row"]) == number
        assert point["step_s"] == float(row["step_s"])
        assert point["costs"]["capital"] == float(row["capital_usd"])
        bill = sum(item["usd"] for item in point["bill"])
        assert bill == pytest.approx(point["costs"]["capital"])
        assert point["config"] == document(folder)["front"][number - 1]["config"]


def test_a_run_without_a_row_is_explained_at_its_recommended_point(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    folder, _ = ran
    found = document(folder)
    configs = [point["config"] for point in found["front"]]
    row = 1 + configs.index(found["recommended"]["config"])
    first, _, rest = explained(folder).partition("\n")
    assert first.startswith(f"The recommended point of small, row {row} of {len(configs)} (any by")
    assert rest == explained(folder, "--row", str(row)).partition("\n")[2]
    assert json.loads(explained(folder, "--json"))["config"] == found["recommended"]["config"]
    done = dse("explain", folder, "--set", "gpus=2", cwd=folder.parents[1])
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--set: is of a study" in done.stderr
    (tmp_path / "empty").mkdir()
    done = dse("explain", "empty", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_study_by_its_file_means_its_run(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    done = dse("explain", "study.yaml", "--row", "1", cwd=folder.parents[1])
    assert done.stdout == explained(folder, "--row", "1")


def test_two_rows_stand_side_by_side(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    front = document(folder)["front"]
    last = len(front)
    found = json.loads(explained(folder, "--row", "1", "--against", str(last), "--json"))
    one, other = front[0], front[-1]
    assert (found["row"], found["against_row"]) == (1, last)
    assert one["global_batch"] != other["global_batch"]
    assert found["per_samples"] == 1000
    lines = {line["name"]: line for line in found["lines"]}
    for axis, label in one["config"].items():
        if axis in lines and lines[axis]["value"]:
            assert (lines[axis]["value"], label) == (label, label)
            assert label != lines[axis]["against"]
    terms = [lines[name] for name in one["terms"] if name in lines]
    in_order = [line for line in found["lines"] if line in terms]
    sizes = [abs(line["against"] - line["value"]) for line in in_order]
    assert sizes == sorted(sizes, reverse=True)
    for point, key in ((one, "value"), (other, "against")):
        for term in terms:
            per_step = term[key] * point["global_batch"] / 1000
            assert per_step == pytest.approx(point["terms"][term["name"]])
    assert lines["speedup"]["against"] == other["speedup"]
    assert lines["speedup"]["interval"] == pytest.approx(one["interval"]["speedup"], rel=1e-5)
    drawn = other["interval"]["costs"]["capital"]
    assert lines["capital"]["against_interval"] == pytest.approx(drawn, rel=1e-5)
    parts = [line for line in found["lines"] if line["unit"] == "USD" and line["name"] != "capital"]
    spent = [sum(part[key] or 0.0 for part in parts) for key in ("value", "against")]
    costs = [point["costs"]["capital"] for point in (one, other)]
    assert spent[1] - spent[0] == pytest.approx(costs[1] - costs[0])  # what is in both is left out
    text = explained(folder, "--row", "1", "--against", str(last))
    for line in found["lines"]:
        assert f"\n{line['title']}  " in text


def test_a_point_beside_itself_differs_in_nothing(ran: tuple[Path, str]) -> None:
    found = json.loads(explained(ran[0], "--row", "1", "--against", "1", "--json"))
    assert (found["lines"], found["per_samples"]) == ([], None)


def test_a_run_of_another_catalogue_keeps_its_numbers(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    shutil.copytree(ran[0], tmp_path / "old")
    path = tmp_path / "old" / "run.json"
    found = document(path.parent)
    found["hashes"]["catalogue"] = "another"
    found["front"][1]["step_s"] = 123.456
    path.write_text(sealed(found))
    done = dse("explain", "old", "--row", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "The numbers are those of the run; catalogue changed since" in done.stdout
    assert "step             123.456 s" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--row", "0"), "dse: --row: the front of small has rows 1 to {last}, not 0;"),
        (("--row", "-1"), "dse: --row: the front of small has rows 1 to {last}, not -1;"),
        (("--row", "999"), "dse: --row: the front of small has rows 1 to {last}, not 999;"),
        (("--row", "1", "--against", "0"), "dse: --against: the front of small has rows 1 to"),
        (("--against", "1"), "dse: --against: needs another row beside it; add --row"),
        (("--row", "1", "--set", "gpus=8"), "dse: --set: is of a study, --row of a finished run"),
        (("--row", "one"), "invalid value for '--row': Input should be a valid integer"),
    ],
)
def test_a_row_that_is_not_there_is_one_line(
    options: tuple[str, ...], said: str, ran: tuple[Path, str]
) -> None:
    folder, _ = ran
    done = dse("explain", folder, *options, cwd=folder.parents[1])
    assert (done.returncode, done.stdout) == (2, "")
    assert said.format(last=len(rows(folder))) in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_without_a_run_and_a_study_without_one_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = dse("explain", "empty", "--row", "1", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "empty: the folder is empty; name the folder of a finished run" in done.stderr
    done = dse("explain", "ps-vs-allreduce", "--row", "1", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "there is no finished run of ps-vs-allreduce in reports/ps-vs-allreduce" in done.stderr


def test_a_run_is_exported_by_the_command(ran: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = ran
    for name in ("front.csv", "front.parquet", "front.xlsx"):
        done = dse("export", folder, tmp_path / name, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout == (
            f"wrote {len(rows(folder))} points of the front to {tmp_path / name}\n"
        )
    with (tmp_path / "front.csv").open(newline="") as file:
        names = csv.DictReader(file).fieldnames
    assert names == [*rows(folder)[0]]
    printed = dse("export", folder, "--format", "torchrun", "--row", "1", cwd=tmp_path).stdout
    assert printed.startswith("#!/bin/bash\n# Study small, row 1 of the front: ")
    done = dse("export", folder, "job.sh", "--format", "slurm", cwd=tmp_path)
    assert done.stdout == "wrote the recommended point for slurm to job.sh\n"
    assert "#SBATCH --nodes=" in (tmp_path / "job.sh").read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "OUT: is missing; name FILE.csv"),
        (("front.cvs",), "OUT: 'front.cvs' is no table and no storage; did you mean .csv?"),
        (("sqlite:///x.db", "--all"), "--all: is of tables"),
        (("--format", "pbs"), "--format: 'pbs' is not known"),
        (("--format", "slurm", "--all"), "--format: is of one point"),
        (("x.csv", "--row", "1"), "--row: needs --format"),
        (("--format", "slurm", "--row", "0"), "--row: the front of small has rows 1 to"),
    ],
)
def test_an_export_that_cannot_be_is_one_line(
    options: tuple[str, ...], said: str, ran: tuple[Path, str], tmp_path: Path
) -> None:
    done = dse("export", ran[0], *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dse: {said}")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
