from __future__ import annotations

from pathlib import Path

import pytest

from dse import catalog
from dse.catalog.transports import LIBRARIES, transport
from dse.errors import StudyError
from dse.model.aggregation.library_rules import MPI_RULES


def test_the_libraries_a_transport_may_name_are_those_with_rules() -> None:
    assert set(LIBRARIES) == {*MPI_RULES, "nccl"}


def test_a_library_without_rules_is_refused_where_it_stands(tmp_path: Path) -> None:
    text = (catalog.models_dir() / "transports" / "nccl.yaml").read_text()
    own = tmp_path / "mine.yaml"
    own.write_text(text.replace("libraries: nccl", "libraries: ncl"))
    with pytest.raises(StudyError, match=r"mine\.yaml:\d+:\d+: no rules of 'ncl' are known"):
        transport(own)
