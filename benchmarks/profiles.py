"""Fits the ready-made profiles in models/calibrations/ to what others have published.

``python -m benchmarks.profiles`` writes them all anew from benchmarks/data/allreduce.csv, for users
who have no hardware to measure yet.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from dataclasses import replace
from pathlib import Path

from dse.calibration import write_profile
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.importers.logs import import_logs

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "benchmarks" / "data" / "allreduce.csv"
OUT = ROOT / "models" / "calibrations"
RECALLED = ("alps", "polaris")  # systems whose link speed was not found in a source
READ = "2026-11-21"  # when the published numbers were read

# name -> rows of the table, and the link's speed per node in Gbps: of AWS and OCI as their sources
# state it, of Alps (4 cards of 200) and Polaris (2 of 200) recalled, not checked.
PROFILES: dict[str, tuple[str, float | None]] = {
    "a100-node": ("system=aic-a100_sxm", None),
    "a100-node-azure": ("system=superbench", None),
    "alps-gh200-cxi": ("system=alps,transport=slingshot-cxi", 800.0),
    "alps-gh200-sockets": ("system=alps,transport=slingshot-sockets", 800.0),
    "aws-p4de-efa": ("system=aws-p4de", 400.0),
    "aws-p5-efa": ("system=aws-p5,library=nccl-2.22.3", 3200.0),
    "aws-p5-node": ("system=aws-p5-node", None),
    "h100-cluster01": ("system=cluster01", None),
    "h100-node": ("system=aic-h100_sxm", None),
    "h100-node-snellius": ("system=snellius", None),
    "l40s-node": ("system=aic-l40s", None),
    "lassen-mpi": ("system=lassen", None),
    "oci-mpi-144": ("system=oci-optimized3", 100.0),
    "polaris-ofi": ("system=polaris,library=nccl-2.18,transport=ofi", 400.0),
    "polaris-ofi-nccl-2.21": ("system=polaris,library=nccl-2.21,transport=ofi", 400.0),
    "polaris-tcp": ("system=polaris,library=nccl-2.18,transport=tcp", 400.0),
}


def main() -> None:
    """Fit and write every profile, or those named on the command line."""
    for name in sys.argv[1:] or PROFILES:
        select, gbps = PROFILES[name]
        found = import_logs([TABLE], select=select, name=name)
        speed = gbps * 1e9 / 8 if gbps else None
        samples = tuple(
            replace(s, link_bytes_per_s=speed if s.nodes > 1 else None) for s in found.samples
        )
        source = found.source.partition("table: ")[2].rstrip(")")
        about = replace(found, samples=samples, date=f"read {READ}", source=f"published: {source}")
        if name.startswith(RECALLED):
            told = f"the links of a node together carry {gbps:g} Gbps (recalled, not checked)"
            about = replace(about, assumed=(*about.assumed, told))
        profile = fit_experiments([about], name, rows_sha256(TABLE, select), TABLE.name)
        write_profile(profile, OUT / f"{name}.yaml")
        assert profile.auto is not None
        print(f"{name}: median error {profile.auto.error:.0%} on held-out {profile.auto.held_out}, "
              f"{len(samples)} points")  # fmt: skip


def rows_sha256(table: Path, select: str) -> str:
    """Hash of the table's header and of the rows that ``select`` takes, byte for byte.

    Rows of other systems may come and go without a profile seeming to rest on other numbers.
    """
    wanted = dict(part.split("=") for part in select.split(","))
    header, *lines = table.read_text(encoding="utf-8").splitlines()
    names = header.split(",")
    rows = csv.DictReader(lines, names)
    kept = [
        line
        for line, row in zip(lines, rows, strict=True)
        if all(row[column] == value for column, value in wanted.items())
    ]
    return hashlib.sha256("\n".join([header, *kept]).encode()).hexdigest()


if __name__ == "__main__":
    main()
