"""What a study's numbers rest on where the PAI paper's closed model prices the steps."""

from __future__ import annotations

from dse.pricing.efficiency import DEFAULT_EFFICIENCY

PAI_LINES = (
    "Steps are priced by the closed model of Wang et al., 'Characterizing Deep Learning Training "
    "Workloads on Alibaba-PAI' (IISWC 2019), known from reading notes: a step is T_d + T_c + T_w, "
    "input, computing and weights one after the other, or the longest of the three where overlap "
    "is ideal.",
    "T_w is twice the bytes of all gradients over the bandwidth of every medium on the way: PCIe "
    "for parameter servers in one node (1wng), Ethernet and PCIe across nodes (PS/Worker), NVLink "
    "for allreduce in one node, Ethernet and NVLink across nodes. NVLink stands for the link "
    "inside a node, Ethernet for all network cards of a node together.",
    f"Every link reaches {DEFAULT_EFFICIENCY:.0%} of its bandwidth (unverified), and "
    "every accelerator has its link to the host to itself.",
    "The model leaves out latency, messages, buckets, algorithms, transports and their copies, "
    "contention, the number and place of servers, and profiles.",
    "Its intervals: computing errs as steps at 70 % of both peaks do on published training rates, "
    "and what links move by a factor of 2.3 either way in 90 % of cases, which is a judgement.",
)
