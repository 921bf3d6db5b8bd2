from __future__ import annotations

import pytest

from dse.catalog import fabric


def test_bits_become_bytes() -> None:
    assert fabric("100gbe").bytes_per_s == pytest.approx(12.5e9)
    assert fabric("nvlink4").bytes_per_s == pytest.approx(450e9)


def test_latency_is_in_seconds_by_protocol() -> None:
    assert fabric("10gbe").latency_s == pytest.approx({"rdma": 2e-6, "tcp": 30e-6})
    assert fabric("40gbe").latency_s == pytest.approx({"rdma": 1.93e-6})
    assert fabric("ib-xdr").latency_s == {}


def test_a_switch_port_is_a_share_of_its_switch() -> None:
    ndr = fabric("ib-ndr")
    assert ndr.prices_usd["switch_port"].value == pytest.approx(32_870 / 64, abs=0.05)
    assert ndr.switch_radix == 64
    assert next(f for f in ndr.facts if f.name == "prices.switch_port").status == "derived"


def test_cards_of_slingshot_meet_the_accelerators_at_the_bridge_of_the_host() -> None:
    assert fabric("slingshot-11").card_path == "host-bridge"
    assert fabric("ib-hdr").card_path == "pcie-switch"
