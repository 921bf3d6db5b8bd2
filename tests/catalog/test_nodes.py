from __future__ import annotations

from dse.catalog import Fact, node


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
