"""What accelerators reach of their peaks: laws of matrix products, stacks of software."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dse.catalog.accelerators import Accelerator
from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_catalogue
from dse.catalog.store import Stacks, table

LAWS, COMPUTING = "laws.csv", "computing.yaml"
OTHER = "other"  # generation of accelerators that have no law
# precision of a study -> format of a law, and the formats whose law stands in for a missing one
FORMATS: Mapping[str, tuple[str, ...]] = {
    "fp32": ("fp32",), "tf32": ("16",), "fp16": ("16",), "bf16": ("16",), "fp8": ("fp8", "16"),
}  # fmt: skip
KERNELS = (COMMON, _) = ("common", "tuned")  # of fused attention
ALL = "all"  # families of networks
# What of a maker's peak the largest products reached, as a fact of an accelerator's.
MEASURED = {"16": "measured.max_matmul_bf16", "fp8": "measured.max_matmul_fp8"}


@dataclass(frozen=True)
class Law:
    """Numbers of one generation of accelerators in one format; see
    :class:`dse.model.products.ProductLaw`.

    attention, attention_tuned: share of the peak that fused attention reaches by :data:`KERNELS`;
    NaN where there are none. sustained: whether power slows products down.
    """

    generation: str
    format: str
    efficiency: float
    extra_k: float
    start_us: float
    memory_efficiency: float
    small_tile: float
    convolution: float
    winograd: float
    sustained: bool
    source: str
    status: str
    detail: str
    attention: float = math.nan
    attention_tuned: float = math.nan

    @property
    def start_s(self) -> float:
        """Seconds to start a product."""
        return self.start_us * 1e-6

    def attention_share(self, kernels: str) -> float:
        """That of one of :data:`KERNELS`."""
        return self.attention if kernels == COMMON else self.attention_tuned


@dataclass(frozen=True)
class Stack:
    """A kind of training software; see :class:`dse.model.stack.Stack`. kernels: of attention, one
    of :data:`KERNELS`. gradient_bytes: of an element as it is summed over all accelerators, where
    weights have 16 bits. own_code: whether it is anybody's, so that rates of others say little.
    launches_s: launch times by generation, where software of today differs."""

    name: str
    title: str
    eager: float
    launch_s: float
    fuses_attention: frozenset[str] | None
    kernels: str
    gradient_bytes: float
    own_code: bool
    launches_s: Mapping[str, float]


@dataclass(frozen=True)
class Computing:
    """All of it. The sustained slowdown is ``slowdown (watts_per_tflops / w) ^ exponent``, at least
    1, for w watts of the board per TFLOP/s of its 16-bit peak. host_memory_bytes_per_s: where
    parameter servers update weights. launch_log_spread: standard deviation of the logarithm of a
    stack's launch time from host to host. most_of_products: share of the rate of large products
    that whole passes reach at most. grouped_rows: by generation, see
    :class:`dse.model.compute.Device`."""

    laws: Mapping[tuple[str, str], Law]
    stacks: Mapping[str, Stack]
    elementwise_efficiency: float
    slowdown: float
    watts_per_tflops: float
    exponent: float
    host_memory_bytes_per_s: float
    launch_log_spread: float
    most_of_products: float
    grouped_rows: Mapping[str, float]
    facts: tuple[Fact, ...]

    def law(self, accelerator: Accelerator, precision: str) -> Law:
        """The law of an accelerator's generation, or that of others."""
        own = accelerator.generation or OTHER
        formats = FORMATS[precision]
        wanted = [(generation, kind) for generation in (own, OTHER) for kind in formats]
        return next(self.laws[key] for key in wanted if key in self.laws)

    def efficiency(self, accelerator: Accelerator, precision: str) -> float:
        """Share of the peak that large products reach: of the law, or measured where it is that of
        other generations."""
        law = self.law(accelerator, precision)
        peak = accelerator.peak_flops_per_s.get(precision)
        fastest = MEASURED.get(law.format)
        known = {fact.name: fact.value for fact in accelerator.facts}.get(fastest or "")
        if law.generation != OTHER or not known or not peak or precision == "tf32":
            return law.efficiency
        return min(known / peak, 1.0)

    def sustained_slowdown(self, accelerator: Accelerator, precision: str) -> float:
        """How much slower its products are in minutes of training than in short bursts."""
        peaks = accelerator.peak_flops_per_s
        peak = peaks.get("bf16", peaks.get("fp16"))
        if not self.law(accelerator, precision).sustained or not peak or not accelerator.power_w:
            return 1.0
        watts = accelerator.power_w / (peak / 1e12)
        return float(max(1.0, self.slowdown * (self.watts_per_tflops / watts) ** self.exponent))


@of_catalogue(COMPUTING)
def computing(entry: Entry) -> Computing:
    """How fast accelerators train, as the catalogue says."""
    share = entry.positive("elementwise_efficiency", "count")
    host = entry.positive("host_memory", "bytes_per_s")
    launch = entry.positive("launch_log_spread", "count")
    most = entry.positive("most_of_products", "count")
    sustained, stacks = entry.section("sustained"), entry.section("stacks")
    slowdown, watts, exponent = (
        sustained.positive(key, "count") for key in ("slowdown", "watts_per_tflops", "exponent")
    )
    grouped = entry.known_numbers("grouped_rows")
    read = {name: _stack(name, stacks.section(name)) for name in stacks.labels()}
    found = Stacks(entry.path, read)
    laws = {(law.generation, law.format): law for law in table(entry.path.with_name(LAWS), Law)}
    facts = tuple(entry.facts)
    return Computing(
        laws, found, share, slowdown, watts, exponent, host, launch, most, grouped, facts
    )


def _stack(name: str, entry: Entry) -> Stack:
    families = entry.text("fused_attention")
    return Stack(
        name,
        entry.text("title"),
        entry.known("eager", "count"),
        entry.known("launch", "seconds"),
        None if families == ALL else frozenset(families.replace(",", " ").split()),
        entry.choice("kernels", *KERNELS),
        entry.known("gradient_bytes", "count"),
        entry.choice("code", "own", "published") == "own",
        entry.known_numbers("launch_today", "seconds"),
    )
