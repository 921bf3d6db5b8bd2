"""Names of collectives and of types, as benchmarks and traces write them."""

from __future__ import annotations

import re

from dse.calibration.importers.records import STREAM

# The letters of a name, as benchmarks and traces write it -> ours.
_COLLECTIVES = {
    "allreduce": "allreduce", "reducescatter": "reduce_scatter", "reduce": "reduce",
    "reducescatterblock": "reduce_scatter_block", "allgather": "all_gather",
    "allgatherv": "all_gatherv", "alltoall": "alltoall", "alltoallv": "alltoallv",
    "broadcast": "broadcast", "bcast": "broadcast", "gather": "gather", "scatter": "scatter",
    "sendrecv": "sendrecv", "pairwiseexchange": "sendrecv", "exchange": "exchange",
    "hypercube": "hypercube", "pingpong": "ping-pong", "pingping": "ping-ping",
}  # fmt: skip
COLLECTIVES = tuple(sorted({*_COLLECTIVES.values(), STREAM}))
# The same of the type of an element, in small letters -> ours, and its bytes.
TYPES = {
    **{f"{kind}{8 * size}": (f"{kind}{8 * size}", size)
       for kind in ("int", "uint") for size in (1, 2, 4, 8)},
    **{f"float{8 * size}": (f"float{8 * size}", size) for size in (2, 4, 8)},
    "half": ("float16", 2), "bfloat16": ("bfloat16", 2), "float": ("float32", 4),
    "double": ("float64", 8), "char": ("int8", 1), "signed char": ("int8", 1),
    "byte": ("uint8", 1), "unsigned char": ("uint8", 1), "bool": ("bool", 1),
    "int": ("int32", 4), "long": ("int64", 8), "long int": ("int64", 8),
    "f8e4m3": ("float8_e4m3", 1), "f8e5m2": ("float8_e5m2", 1),
    "fp8_e4m3": ("float8_e4m3", 1), "fp8_e5m2": ("float8_e5m2", 1),
}  # fmt: skip


def collective_named(name: str) -> str:
    """Our name of a collective, '' where it is not known: 'AllReduce', 'all_reduce' and
    'All-to-All' are."""
    return _COLLECTIVES.get(re.sub("[^a-z]", "", name.lower()), "")
