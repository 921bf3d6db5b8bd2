"""dse.calibration.hardware_names: what a log names, and what the catalogue does."""

from __future__ import annotations

import pytest

from dse.calibration.hardware_names import same_device, same_kind


@pytest.mark.parametrize(
    ("measured", "accelerator", "same"),
    [
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-40gb", True),
        ("a100_sxm", "a100-sxm4-80gb", True),
        ("A100", "a100-sxm4-40gb", True),  # the log does not tell the board,
        ("A100", "a100-pcie-80gb", False),  # but few such logs are of PCIe cards
        ("NVIDIA H100 80GB HBM3", "h100-sxm", True),
        ("NVIDIA H100 80GB HBM3", "h100-pcie", False),
        ("NVIDIA H100 PCIe", "h100-sxm", False),
        ("GH200", "h200-sxm", False),
        ("H100-SXM5", "h100-sxm", True),
        ("Tesla V100-SXM2-16GB", "v100-sxm2-32gb", True),
        ("l40s", "l40s", True),
        ("cpu", "a100-sxm4-40gb", False),
        ("", "h100-sxm", False),
    ],
)
def test_devices_are_matched_by_model_and_board(
    measured: str, accelerator: str, same: bool
) -> None:
    assert same_device(measured, accelerator) is same


@pytest.mark.parametrize(
    ("measured", "link", "same"),
    [
        ("edr-ib", "ib-edr", True),
        ("edr-ib", "100gbe", False),
        ("slingshot-cxi", "slingshot-11", True),
        ("EFA 4x100 Gbps", "aws-efa-v1", True),
        ("EFA 4x100 Gbps", "ib-hdr", False),
        ("tcp", "25gbe", True),  # tells nothing of the wire
        ("200 Gb Ethernet", "200gbe", True),
        ("200 Gb Ethernet", "", True),  # a link described in the study
    ],
)
def test_links_are_matched_by_kind(measured: str, link: str, same: bool) -> None:
    assert same_kind(measured, link) is same
