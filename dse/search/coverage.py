"""Whether a point is like what was measured, and how far off its aggregation may be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from dse.calibration import Profile
from dse.model.arrays import Array, Mask
from dse.model.collectives import node_count
from dse.model.step import AUTO

if TYPE_CHECKING:
    from dse.search.setting import Setting

NORMAL_MEDIAN = 0.6745  # of |x| for a standard normal x
NORMAL_P90 = 1.645  # its 90th percentile
OUTSIDE_WIDENING = 2.0  # of the held-out error where nothing like the point was measured
MEASURED_ELEMENT_BYTES = 4  # calibration sums float32
SAME_SPEED = 1.1  # two links whose speeds differ by less are called equal
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
    "NVIDIA A100-SXM4-80GB" and "a100_sxm" are an a100-sxm4-40gb, an "H100 PCIe" is no h100-sxm.
    """
    model, *_ = _words(accelerator)
    return model in _words(measured) and len({_board(measured), _board(accelerator)} - {""}) < 2


def same_kind(measured: str, link: str) -> bool:
    """Whether two names of links do not contradict each other."""
    kinds = {kind for kind in (_kind(measured), _kind(link)) if kind}
    return len(kinds) < 2


def in_range(setting: Setting) -> Mask:
    """Whether the aggregation was measured like this; one accelerator aggregates nothing."""
    alone = np.asarray(setting.gpus <= 1)
    profile = setting.profile
    if profile is None or not _like_sizes(setting, profile):
        return alone
    few, many = profile.ranks
    nodes = node_count(setting.gpus, setting.gpus_per_node)
    if setting.between is not None:
        slow, fast = setting.between.link_bytes_per_s
        speed = 1.0 / setting.network.wire_s_per_byte()
        measured = (setting.gpus >= few) & (setting.gpus <= many) & (nodes == setting.gpus)
        like = (speed * SAME_SPEED >= slow) & (speed <= fast * SAME_SPEED)
        return np.asarray(alone | (measured & like))
    if setting.algorithm != AUTO:
        many = min(many, profile.cores)  # beyond, ranks shared cores: no cluster does that
    measured = (setting.gpus >= few) & (setting.gpus <= many) & (nodes <= profile.max_nodes)
    if setting.algorithm == AUTO:
        return np.asarray(alone | (measured & alike(setting, profile)))
    return np.asarray(alone | (measured & (setting.algorithm in profile.measured_algorithms)))


def alike(setting: Setting, profile: Profile) -> Mask:
    """Whether device, element, ranks per node and links are those of a library's own choice."""
    assert profile.auto is not None
    if setting.precision.gradient_bytes != MEASURED_ELEMENT_BYTES:
        return np.asarray(False)
    local = np.minimum(setting.gpus, setting.gpus_per_node)
    few, most = profile.auto.ranks_per_node
    fits = (local >= few) & (local <= min(most, profile.cores))
    one = node_count(setting.gpus, setting.gpus_per_node) <= 1
    links = np.where(one, True, _like_network(setting, profile)) & _like_inside(setting)
    return np.asarray(fits & links & _like_device(setting, profile))


def held_out_error(setting: Setting) -> Array:
    """One factor per draw for the error on what the fit has not seen; shape (draws, ...).

    Log-normal, as wide as the profile's held-out error (the wider reading of its median and its
    90th percentile), and twice as wide outside the measured range. One factor for the whole step:
    its messages err together, and so do two points of the same algorithm on the same side of the
    measured range; errors of other points are independent. 1 where nothing is measured.

    For the library's own choice the profile says how wide: it grows with every doubling of ranks
    and bytes beyond what was measured, and twice as wide is what is not alike besides.
    """
    profile = setting.profile
    if profile is None:
        return np.ones((1,) * (setting.rank + 1))
    measured = in_range(setting)
    if setting.algorithm == AUTO:
        assert profile.auto is not None
        draws = setting.problem.draw_count
        spread = profile.auto.log_spread(
            setting.gpus, setting.gpus_per_node, np.asarray(_octaves(setting, profile))
        )
        unlike = ~(alike(setting, profile) | (setting.gpus <= 1))
        width: Array = spread * np.where(unlike, OUTSIDE_WIDENING, 1.0)
    else:
        draws = setting.problem.draw_count
        judged = setting.between or profile.fit(setting.algorithm)
        widest = max(judged.error / NORMAL_MEDIAN, judged.error_p90 / NORMAL_P90)
        width = widest * np.where(measured, 1.0, OUTSIDE_WIDENING)
    inside, outside = (
        np.random.default_rng(crc32(f"{setting.algorithm} {side}".encode()))
        .standard_normal(draws)
        .reshape((-1,) + (1,) * setting.rank)
        for side in ("inside", "outside")
    )
    return np.exp(width * np.where(measured, inside, outside))


def _octaves(setting: Setting, profile: Profile) -> float:
    """Doublings between the measured sizes and the message farthest from them."""
    low, high = profile.message_bytes
    sizes = [max(bucket.message_bytes, 1.0) for bucket in setting.buckets]
    return max((max(np.log2(low / size), np.log2(size / high), 0.0) for size in sizes), default=0.0)


def _like_sizes(setting: Setting, profile: Profile) -> bool:
    """Whether every message and its elements are as large as measured."""
    sizes = [bucket.message_bytes for bucket in setting.buckets]
    low, high = profile.message_bytes
    if not sizes or min(sizes) < low or max(sizes) > high:
        return False
    return setting.precision.gradient_bytes == MEASURED_ELEMENT_BYTES


def _like_device(setting: Setting, profile: Profile) -> Mask:
    if not setting.transport.reaches_device:
        return np.asarray(True)  # host memory is measured, whatever computes beside it
    return setting.machine(lambda m: same_device(profile.device, m.accelerator.name)) > 0


def _like_inside(setting: Setting) -> Mask:
    """Whether the accelerators of a node meet over the link they come with."""
    found = setting.at("intra_node")
    if found is None or not setting.transport.reaches_device:
        return np.asarray(True)
    own = setting.machine(lambda m: m.intra_bytes_per_s)
    chosen = setting.inside_bytes_per_s / setting.transport.link_efficiency
    return np.asarray(np.abs(np.log(chosen / own)) <= np.log(SAME_SPEED))


def _like_network(setting: Setting, profile: Profile) -> Mask:
    """Whether the link between nodes is as fast as the one measured, and of no other kind."""
    if profile.link_bytes_per_s is None:
        return np.asarray(False)
    axis, names = setting.network_names
    kind = np.array([same_kind(profile.link, name) for name in names])
    speed = np.abs(np.log(setting.slower)) <= np.log(SAME_SPEED)
    return np.asarray(speed & kind[setting.coordinates[axis].at])


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
