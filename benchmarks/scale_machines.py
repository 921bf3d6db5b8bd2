"""Which systems of benchmarks/data/scale_*.csv are one machine under several names.

A machine that is judged is left out under all of its names. MLPerf names NVIDIA's systems with A100
``dgxa100`` in every round, which is the machine of NVIDIA's examples. Those with V100 are ``dgx1``
and ``dgx2h``, both in one series of resnet50, so that its machine is both. Polaris was measured
over two transports. H100 of NVIDIA's (``dgxh100``, ``eos``) have one name here, and other makers'
systems are told apart by the maker and the accelerator alone, so that two models of one maker are
one machine.
"""

from __future__ import annotations

NAMES = {
    "Polaris": ("polaris-ofi", "polaris-tcp"),
    "NVIDIA DGX A100": ("dgx-a100", "nvidia-a100-sxm4-40gb", "nvidia-a100-sxm4-80gb"),
    "NVIDIA DGX-1 and DGX-2": ("dgx-1", "dgx-2", "nvidia-v100-sxm2-32gb"),
}
_MACHINES = {system: machine for machine, systems in NAMES.items() for system in systems}


def machine_of(system: str) -> str:
    """The machine behind a system's name; by default the system is one of its own."""
    return _MACHINES.get(system, system)
