"""The ready-made profiles: what their hash of the measurements is of."""

from __future__ import annotations

from pathlib import Path

from benchmarks.profiles import PROFILES, TABLE, rows_sha256
from dse.calibration.importers.logs import import_logs

HEADER = "system,nodes,ranks_per_node,ranks,library,transport,collective,bytes,time_us"
MINE = "mine,1,2,2,nccl-2.18,nvlink,all_reduce,{},5.0"
OTHER = "other,1,2,2,nccl-2.18,nvlink,all_reduce,8,5.0"


def table(folder: Path, *rows: str) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def test_only_the_rows_of_a_profile_count(tmp_path: Path) -> None:
    mine = [MINE.format(8), MINE.format(16)]
    alone = rows_sha256(table(tmp_path, *mine), "system=mine,library=nccl-2.18")
    assert alone == rows_sha256(table(tmp_path, mine[0], OTHER, mine[1]), "system=mine")
    assert alone != rows_sha256(table(tmp_path, mine[0]), "system=mine")
    changed = [mine[0], mine[1].replace("5.0", "6.0")]
    assert alone != rows_sha256(table(tmp_path, *changed), "system=mine")


def test_every_profile_rests_on_rows_of_its_own() -> None:
    hashes = {rows_sha256(TABLE, select) for select, _ in PROFILES.values()}
    assert len(hashes) == len(PROFILES)
    assert rows_sha256(TABLE, "system=nobody") not in hashes
    for select, _ in PROFILES.values():
        assert import_logs([TABLE], select=select).samples
