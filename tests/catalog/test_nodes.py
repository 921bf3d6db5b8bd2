from __future__ import annotations

from pathlib import Path

import pytest

from dse.catalog import Fact, names, node, node_of, nodes_with
from dse.catalog.nodes import NO_RDMA, RDMA
from dse.catalog.store import find
from dse.errors import StudyError


def _usd(price: Fact | None) -> float | None:
    return None if price is None else price.value


def test_a_node_is_complete() -> None:
    dgx = node("dgx-a100-40gb")
    assert (dgx.accelerator, dgx.accelerators) == ("a100-sxm4-40gb", 8)
    assert (dgx.inter_node, dgx.nics) == ("ib-hdr", 8)
    assert dgx.cores == 128
    assert _usd(dgx.purchase_usd) == 199_000
    assert dgx.hourly_usd is None


def test_the_most_recent_price_counts() -> None:
    assert _usd(node("aws-p5.48xlarge").hourly_usd) == 55.04


def test_a_price_whose_source_is_doubtful_does_not_count() -> None:
    assert _usd(node("dgx-h100").purchase_usd) == 375_000


def test_the_cores_of_a_host_may_be_unknown() -> None:
    server = node("mi300x-8")
    assert server.cores is None
    assert next(f for f in server.facts if f.name == "cores").status == "unknown"


def test_the_maker_of_a_host_is_said_where_it_is_known() -> None:
    assert node("aws-p5.48xlarge").host == node("dgx-a100-80gb").host == "amd"
    assert node("mi300x-8").host == ""


def test_links_inside_a_node_may_join_several() -> None:
    found = {name: node(name) for name in names("nodes")}
    wide = {name for name, one in found.items() if one.scale_up_domain != one.accelerators}
    assert wide == {"gb200-nvl72-tray", "gb300-nvl72-tray"}
    assert {found[name].scale_up_domain for name in wide} == {72}
    assert {name for name, one in found.items() if one.sold_in != one.accelerators} == wide
    assert {found[name].sold_in for name in wide} == {72}


def test_an_accelerator_may_come_in_one_node_type_alone() -> None:
    assert node_of("gb200") == "gb200-nvl72-tray"
    assert node_of("h100-sxm") is node_of("b300-sxm") is None
    assert {"dgx-h100", "aws-p5.48xlarge"} <= set(nodes_with("h100-sxm"))


@pytest.mark.parametrize("count", [2, 70])
def test_a_scale_up_domain_has_whole_nodes(tmp_path: Path, count: int) -> None:
    path = tmp_path / "tray.yaml"
    text = find("nodes", "gb200-nvl72-tray").read_text()
    path.write_text(text.replace("value: 72,", f"value: {count},"))
    with pytest.raises(StudyError, match=r"tray.yaml:\d+:\d+: scale_up_domain \d+ .* multiple of"):
        node(path)


def test_every_node_type_says_how_its_cards_reach_memory() -> None:
    found = {name: node(name).rdma for name in names("nodes")}
    assert set(found.values()) <= set(RDMA)
    assert all("rdma" in {fact.name for fact in node(name).facts} for name in found)
    assert found["aws-p4d.24xlarge"] == found["aws-p5.48xlarge"] == "efa"
    assert found["azure-nd40rs-v2"] == found["dgx-h100"] == "infiniband"
    assert found["gcp-a3-ultragpu-8g"] == "roce"
    without = {name for name, rdma in found.items() if rdma == NO_RDMA}
    assert {"aws-p2.8xlarge", "aws-p3.16xlarge", "gcp-a2-highgpu-8g"} <= without


def test_an_unknown_rdma_is_refused_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(find("nodes", "dgx-h100").read_text().replace("value: infiniband", "value: ib"))
    with pytest.raises(StudyError, match=r"mine\.yaml:\d+:\d+: rdma 'ib'; write efa, roce"):
        node(path)
