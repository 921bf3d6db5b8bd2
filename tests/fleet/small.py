"""Small populations and fleet studies, written to files."""

from __future__ import annotations

from pathlib import Path

HEADER = "class,cnodes,flops,memory_bytes,input_bytes,weight_bytes"
ROWS = (
    "1w1g,1,1e12,50e9,10e6,0",
    "1wng,4,1e12,50e9,10e6,200e6",
    "PS/Worker,16,1e12,50e9,10e6,500e6",
    "ps-worker,4,2e12,20e9,1e6,100e6",
    "AllReduce-Local,8,2e12,20e9,1e6,100e6",
)
TABLE = "\n".join((HEADER, *ROWS)) + "\n"
HARDWARE = """\
hardware:
  gpu: 11 TFLOP/s
  memory: 1 TB/s
  pcie: 10 GB/s
  ethernet: 25 Gbps
  nvlink: 50 GB/s
  efficiency: 0.7
  gpus_per_server: 8
"""
STUDY = f"""\
fleet: small
population: jobs.csv
{HARDWARE}upgrades:
  - {{ethernet: [100gbe, 40 Gbps]}}
  - {{name: both, pcie: 50 GB/s, gpu: 64 TFLOP/s, price_per_gpu: 500 USD}}
ports: [allreduce-local, pearl]
money: {{gpus: 100, busy: 0.5, gpu_hour: 2 USD/hour, amortisation_years: 4}}
"""


def written(folder: Path, study: str = STUDY, table: str = TABLE) -> Path:
    """A study and its table in ``folder``."""
    (folder / "jobs.csv").write_text(table, encoding="utf-8")
    path = folder / "study.yaml"
    path.write_text(study, encoding="utf-8")
    return path
