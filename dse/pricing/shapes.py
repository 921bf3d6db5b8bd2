"""The structure of a catalogue workload as the model of layouts takes it."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields, replace

from dse.catalog import Workload, shapes
from dse.errors import DseError
from dse.model.arrays import Array
from dse.model.parallel.shape import Block, Latent, Transformer


@dataclass(frozen=True)
class Ideal:
    """A sample as an ideal accelerator trains it. tokens: NaN where it has no known number of them.
    flops: model FLOPs of forward and backward pass, causal attention counted half.
    peak_flops_per_s: of each point's accelerator in its precision, dense."""

    tokens: float
    flops: float
    peak_flops_per_s: Array

    @property
    def seconds(self) -> Array:
        """In which one accelerator at its peak does the model FLOPs."""
        return self.flops / self.peak_flops_per_s


def transformer(workload: Workload) -> Transformer:
    """The transformer that a workload is.

    Raises :class:`~dse.errors.DseError` where the catalogue knows no structure of it.
    """
    if (shape := workload.shape) is None:
        problem = "its blocks are not known, so that it cannot be laid out"
        raise DseError(f"{workload.name}: {problem}; name a transformer, or give its config.json")
    runs = tuple((_block(block), count) for block, count in shape.runs)
    found = Transformer(workload.name, runs, shape.vocabulary, shape.tied, shape.positions)
    # Patches of pictures, heads of pre-training.
    return replace(found, other_params=round(workload.params) - found.params)


def training_flops(workload: Workload) -> float:
    """Model FLOPs of the forward and backward pass of a sample: three times those of the forward
    pass, without the half of causal attention that its mask leaves out."""
    forward, tokens = workload.forward_flops, workload.tokens_per_sample
    if workload.shape is not None and tokens is not None:
        forward = min(forward, transformer(workload).forward_flops(tokens) * tokens)
    return 3 * forward


def _block(block: shapes.Block) -> Block:
    """The same sizes; the catalogue's block has more fields, which ``other_params`` counts."""
    found = Block(*(getattr(block, field.name) for field in fields(Block)))
    latent = Latent(*astuple(block.latent)) if block.latent else None
    return replace(found, latent=latent)
