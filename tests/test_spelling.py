"""What a misspelt or shortened name was meant to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.spelling import (
    MOST,
    abridged,
    alike,
    alternatives,
    enumerated,
    meant,
    of_model,
    product,
)

KNOWN = ("a10", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb", "h100-sxm", "gpus",
         "gpus_per_node", "resnet50", "ib-hdr", "ib-edr", "polaris-ofi", "polaris-tcp",
         "10gbe", "25gbe")  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("a100", ("a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb")),
        ("a100-sxm4", ("a100-sxm4-40gb", "a100-sxm4-80gb")),
        ("polaris", ("polaris-ofi", "polaris-tcp")),
        ("gpu", ("gpus",)),
        ("Resnet5O", ("resnet50",)),
        ("resnt50", ("resnet50",)),
        ("hdr-ib", ("ib-hdr",)),
        ("H100_SXM", ("h100-sxm",)),
        ("infiniband", ("ib-edr", "ib-hdr")),
        ("Infiniband HDR", ("ib-hdr",)),
        ("ethernet", ("10gbe", "25gbe")),
        ("sxm4", ("a100-sxm4-40gb", "a100-sxm4-80gb")),
        ("zebra", ()),
        ("a", ()),
        ("", ()),
        ("x" * 1000, ()),
    ],
)
def test_what_was_meant(typed: str, expected: tuple[str, ...]) -> None:
    assert sorted(alike(typed, KNOWN)) == sorted(expected)


def test_it_is_asked_in_words() -> None:
    assert meant("polaris", KNOWN) == "did you mean polaris-ofi or polaris-tcp?"
    assert meant("zebra", KNOWN, "look there") == "look there"
    assert meant("zebra", ()) == ""


@given(st.text(max_size=100))
def test_any_text_gets_few_known_names(typed: str) -> None:
    found = alike(typed, KNOWN)
    assert len(found) <= MOST
    assert set(found) <= set(KNOWN)


@pytest.mark.parametrize(("words", "said"), [(["a"], "a"), (["a", "b"], "a {} b"),
                                             (["a", "b", "c"], "a, b {} c")])  # fmt: skip
def test_lists_in_a_sentence(words: list[str], said: str) -> None:
    assert alternatives(words) == said.format("or")
    assert enumerated(words) == said.format("and")
    assert enumerated(["Host", "Card, 400 Gbps", "Cable"]) == "Host; Card, 400 Gbps; and Cable"
    assert (
        enumerated(["a run", "a pause, which counts, too"])
        == "a run and a pause, which counts, too"
    )


def test_a_long_list_is_abridged() -> None:
    assert abridged(list("abcdef")) == "a, b, c, d, e, f"
    assert abridged(list("abcdefgh")) == "a, b, c, d, e, f, ..."


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("h20", ()),
        ("b100", ()),
        ("a1000", ()),
        ("h1oo", ("h100-sxm",)),
        ("nvidia-h100", ("h100-sxm",)),
        ("resnet18", ()),
        ("resnt50", ("resnet50",)),
        ("a100-80", ("a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb")),
    ],
)
def test_a_product_shares_its_number_with_what_it_may_be(
    typed: str, expected: tuple[str, ...]
) -> None:
    assert set(of_model(typed, KNOWN)) == set(expected)


def test_a_name_without_a_number_may_be_any() -> None:
    assert of_model("resnet", KNOWN) == list(KNOWN)


def test_what_begins_with_a_product_is_of_it() -> None:
    known = {"albert": "no", "mi300a": "neither"}
    assert product("ALBERT-xxlarge", (), known) == product("albert", (), known) == "no"
    assert product("MI 300A", ["mi300"], known) == "neither"
    assert {product(name, (), known) for name in ("alberta", "mi300x", "")} == {""}
    for own in ("mi300a", "AMD MI300A", "mi300a-128gb"):
        assert product("Instinct MI300A 128GB", [own], known) == ""
