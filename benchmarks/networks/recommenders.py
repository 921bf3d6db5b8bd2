"""Recommenders in closed form: their layers and rows of work, for one sample."""

from __future__ import annotations

from itertools import pairwise

from dse.catalog.rows_of_work import PRODUCT, Builder, Network


def dlrm(tables: int = 26, width: int = 128) -> Network:
    """DLRM (Naumov et al., arXiv 1906.00091) as MLPerf ran it, without its embedding tables.

    The interaction is a product of the ``tables + 1`` vectors with themselves; of an embedding row
    8 to 14 elements move (gather, gradient, update). A dense layer of n outputs moves 5 n to 8 n.
    """
    out = Builder()
    vectors = tables + 1
    bottom, top = (13, 512, 256, width), (0, 1024, 1024, 512, 256, 1)
    pairs = vectors * (vectors - 1) // 2 + width
    for part, sizes in (("bot", bottom), ("top", (pairs, *top[1:]))):
        for number, (k, n) in enumerate(pairwise(sizes)):
            layer = f"{part}{number}.w"
            out.row(out.weights(layer, n * k), PRODUCT, m=1, n=n, k=k)
            out.move(layer, 5 * n, 8 * n, 4)
            out.weights(f"{part}{number}.b", n)
    joint = "top0.w"
    out.row(joint, PRODUCT, m=vectors, n=vectors, k=width)
    out.move(joint, 6 * vectors * width, 10 * vectors * width, 10)
    out.move(joint, 8 * tables * width, 14 * tables * width, 20)
    return out.network("recommender")
