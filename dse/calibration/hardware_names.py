"""Whether names of devices and links in a log and in the catalogue mean the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Words by which a link's name tells its kind; a link of another kind was not measured.
LINK_KINDS = {
    "ethernet": ("gbe", "ethernet", "roce"),
    "infiniband": ("infiniband", "ib", "edr", "hdr", "ndr", "xdr"),
    "efa": ("efa",),
    "slingshot": ("slingshot", "cxi"),
}
_WORD = re.compile(r"[a-z]+[0-9]*[a-z]*|[0-9]+[a-z]*")


def same_device(measured: str, accelerator: str) -> bool:
    """Whether a log's device and a catalogue's accelerator are the same model.

    Their names must share the model's word (a100, h100 ...) and must not name different boards:
    "NVIDIA A100-SXM4-80GB" and "a100_sxm" are an a100-sxm4-40gb, an "H100 PCIe" is no h100-sxm. A
    name without a board is not taken for a PCIe card, which does without the others' links.
    """
    model, *_ = _words(accelerator)
    boards = {_board(measured), _board(accelerator)}
    return model in _words(measured) and (len(boards) == 1 or boards == {"", "sxm"})


def nearest_device(measured: str, accelerators: Iterable[str]) -> str | None:
    """The accelerator that a log's device is, by most words in common; None if it is none."""
    words = set(_words(measured))
    same = [name for name in accelerators if same_device(measured, name)]
    return max(same, key=lambda name: len(words & set(_words(name))), default=None)


def same_kind(measured: str, link: str) -> bool:
    """Whether two names of links do not contradict each other."""
    kinds = {kind for kind in (_kind(measured), _kind(link)) if kind}
    return len(kinds) < 2


def surely_same_kind(measured: str, link: str) -> bool:
    """Whether two names of links both say of which kind they are, and it is the same."""
    return _kind(measured) == _kind(link) != ""


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _board(name: str) -> str:
    words = _words(name)
    if "pcie" in words:
        return "pcie"
    return "sxm" if any(word.startswith(("sxm", "hbm3")) for word in words) else ""


def _kind(name: str) -> str:
    words = {word.lstrip("0123456789") for word in _words(name)}
    return next((kind for kind, known in LINK_KINDS.items() if words & set(known)), "")
