"""What a cluster is made of: how many of every part its buyer orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dse.model.aggregation.algorithms import node_count
from dse.model.arrays import Array, ArrayLike
from dse.model.leaves import leaf_ports


class FatTree(NamedTuple):
    """Whole switches of every tier and cables of a network, in the shape of its endpoints.

    cables: one for each endpoint. uplinks: between switches, which are farther apart.
    """

    leaves: Array
    spines: Array
    cores: Array
    cables: Array
    uplinks: Array

    @property
    def switches(self) -> Array:
        """Of all tiers."""
        return self.leaves + self.spines + self.cores

    @property
    def links(self) -> Array:
        """Cables to endpoints and between switches."""
        return self.cables + self.uplinks


def most_endpoints(radix: ArrayLike, oversubscription: ArrayLike = 1.0) -> Array:
    """How many endpoints three tiers of such switches join: r (r/2) d, d those of a leaf."""
    half = np.maximum(np.floor(np.asarray(radix, dtype=np.float64) / 2), 1.0)
    return np.asarray(np.asarray(radix) * half * leaf_ports(radix, oversubscription).down)


def fat_tree(endpoints: ArrayLike, radix: ArrayLike, oversubscription: ArrayLike = 1.0) -> FatTree:
    """The least fat tree of switches with ``radix`` ports; arguments broadcast.

    Al-Fares, Loukissas & Vahdat, SIGCOMM 2008, built only as far as it is used. Up to r endpoints
    share one switch. Above, a leaf has d ports down and u up (:func:`.leaves.leaf_ports`: r/2 each
    with ``oversubscription`` 1, full bisection; fewer up with more). Up to r d endpoints, L =
    ``ceil(P / d)`` leaves have as many links to each spine as to any other: ``floor(r / L)``, so
    ``ceil(u / floor(r / L))`` spines. Above, r/2 leaves and u spines are a pod, whose spines have
    half their ports up: above the leaves nothing is oversubscribed. Each of N pods has ``floor(r /
    N)`` links to each of ``ceil(u (r/2) / floor(r / N))`` cores. Three tiers hold r (r/2) d
    (:func:`most_endpoints`); larger networks are counted as if they did. Every endpoint has a
    cable, and every port that leads up an uplink. No endpoints need nothing.
    """
    ports = np.asarray(endpoints, dtype=np.float64)
    radix = np.asarray(radix, dtype=np.float64)
    half = np.maximum(np.floor(radix / 2), 1.0)
    down, upward = leaf_ports(radix, oversubscription)
    several, many = ports > radix, ports > radix * down
    leaves = np.ceil(ports / np.where(several, down, radix))
    up = np.where(several, leaves * upward, 0.0)  # ports of leaves that lead up
    pods = np.ceil(leaves / half)
    links = np.maximum(np.floor(radix / np.maximum(leaves, 1.0)), 1.0)  # of a leaf to each spine
    flat = np.where(several, np.ceil(upward / links), 0.0)
    spines = np.where(many, pods * upward, flat)
    links = np.maximum(np.floor(radix / np.maximum(pods, 1.0)), 1.0)  # of a pod to each core
    cores = np.where(many, np.ceil(upward * half / links), 0.0)
    return FatTree(leaves, spines, cores, ports, up + np.where(many, spines * half, 0.0))


@dataclass(frozen=True)
class Bill:
    """How many of every part; arrays that broadcast to the points.

    accelerators: that are bought. training: those of them that train; the rest is idle. nodes:
    hosts, or machines sold whole. nics: cards that do not come with a node. servers: hosts that
    serve parameters, with a card each, which ``nics`` counts. rented: accelerators, or machines
    that are rented whole, in place of buying them. endpoints: cards of the network. at_once: nodes
    that are sold together, those of a rack.
    """

    accelerators: Array
    training: Array
    nodes: Array
    nics: Array
    tree: FatTree
    servers: Array
    rented: Array
    endpoints: Array
    at_once: ArrayLike = 1.0

    @property
    def bought(self) -> Array:
        """Nodes that are bought, in whole racks where they are sold so: those that nobody trains on
        are not cabled and stay off."""
        return np.asarray(np.ceil(self.nodes / self.at_once) * self.at_once)


def bill(
    gpus: ArrayLike,
    gpus_per_node: ArrayLike,
    nics_per_node: ArrayLike,
    servers: ArrayLike,
    switch_radix: ArrayLike,
    nics_included: ArrayLike,
    sold_in: ArrayLike = 1.0,
    rented_in: ArrayLike | None = 1.0,
    oversubscription: ArrayLike = 1.0,
    at_once: ArrayLike = 1.0,
) -> Bill:
    """Parts of ``gpus`` accelerators in nodes; one node needs no network and no servers.

    servers: dedicated ones. nics_included: whether a node comes with its cards. sold_in: how many
    accelerators are bought at once, rented_in: rented; those of a node fill whole boards, or whole
    machines; None: nodes are rented as they are. oversubscription: of the leaf switches, see
    :func:`fat_tree`. at_once: nodes that are bought together. All broadcast.
    """
    nodes = node_count(gpus, gpus_per_node)
    gpus = np.asarray(gpus)
    extra = np.asarray(np.where(nodes > 1, servers, 0.0))
    endpoints = network_cards(nodes, nics_per_node, servers)
    nics = np.asarray(np.where(nics_included, extra, endpoints))
    return Bill(
        in_whole(gpus, gpus_per_node, sold_in),
        gpus,
        nodes,
        nics,
        fat_tree(endpoints, switch_radix, oversubscription),
        extra,
        nodes if rented_in is None else in_whole(gpus, gpus_per_node, rented_in),
        endpoints,
        at_once,
    )


def network_cards(nodes: ArrayLike, nics_per_node: ArrayLike, servers: ArrayLike) -> Array:
    """That the network joins: of nodes, and one of each dedicated server; one node has none."""
    several = np.asarray(nodes) > 1
    cards = np.where(several, np.asarray(nodes) * nics_per_node, 0.0)
    return np.asarray(cards + np.where(several, servers, 0.0))


def in_whole(gpus: ArrayLike, gpus_per_node: ArrayLike, size: ArrayLike) -> Array:
    """Accelerators of nodes that hold whole units of ``size``; all broadcast."""
    size = np.asarray(size, dtype=np.float64)
    full = np.floor(np.asarray(gpus) / gpus_per_node)  # the last node may be filled in part
    units = full * np.ceil(gpus_per_node / size)
    units = units + np.ceil((gpus - full * gpus_per_node) / size)
    return np.asarray(units * size)
