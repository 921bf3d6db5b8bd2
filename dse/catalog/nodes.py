"""Nodes: how many accelerators, NICs and CPU cores one machine has, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from dse.catalog.accelerators import accelerator as find_accelerator
from dse.catalog.facts import ON_DEMAND, Fact, latest
from dse.catalog.reader import Entry, of_kind
from dse.catalog.store import names

HOSTS = (INTEL, AMD, ARM) = ("intel", "amd", "arm")
RDMA = (*_, NO_RDMA) = ("efa", "roce", "infiniband", "slingshot", "none")
ETHERNET = ("efa", "roce", NO_RDMA)


@dataclass(frozen=True, eq=False)
class Node:
    """One type of machine; None marks what is not known. That of a buyer's own file is named by its
    path.

    ``accelerator`` and ``inter_node`` are names of an accelerator and a fabric. ``cores`` are
    physical ones of the host, or those behind the vCPUs of a cloud's machine. ``pair_bytes_per_s``
    is what an accelerator sends to one other, where that is not as its own file says.
    ``scale_up_domain`` is how many accelerators, those of whole nodes, share the links of a node;
    ``sold_in`` how many are bought at once, those of a rack.
    ``purchase_usd`` and ``hourly_usd`` are the most recent prices of the whole machine (see
    :func:`dse.catalog.facts.latest`). ``power_w`` is what the whole machine draws at most, its
    accelerators and cards included; ``rack_units`` its height. ``host`` is of :data:`HOSTS`, the
    maker of its processors, or empty. ``rdma`` is of :data:`RDMA`, what its cards do, or empty.
    """

    name: str
    title: str
    accelerator: str
    accelerators: int
    inter_node: str | None
    nics: int | None
    cores: int | None
    purchase_usd: Fact | None
    hourly_usd: Fact | None
    notes: str
    facts: tuple[Fact, ...]
    scale_up_domain: int
    sold_in: int
    pair_bytes_per_s: float | None = None
    power_w: float | None = None
    rack_units: float | None = None
    host: str = ""
    rdma: str = ""

    @property
    def shares_network(self) -> bool:
        """Whether it is rented on an Ethernet that other tenants of a cloud use, too."""
        return self.hourly_usd is not None and self.rdma in ETHERNET


@of_kind("nodes", own_files=True)
def node(entry: Entry) -> Node:
    """The node type of that name, or that of a vendor's offer in a file at a path."""
    accelerator, count = entry.name("accelerator"), entry.number("accelerators", "count").value
    if accelerator is None or count is None:
        raise entry.wrong("a node needs its accelerator and their count", "write both")
    inter_node, nics = entry.name("inter_node"), entry.number("nics", "count").value
    for key, kind in (("accelerator", accelerator), ("inter_node", inter_node)):
        known = names("accelerators" if key == "accelerator" else "fabrics")
        if not entry.shipped and kind is not None and kind not in known:
            raise entry.wrong(f"{key} '{kind}' is not in the catalogue", "name one that is", key)
    cores = entry.optional("cores", "count")
    domain, sold_in = (_of_nodes(entry, key, int(count)) for key in ("scale_up_domain", "sold_in"))
    pair, power = entry.optional("pair_bandwidth", "bytes_per_s"), entry.optional("power", "watt")
    units = entry.positive("rack_units", "count") if entry.has("rack_units") else None
    host, rdma = entry.one_word("host", HOSTS), entry.one_word("rdma", RDMA)
    prices = entry.section("prices")
    purchase = latest(prices.series("purchase", "usd"))
    hourly = latest(prices.series("hourly", "usd_per_hour"))
    if hourly and hourly.offer and hourly.offer.term not in ("", ON_DEMAND):
        problem, remedy = f"a rent {hourly.offer.term}", f"give the one {ON_DEMAND}"
        raise prices.wrong(problem, f"{remedy}, and the discount below rental:", "hourly")
    return Node(
        name=entry.text("name") if entry.shipped else str(entry.path),
        title=entry.text("title", entry.path.stem),
        accelerator=accelerator,
        accelerators=int(count),
        inter_node=inter_node,
        nics=None if nics is None else int(nics),
        cores=None if cores is None else int(cores),
        purchase_usd=purchase,
        hourly_usd=hourly,
        notes=entry.text("notes", ""),
        facts=tuple(entry.facts),
        scale_up_domain=domain,
        sold_in=sold_in,
        pair_bytes_per_s=pair,
        power_w=power,
        rack_units=units,
        host=host,
        rdma=rdma,
    )


def node_of(accelerator: str) -> str | None:
    """The node type that an accelerator comes in alone, as one that names its scale-up domain does;
    None where it stands in nodes of any kind."""
    if find_accelerator(accelerator).scale_up_domain is None:
        return None
    found = nodes_with(accelerator)
    return found[0] if len(found) == 1 else None


def nodes_with(accelerator: str) -> list[str]:
    """The node types that have an accelerator."""
    return [name for name in names("nodes") if node(name).accelerator == accelerator]


def _of_nodes(entry: Entry, key: str, count: int) -> int:
    """Accelerators of one or several nodes: its own ``count``, unless the file has more."""
    many = entry.optional(key, "count") or count
    if many < count or many % count:
        remedy = f"write a multiple of the {count} accelerators of a node"
        raise entry.wrong(f"{key} {many:g} is not of whole nodes", remedy, key)
    return int(many)
