"""The JSON Schema that `dse schema` prints, and the studies that ship."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.commands.command import dse, start
from tests.commands.reports import ROOT, SHIPPED

SCHEMA = ROOT / "docs" / "study.schema.json"


def test_the_schema_in_docs_is_the_one_printed(tmp_path: Path) -> None:
    done = dse("schema", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert SCHEMA.read_text() == done.stdout, "refresh: dse schema > docs/study.schema.json"


@pytest.mark.parametrize("study", SHIPPED, ids=lambda path: path.stem)
def test_shipped_studies_fit_the_schema(study: Path) -> None:
    text = study.read_text()
    jsonschema.validate(yaml.safe_load(text), json.loads(SCHEMA.read_text()))
    mark, _, path = text.partition("\n")[0].partition(": $schema=")
    assert (mark, (study.parent / path).resolve()) == ("# yaml-language-server", SCHEMA)


def test_a_reader_that_goes_away_is_no_error_of_ours(tmp_path: Path) -> None:
    running = start("schema", cwd=tmp_path)
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.close()
    said = running.stderr.read()
    running.stderr.close()
    running.wait(timeout=60)
    assert "Traceback" not in said
