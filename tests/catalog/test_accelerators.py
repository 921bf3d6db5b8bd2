from __future__ import annotations

from pathlib import Path

import pytest

from dse.catalog import accelerator


def test_values_are_si() -> None:
    card = accelerator("h100-sxm")
    assert card.memory_bytes == 81559 * 2**20
    assert card.memory_bytes_per_s == pytest.approx(3.35e12)
    assert card.intra_node_bytes_per_s == pytest.approx(450e9)
    assert card.power_w == 700
    assert card.peak_flops_per_s["fp16"] == pytest.approx(989e12)


def test_an_accelerator_without_its_own_links_uses_the_host_link() -> None:
    card = accelerator("t4")
    assert card.intra_node_bytes_per_s is None
    assert card.host_link == "pcie3-x16"


def test_cards_of_one_chip_agree() -> None:
    assert accelerator("a100-pcie-80gb").units == accelerator("a100-sxm4-40gb").units == 108
    assert accelerator("h200-sxm").generation == accelerator("h100-pcie").generation == "hopper"


def test_units_and_generation_may_be_left_out(own_models: Path) -> None:
    path = own_models / "accelerators" / "t4.yaml"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(x for x in lines if not x.startswith(("units:", "generation:"))))
    card = accelerator("t4")
    assert (card.units, card.generation) == (None, None)
