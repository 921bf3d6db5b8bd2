"""`owned` in a study: what it says, and one clear line for what is wrong in it."""

from __future__ import annotations

import pytest

from dse.errors import StudyError
from dse.study import OwnedHardware, Wire

from .conftest import VALID, Reader

OURS = "owned: {accelerator: p100-sxm2-16gb, gpus: 8, gpus_per_node: 4, inter_node: 25 Gbps}\n"


def test_an_entry_alone_and_a_list(read: Reader) -> None:
    (entry,) = read(text=VALID + OURS).owned
    assert (entry.axis, entry.machine, entry.count) == ("accelerator", "p100-sxm2-16gb", 8)
    assert (entry.gpus_per_node, entry.nics_per_node) == (4, None)
    assert isinstance(entry.inter_node, Wire)
    assert entry.inter_node.latency_s == 5e-6, "as on the axis"
    more = (
        "owned: [{accelerator: v100-sxm2-16gb, gpus: 4}, {accelerator: p100-sxm2-16gb, gpus: 8}]\n"
    )
    first, second = read(text=VALID + more).owned
    assert first == OwnedHardware("accelerator", "v100-sxm2-16gb", 4)
    assert second == OwnedHardware("accelerator", "p100-sxm2-16gb", 8)
    assert read(text=VALID).owned == ()


def test_machines_sold_whole_are_counted(read: Reader) -> None:
    text = VALID.replace("  accelerator: [p100-sxm2-16gb, v100-sxm2-16gb]", "  node: [dgx-h100]")
    text = text.replace("{accelerator: p100-sxm2-16gb, gpus: 8", "{node: dgx-h100, gpus: 8")
    (entry,) = read(text=text + "owned: [{node: dgx-h100, nodes: 3}]\n").owned
    assert (entry.axis, entry.machine, entry.count) == ("node", "dgx-h100", 3)


BAD = {
    "nothing": ("owned: []", ("owned is empty", "write owned: {accelerator")),
    "unknown accelerator": ("owned: {accelerator: p100-smx2-16gb, gpus: 8}",
        ("no such accelerator", "did you mean p100-sxm2-16gb?")),
    "unknown network": ("owned: {accelerator: p100-sxm2-16gb, gpus: 8, inter_node: 25gb}",
        ("no such fabric", "did you mean 25gbe?")),
    "unknown key": ("owned: {accelerator: p100-sxm2-16gb, gpu: 8}",
        ("unknown key 'gpu'", "did you mean gpus")),
    "negative": ("owned: {accelerator: p100-sxm2-16gb, gpus: -8}", ("-8 is negative",)),
    "none": ("owned: {accelerator: p100-sxm2-16gb, gpus: 0}", ("0 is zero",)),
    "half": ("owned: {accelerator: p100-sxm2-16gb, gpus: 8.5}", ("not a whole number",)),
    "no count": ("owned: {accelerator: p100-sxm2-16gb}", ("missing key 'gpus'", "add gpus: 8")),
    "no machine": ("owned: {inter_node: 25 Gbps}", ("names no machines",)),
    "loose parts": ("owned: {inter_node: 25 Gbps, switches: 2}", ("unknown key 'switches'",)),
    "nodes of accelerators": ("owned: {accelerator: p100-sxm2-16gb, nodes: 2}",
        ("nodes does not go with accelerator", "drop it; write gpus: 8")),
    "other machines than the space": ("owned: {node: dgx-h100, nodes: 2}",
        ("the space has accelerator, not node", "write accelerator, gpus and gpus_per_node")),
    "both": ("owned: {node: dgx-h100, accelerator: p100-sxm2-16gb, gpus: 2}",
        ("node does not go with accelerator", "drop it")),
    "accelerators of a node": ("owned: {node: dgx-h100, nodes: 2, gpus_per_node: 8}",
        ("gpus_per_node does not go with node", "write nodes: 8")),
    "text": ("owned: eight V100s", ("is not a mapping",)),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_gets_one_line(name: str, read: Reader) -> None:
    line, parts = BAD[name]
    with pytest.raises(StudyError) as caught:
        read(text=f"{VALID}{line}\n")
    said = str(caught.value)
    assert "\n" not in said
    assert caught.value.line == VALID.count("\n") + 1
    assert caught.value.column >= 1
    for part in parts:
        assert part in said


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("minimize: capital", "minimize: hourly", "hourly"),
        ("minimize: capital", "minimize: [capital, per_run]", "per_run"),
        ('"capital <= 2 MUSD"', '"hourly <= 50 USD/hour"', "hourly"),
    ],
)
def test_a_study_of_rent_owns_nothing(old: str, new: str, name: str, read: Reader) -> None:
    with pytest.raises(StudyError, match=f"owned: {name} is rent") as caught:
        read(text=VALID.replace(old, new) + OURS)
    assert "compare capital or tco, or drop owned" in str(caught.value)
    assert caught.value.line == VALID.count("\n") + 1
