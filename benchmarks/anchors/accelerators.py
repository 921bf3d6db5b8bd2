"""Accelerators of published rows that the catalogue does not have.

Dense peaks with fp32 accumulation, bandwidth, power and streaming multiprocessors are those of
NVIDIA's data sheets, recalled and not checked. They help to fit and to judge anchors; no study can
name them.
"""

from __future__ import annotations

from types import MappingProxyType

from dse import catalog
from dse.catalog import Accelerator

TERA = 1e12


def _outside(
    name: str,
    title: str,
    generation: str,
    units: int,
    bytes_per_s: float,
    power_w: float,
    tera: dict[str, float],
) -> Accelerator:
    """tera: dense peaks in TFLOP/s by precision; "16" stands for fp16 and bf16."""
    peaks = {precision: value * TERA for precision, value in tera.items() if precision != "16"}
    peaks |= dict.fromkeys(("fp16", "bf16"), tera["16"] * TERA)
    return Accelerator(
        name=name,
        title=title,
        memory_bytes=None,
        memory_bytes_per_s=bytes_per_s,
        intra_node_bytes_per_s=None,
        host_link=None,
        power_w=power_w,
        compute_capability=None,
        peak_flops_per_s=MappingProxyType(peaks),
        notes="",
        facts=(),
        generation=generation,
        units=units,
    )


OUTSIDE = {
    found.name: found
    for found in (
        _outside("a100-pcie-40gb", "NVIDIA A100 PCIe 40 GB", "ampere", 108, 1.555e12, 250,
                 {"fp32": 19.5, "tf32": 156, "16": 312}),
        _outside("gh200", "NVIDIA GH200 96 GB", "hopper", 132, 4.0e12, 700,
                 {"fp32": 67, "tf32": 494.5, "16": 989, "fp8": 1979}),
        _outside("rtx-8000", "NVIDIA Quadro RTX 8000", "turing", 72, 672e9, 260,
                 {"fp32": 16.3, "16": 130.5}),
        _outside("rtx-a6000", "NVIDIA RTX A6000", "ampere", 84, 768e9, 300,
                 {"fp32": 38.7, "tf32": 77.4, "16": 154.8}),
        _outside("rtx-6000-ada", "NVIDIA RTX 6000 Ada", "ada", 142, 960e9, 300,
                 {"fp32": 91, "tf32": 182, "16": 364}),
        _outside("rtx-3090", "NVIDIA GeForce RTX 3090", "ampere", 82, 936e9, 350,
                 {"fp32": 35.6, "tf32": 35.6, "16": 71}),
        _outside("rtx-4090", "NVIDIA GeForce RTX 4090", "ada", 128, 1008e9, 450,
                 {"fp32": 82.6, "tf32": 82.6, "16": 165}),
    )
}  # fmt: skip
# Their boards run above the clocks of their data sheets, so their peaks are not those.
CONSUMER = frozenset({"rtx-3090", "rtx-4090"})


def accelerator(name: str) -> Accelerator:
    """One of the catalogue or of :data:`OUTSIDE`."""
    return OUTSIDE[name] if name in OUTSIDE else catalog.accelerator(name)
