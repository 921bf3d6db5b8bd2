"""Whether a point is like what was measured, and how far off its aggregation may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import numpy as np

from dse.calibration import Profile
from dse.calibration.hardware_names import same_device, same_kind
from dse.calibration.network_part import NetworkFit
from dse.calibration.number_text import short, size_text, span_text
from dse.calibration.ps_part import ServersFit
from dse.model.arrays import Array, Mask
from dse.model.collectives import node_count
from dse.model.step import AUTO
from dse.pricing import served
from dse.pricing.efficiency import compute_log_spread

if TYPE_CHECKING:
    from dse.pricing.setting import Setting

NORMAL_MEDIAN = 0.6745  # of |x| for a standard normal x
NORMAL_P90 = 1.645  # its 90th percentile
OUTSIDE_WIDENING = 2.0  # of the held-out error where nothing like the point was measured
MEASURED_ELEMENT_BYTES = 4  # calibration sums float32
# Median error of the roofline on accelerators and networks it was not fitted to (nothing in it is
# fitted): `make accuracy`, 14 rows of 2017. Carried into every interval.
COMPUTE_ERROR_MEDIAN = 0.32
CLOSED = "model pai is a formula of which nothing is measured"
SAME_SPEED = 1.1  # two links whose speeds differ by less are called equal


def in_range(setting: Setting) -> Mask:
    """Whether the aggregation was measured like this; one accelerator aggregates nothing."""
    if setting.problem.closed:
        return np.asarray(False)
    inside = np.asarray(True)
    for mask, _ in _checks(setting):
        inside = inside & mask
    return np.asarray((setting.gpus <= 1) | inside)


def why_outside(setting: Setting) -> list[str]:
    """What of a single point was not measured, and what was: '128 ranks; measured 2-8' ..."""
    if setting.problem.closed:
        return [CLOSED]
    if np.all(setting.gpus <= 1):
        return []
    return [text() for mask, text in _checks(setting) if not np.all(mask)]


def alike(setting: Setting, profile: Profile) -> Mask:
    """Whether device, element, ranks per node and links are those of a library's own choice."""
    same = _same_element(setting)[0]
    for mask, _ in _chosen_checks(setting, profile):
        same = same & mask
    return np.asarray(same)


Check: TypeAlias = tuple[Mask, Callable[[], str]]  # which points pass, and what to say of one else


def _checks(setting: Setting) -> Iterator[Check]:
    """Everything that a point must have in common with what was measured."""
    profile = setting.profile
    if profile is None:
        what = f"no profile of this study has measured {setting.algorithm} over"
        if setting.approach is not None:
            what = "priced by what the catalogue says of an approach, which nobody measured here:"
        yield np.asarray(False), lambda: f"{what} {setting.transport.name}"
        return
    yield _same_element(setting)
    if setting.served is not None:
        yield _sizes(setting, setting.served)
        yield from served.checks(setting, setting.served, SAME_SPEED)
        return
    yield _sizes(setting, profile)
    yield from _counts(setting, profile)
    if setting.between is not None:
        yield from _between_checks(setting, setting.between)
    elif setting.algorithm == AUTO:
        yield from _chosen_checks(setting, profile)
    else:
        known = ", ".join(profile.measured_algorithms)
        what = f"{setting.algorithm} was not measured; its steps cost as those of {known}"
        yield np.asarray(setting.algorithm in profile.measured_algorithms), lambda: what


def _same_element(setting: Setting) -> Check:
    width = setting.precision.gradient_bytes
    what = f"gradients of {width:g} bytes an element; measured {MEASURED_ELEMENT_BYTES}"
    return np.asarray(width == MEASURED_ELEMENT_BYTES), lambda: what


def _sizes(setting: Setting, profile: Profile | ServersFit) -> Check:
    """Whether every message is as large as measured."""
    sizes = [bucket.message_bytes for bucket in setting.buckets] or [0.0]
    low, high = profile.message_bytes

    def text() -> str:
        ends = dict.fromkeys(size_text(size) for size in (min(sizes), max(sizes)))
        return f"messages of {' to '.join(ends)}; measured {size_text(low)} to {size_text(high)}"

    return np.asarray(min(sizes) >= low and max(sizes) <= high), text


def _counts(setting: Setting, profile: Profile) -> Iterator[Check]:
    """As many ranks, nodes, and of ranks measured with forced algorithms a core for each."""
    n, nodes = setting.gpus, node_count(setting.gpus, setting.gpus_per_node)
    few, many = profile.ranks
    if setting.between is None:
        most = profile.max_nodes
        yield (
            np.asarray(nodes <= most),
            lambda: f"{_one(nodes):,.0f} nodes; measured {span_text(1, most)}",
        )
        if setting.algorithm != AUTO:
            many = min(many, profile.cores)  # beyond, ranks shared cores: no cluster does that
    own_core = " with a core each" * (many < profile.ranks[1])
    yield (
        np.asarray((n >= few) & (n <= many)),
        lambda: f"{_one(n):,.0f} ranks; measured {span_text(few, many)}{own_core}",
    )


def _between_checks(setting: Setting, measured: NetworkFit) -> Iterator[Check]:
    """As many ranks a node as were measured between nodes, and a link as fast."""
    local = np.minimum(setting.gpus, setting.gpus_per_node)
    few, most = measured.ranks_per_node
    yield (
        np.asarray((local >= few) & (local <= most)),
        lambda: f"{_one(local):,.0f} ranks per node; measured {span_text(few, most)} between nodes",
    )
    slow, fast = measured.link_bytes_per_s
    speed = 1.0 / setting.network.wire_s_per_byte()
    yield (
        np.asarray((speed * SAME_SPEED >= slow) & (speed <= fast * SAME_SPEED)),
        lambda: f"a link of {_gbps(_one(speed))} Gbps; measured {_span_gbps(slow, fast)}",
    )


def _chosen_checks(setting: Setting, profile: Profile) -> Iterator[Check]:
    """Ranks per node, links and device of a library's own choice."""
    assert profile.auto is not None
    local = np.minimum(setting.gpus, setting.gpus_per_node)
    few, most = profile.auto.ranks_per_node
    most = min(most, profile.cores)
    yield (
        np.asarray((local >= few) & (local <= most)),
        lambda: f"{_one(local):,.0f} ranks per node; measured {span_text(few, most)}",
    )
    one = node_count(setting.gpus, setting.gpus_per_node) <= 1
    yield (
        np.asarray(one | _like_network(setting, profile)),
        lambda: _other_link(setting, profile),
    )
    yield (
        _like_inside(setting),
        lambda: "another link inside the node than the accelerator comes with",
    )
    yield (
        _like_device(setting, profile),
        lambda: f"another accelerator; measured on {profile.device}",
    )


def _other_link(setting: Setting, profile: Profile) -> str:
    if profile.link_bytes_per_s is None:
        return f"the speed of the link that was measured ({profile.link}) is not known"
    here = profile.link_bytes_per_s / _one(setting.slower)
    measured = f"{_gbps(profile.link_bytes_per_s)} Gbps a node ({profile.link})"
    axis, names = setting.network_names
    name = names[int(np.ravel(setting.coordinates[axis].at)[0])]
    return (
        f"another link: {_gbps(here)} Gbps a node{f' ({name})' * bool(name)}; measured {measured}"
    )


def _one(values: Array) -> float:
    return float(np.ravel(values)[0])


def _gbps(bytes_per_s: float) -> str:
    return short(8e-9 * bytes_per_s)


def _span_gbps(slow: float, fast: float) -> str:
    if fast <= 0:
        return "one whose speed is not known"
    ends = dict.fromkeys((_gbps(slow), _gbps(fast)))
    return f"{' to '.join(ends)} Gbps"


def held_out_error(setting: Setting) -> Array:
    """One factor per draw for the error on what the fit has not seen; shape (draws, ...).

    Log-normal, as wide as the profile's held-out error (the wider reading of its median and its
    90th percentile), and twice as wide outside the measured range. A relative error e is read as
    the factor x of which (x - 1/x) / 2 = e, the mean of x - 1 for a time that is too long and
    1 - 1/x for one that is too short; so ln x = arcsinh(e). One factor for the whole step:
    its messages err together, and so do two points of the same algorithm on the same side of the
    measured range; errors of other points are independent. 1 where nothing is measured.

    For the library's own choice the profile says how wide: it grows with every doubling of ranks
    and bytes beyond what was measured, and twice as wide is what is not alike besides. So it does
    for measured parameter servers.
    """
    profile = setting.profile
    if profile is None:
        return np.ones((1,) * (setting.rank + 1))
    measured = in_range(setting)
    if setting.algorithm == AUTO:
        assert profile.auto is not None
        draws = setting.problem.draw_count
        octaves = np.asarray(_octaves(setting, profile))
        largest = max((bucket.message_bytes for bucket in setting.buckets), default=0.0)
        spread = profile.auto.log_spread(setting.gpus, setting.gpus_per_node, octaves, largest)
        unlike = ~(alike(setting, profile) | (setting.gpus <= 1))
        width: Array = spread * np.where(unlike, OUTSIDE_WIDENING, 1.0)
    elif setting.served is not None:
        draws = setting.problem.draw_count
        width = served.log_spread(setting, setting.served, SAME_SPEED, OUTSIDE_WIDENING)
    else:
        draws = setting.problem.draw_count
        judged = setting.between or profile.fit(setting.algorithm)
        error, error_p90 = np.arcsinh((judged.error, judged.error_p90))
        widest = max(error / NORMAL_MEDIAN, error_p90 / NORMAL_P90)
        width = widest * np.where(measured, 1.0, OUTSIDE_WIDENING)
    inside, outside = (
        np.random.default_rng(crc32(f"{setting.algorithm} {side}".encode()))
        .standard_normal(draws)
        .reshape((-1,) + (1,) * setting.rank)
        for side in ("inside", "outside")
    )
    return np.exp(width * np.where(measured, inside, outside))


def compute_error(setting: Setting) -> Array:
    """One factor per draw and accelerator for the error of the roofline; shape (draws, ...).

    Log-normal; a measured efficiency adds its own interval. Points on the same accelerator at the
    same precision err together, so that the error cancels in their ratio; on others independently.
    """
    peak, problem = setting.precision.name, setting.problem
    normal = np.stack([
        np.random.default_rng(crc32(f"{machine.accelerator.name} {peak}".encode()))
        .standard_normal(problem.draw_count)
        for machine in setting.machines
    ], axis=-1)  # fmt: skip
    chosen, profiles = problem.study.efficiency.compute, problem.profiles.values()
    spread = setting.machine(lambda m: compute_log_spread(chosen, profiles, m.accelerator, peak))
    at = setting.coordinates[setting.machine_axis].at
    width = np.hypot(COMPUTE_ERROR_MEDIAN / NORMAL_MEDIAN, spread)
    return np.asarray(np.exp(width * normal[:, at]))


def _octaves(setting: Setting, profile: Profile) -> float:
    """Doublings between the measured sizes and the message farthest from them."""
    low, high = profile.message_bytes
    sizes = [max(bucket.message_bytes, 1.0) for bucket in setting.buckets]
    return max((max(np.log2(low / size), np.log2(size / high), 0.0) for size in sizes), default=0.0)


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
