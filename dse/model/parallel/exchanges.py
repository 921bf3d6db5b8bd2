"""What ranks send one another: collectives over two tiers of links, and who needs which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike, ceil_log2
from dse.model.leaves import Leaf
from dse.model.parallel.mesh import Group

HIDDEN_TIER = 0.25  # of the faster tier's time, what a pipelined hierarchy adds
HALVES, ALL_REDUCE = 1.0, 2.0  # passes over the data


@dataclass(frozen=True)
class Tiers:
    """Links inside nodes and between them; arrays that broadcast to (points,).

    link_bytes_per_s: of an accelerator, one way. cards_bytes_per_s: of all network cards of a node,
    one way. all_reduce, halves, exchange: shares that all-reduce, all-gather and reduce-scatter,
    and all-to-all reach. call_s: of a collective inside a node; step_s: of a step from one of its
    ranks to the next. hop_s: of a step between nodes. shared: y, by which a network of many nodes
    carries less than its cards, ``(nodes / 2)^-y``. rails: cards of a node, of which a rank reaches
    one. trays, tray: machines of a node that is a scale-up domain, and accelerators of each, which
    reach its own cards alone. sends: share of a message to a neighbour, that of halves where None.
    cards: share of the cards that all but all-reduce reach. ``*_across``: the same of each where
    known, else None. leaf: oversubscribed leaf switches, None where none are.
    """

    link_bytes_per_s: ArrayLike
    cards_bytes_per_s: ArrayLike
    all_reduce: ArrayLike = 0.8
    halves: ArrayLike = 0.56
    exchange: ArrayLike = 0.6
    cards: ArrayLike = 0.85
    call_s: ArrayLike = 10e-6
    hop_s: ArrayLike = 15e-6
    step_s: ArrayLike = 0.0
    shared: ArrayLike = 0.2
    rails: ArrayLike = 1.0
    trays: ArrayLike = 1.0
    tray: ArrayLike = 1.0
    sends: ArrayLike | None = None
    all_reduce_across: ArrayLike | None = None
    halves_across: ArrayLike | None = None
    exchange_across: ArrayLike | None = None
    sends_across: ArrayLike | None = None
    leaf: Leaf | None = None

    def _shares(self, name: str) -> tuple[ArrayLike, ArrayLike]:
        """What is reached of a link and of a node's cards."""
        inside, across = getattr(self, name), getattr(self, f"{name}_across")
        if name == "sends":
            inside = self.halves if inside is None else inside
            across = self.halves_across if across is None else across
        usual = inside if name == "all_reduce" else self.cards
        return inside, usual if across is None else across

    def _reached(self, ranks: Array) -> Array:
        """Bytes per second of the cards that so many ranks of a node reach."""
        return np.asarray(self.cards_bytes_per_s * np.minimum(1.0, ranks / self.rails))

    def _held(self, group: Group, flows: ArrayLike = 1.0) -> Array:
        """Times as long as by cards alone, where so many flows of a group leave a leaf."""
        if self.leaf is None:
            return np.ones(())
        return self.leaf.beside(group.apart, group.span).slower(flows)

    def _took(self, group: Group, whole: ArrayLike, name: str, passes: float, hops: Array,
              flows: ArrayLike = 1.0) -> Array:  # fmt: skip
        """``passes (max(inside, across) + 0.25 min(inside, across))``, and latency: a call, a step
        to each rank of a node and hops between nodes.

        inside ``(r - 1) / r S / link``, across ``(N - 1) / N S / cards`` of what a node's groups or
        the network's length leave, whichever is less.
        """
        inside, (share, beyond) = group.inside, self._shares(name)
        within = _over((inside - 1) / inside * whole, self.link_bytes_per_s * share)
        load = np.maximum(group.together, np.power(np.maximum(group.nodes, 2) / 2, self.shared))
        cards = self._reached(group.inside * group.together) * beyond / load
        between = self._held(group, flows) * _over((group.nodes - 1) / group.nodes * whole, cards)
        slower, faster = np.maximum(within, between), np.minimum(within, between)
        start = self.call_s + (inside - 1) * self.step_s + (group.nodes > 1) * hops * self.hop_s
        return np.where(group.ranks > 1, start, 0.0) + passes * (slower + HIDDEN_TIER * faster)

    def all_reduce_s(self, group: Group, whole: ArrayLike) -> Array:
        """Of ``whole`` bytes: trees over nodes, two hops a level; rings where leaves slow these."""
        levels, hops = ceil_log2(group.nodes), 2 * (group.ranks - 1)
        tree = self._took(group, whole, "all_reduce", ALL_REDUCE, 2 * levels, levels)
        ring = self._took(group, whole, "all_reduce", ALL_REDUCE, hops) if self.leaf else tree
        return np.minimum(tree, ring)

    def halves_s(self, group: Group, whole: ArrayLike) -> Array:
        """All-gather or reduce-scatter of ``whole`` bytes: rings pass every rank, n - 1 hops."""
        return self._took(group, whole, "halves", HALVES, group.ranks - 1)

    def exchange_s(
        self, group: Group, own: ArrayLike, inner: ArrayLike = 1.0, crossing: ArrayLike = 1.0
    ) -> Array:
        """All-to-all in which each rank has ``own`` bytes for all of the group.

        What goes to a rank of another node shares the cards with all that the node's ranks send.
        inner, crossing: the parts of it that links and cards carry, where copies are left out.
        """
        n, inside = group.ranks, group.inside
        share, beyond = self._shares("exchange")
        within = _over(inner * own * (inside - 1) / n, self.link_bytes_per_s * share)
        sent = np.asarray(own) * (n - inside) / n * inside * group.together * crossing
        between = _over(sent, self._reached(inside * group.together) * beyond)
        start = self.call_s + (inside > 1) * self.step_s + (group.nodes > 1) * self.hop_s
        return np.where(n > 1, start, 0.0) + np.maximum(within, self._held(group, np.inf) * between)

    def send_s(self, group: Group, own: ArrayLike) -> Array:
        """From a rank to its neighbour in a pipeline: the link, or its part of the cards.

        Ranks that send at once are neighbours, on as few trays as hold them.
        """
        inside, beyond = self._shares("sends")
        sending = np.minimum(np.ceil(group.together / self.tray), self.trays)
        of_trays = self.cards_bytes_per_s * (sending / self.trays)
        cards = np.minimum(of_trays, self._reached(group.together)) * beyond / group.together
        across = group.nodes > 1
        speed = np.where(across, cards / self._held(group), self.link_bytes_per_s * inside)
        start = np.where(across, self.hop_s, self.call_s)
        return np.where(group.ranks > 1, start + _over(own, speed), 0.0)


def _over(sent: ArrayLike, bytes_per_s: ArrayLike) -> Array:
    """Seconds; nothing takes none, also where there is no link."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(sent) > 0, np.asarray(sent) / bytes_per_s, 0.0)
