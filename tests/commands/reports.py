"""Reports that the commands wrote, as tests read them, and the studies that ship."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from dse.catalog.store import shipped_studies
from dse.report.document_files import TABLES
from dse.report.json_form import by_row
from dse.text_source import is_fleet

ROOT = Path(__file__).parents[2]
SHIPPED = [path for path in shipped_studies().values() if not is_fleet(path)]
AXES = ("accelerator", "gpus", "gpus_per_node", "inter_node", "batch_per_gpu", "precision",
        "aggregation", "bucket", "ps_servers")  # fmt: skip
REPORT = {"report.html", "report.md", "front.csv", "bom.csv", "sources.csv", "run.json"}


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "front.csv").read_text())))


def document(folder: Path, name: str = "run.json") -> dict[str, Any]:
    """What a report's document says, without its checksum: written again, it may be another."""
    found: dict[str, Any] = json.loads((folder / name).read_text())
    assert len(found.pop("checksum")) == 64
    return found if name == "fleet.json" else found | {name: by_row(found[name]) for name in TABLES}
