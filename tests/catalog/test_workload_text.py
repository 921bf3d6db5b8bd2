"""A workload written as one file is the same workload when it is read again."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from dse.catalog import names, read_workload, workload, workload_text
from dse.errors import StudyError
from tests.catalog.test_model_config import MIXTRAL, of


@pytest.mark.parametrize("name", [*names("workloads")[::4], "mixtral"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    found = of(tmp_path, MIXTRAL) if name == "mixtral" else workload(name)
    path = tmp_path / "mine.yaml"
    path.write_text(workload_text(found), encoding="utf-8")
    again = read_workload(path)
    for field in fields(found):
        if field.name != "facts":
            was, now = getattr(found, field.name), getattr(again, field.name)
            if isinstance(was, np.ndarray):
                np.testing.assert_array_equal(was, now)
            else:
                assert was == now, field.name


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("layer0.ln1.w,tensor,4096,0,,", "layer0.ln1.w,tensor,many,0,,", "params:"),
        (
            "layer0.ln1.w,tensor,4096,0,,",
            "layer0.ln1.w,tensor,4096",
            "3 values where the header has 6 columns",
        ),
        ("layer0.ln1.w,element-wise", "layer0.lm1.w,element-wise", "did you mean layer0.ln1.w?"),
        ("layer,kind,m,", "layer,kind,", "is not a table of rows of work"),
    ],
)
def test_a_mistake_in_a_table_has_the_line_of_the_file(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    text = workload_text(of(tmp_path, MIXTRAL))
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    line = next(at for at, row in enumerate(text.splitlines(), 1) if old in row)
    with pytest.raises(StudyError) as found:
        read_workload(path)
    assert found.value.line == line
    assert said in str(found.value)


def test_names_that_yaml_and_csv_would_misread(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**MIXTRAL, "num_hidden_layers": 1}))
    from dse.catalog import workload_of_config

    for name in ("no", "1e9", "a: b", 'it\'s, "so"', "ö"):
        path = tmp_path / "mine.yaml"
        path.write_text(workload_text(workload_of_config(config, 8, name)), encoding="utf-8")
        assert read_workload(path).name == name
