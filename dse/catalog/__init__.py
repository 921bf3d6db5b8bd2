"""Facts with their sources: accelerators, fabrics, nodes, workloads and prices."""

from dse.catalog.accelerators import Accelerator, accelerator
from dse.catalog.aliases import aliases, clear_aliases, resolve
from dse.catalog.anchors import Anchors, anchors
from dse.catalog.approaches import BEST, Approach, approach
from dse.catalog.computing import computing
from dse.catalog.convergence import QualityTarget, quality_target, quality_targets
from dse.catalog.decoding import decoding
from dse.catalog.fabrics import Fabric, fabric
from dse.catalog.facts import Citation, Fact, cite
from dse.catalog.failures import failure_terms
from dse.catalog.footprints import footprints
from dse.catalog.link_power import LinkWatts, link_power
from dse.catalog.nodes import NO_RDMA, Node, node, node_of, nodes_with
from dse.catalog.optimizers import usual_optimizer
from dse.catalog.plausibility import implausible
from dse.catalog.populations import population
from dse.catalog.power_spread import PowerSpread, power_spread
from dse.catalog.price_spread import PriceSpread, estimated, own, price_spread
from dse.catalog.prices import (
    PriceList,
    default_prices,
    no_longer_sold,
    read_prices,
    with_used_prices,
)
from dse.catalog.purchases import NODE_SHARE
from dse.catalog.reader import Entry
from dse.catalog.regions import region
from dse.catalog.rental import rental_facts
from dse.catalog.rents import class_of, usual_class
from dse.catalog.scale import scale_terms
from dse.catalog.store import (
    KINDS,
    UnknownName,
    catalogue_hash,
    file_hashes,
    models_dir,
    names,
    sources,
)
from dse.catalog.transports import Tier, Transport, transport
from dse.catalog.workload_text import workload_text
from dse.catalog.workloads import (
    Workload,
    disagreements,
    gradient_tensors,
    named_workload,
    read_layers,
    read_workload,
    resized,
    workload,
    workload_of_config,
)
from dse.text_source import is_path

__all__ = [
    "BEST",
    "KINDS",
    "NODE_SHARE",
    "NO_RDMA",
    "Accelerator",
    "Anchors",
    "Approach",
    "Citation",
    "Entry",
    "Fabric",
    "Fact",
    "LinkWatts",
    "Node",
    "PowerSpread",
    "PriceList",
    "PriceSpread",
    "QualityTarget",
    "Tier",
    "Transport",
    "UnknownName",
    "Workload",
    "accelerator",
    "aliases",
    "anchors",
    "approach",
    "catalogue_hash",
    "cite",
    "class_of",
    "clear_aliases",
    "computing",
    "decoding",
    "default_prices",
    "disagreements",
    "estimated",
    "fabric",
    "failure_terms",
    "file_hashes",
    "footprints",
    "gradient_tensors",
    "implausible",
    "is_path",
    "link_power",
    "models_dir",
    "named_workload",
    "names",
    "no_longer_sold",
    "node",
    "node_of",
    "nodes_with",
    "own",
    "population",
    "power_spread",
    "price_spread",
    "quality_target",
    "quality_targets",
    "read_layers",
    "read_prices",
    "read_workload",
    "region",
    "rental_facts",
    "resized",
    "resolve",
    "scale_terms",
    "sources",
    "transport",
    "usual_class",
    "usual_optimizer",
    "with_used_prices",
    "workload",
    "workload_of_config",
    "workload_text",
]
