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
