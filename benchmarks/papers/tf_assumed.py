"""``python -m benchmarks.papers.tf_assumed``: what facts turn on that the abstract leaves open.

Markdown tables, as docs/tf-aggregation.md has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.papers import tf_aggregation as paper
from benchmarks.papers import tf_piz_daint
from benchmarks.papers.tf_table import markdown
from dse import catalog

NODES = (32, 64, 128)


def main() -> None:
    """All tables."""
    print("\n\n".join((horovod(), tried(), grpc(), studied(), streams(), window())))


def horovod() -> str:
    """Horovod's rates on Piz Daint."""
    head = ("nodes", "modelled, images/s", "measured", "the model's error")
    return markdown(head, _cells(tf_piz_daint.horovod(), ",.0f"))


def tried() -> str:
    """What might slow Horovod there, and the error that is left."""
    found = tf_piz_daint.tried()
    counts = next(iter(found.values())).nodes
    head = ("the model's error with", *(f"{nodes:g} nodes" for nodes in counts))
    return markdown(
        head, ((what, *(f"{e:+.0%}" for e in one.error)) for what, one in found.items())
    )


def studied() -> str:
    """Both by a study, whose terms of scale other systems set."""
    rows = []
    for name, system in (("Horovod", tf_piz_daint.HOROVOD), ("gRPC", tf_piz_daint.GRPC)):
        found = tf_piz_daint.studied(system)
        ideal = tf_piz_daint.studied(system, "ideal").error
        ends = zip(found.low, found.high, strict=True)
        for cells, (low, high), without in zip(_cells(found, ",.0f"), ends, ideal, strict=True):
            rows.append((name, *cells, f"{low:,.0f} to {high:,.0f}", f"{without:+.0%}"))
    head = ("", "nodes", "by a study, images/s", "measured", "error", "90 % interval",
            "error with `scale: ideal`")  # fmt: skip
    return markdown(head, rows)


def grpc() -> str:
    """Speedups of parameter servers on Piz Daint."""
    head = ("nodes", "modelled, times one node", "measured", "the model's error")
    return markdown(head, _cells(tf_piz_daint.grpc(), ".1f"))


def streams() -> str:
    """The fit of gRPC's messages at once, by how many nodes the abstract meant."""
    rows = []
    for nodes in NODES:
        fitted = paper.fitted_streams(nodes)
        there = replace(catalog.approach("grpc"), streams=fitted)
        ratio = paper.horovod_over_grpc("mobilenet-v1", there, nodes)
        rows.append((str(nodes), f"{fitted:.1f}", f"{ratio:.2f}"))
    return markdown(("nodes assumed", "messages at once, fitted", "MobileNet's ratio then"), rows)


def window() -> str:
    """Gains over NCCL 2 by where medium ends, ranks and NCCL's protocol."""
    found = paper.windows()
    rows = []
    for protocol in dict.fromkeys(protocol for protocol, _, _ in found):
        for end in paper.ENDS_BYTES:
            gains = (found[protocol, end, ranks] for ranks in paper.OTHER_RANKS)
            cells = (f"{least:.1f} to {most:.1f}" for least, most in gains)
            rows.append((protocol, f"{end / 1024:,.0f} KiB", *cells))
    ranks = (f"{count} ranks" for count in paper.OTHER_RANKS)
    return markdown(("NCCL's protocol", "medium ends at", *ranks), rows)


def _cells(found: tf_piz_daint.Beside, form: str) -> Iterable[tuple[str, ...]]:
    each = zip(found.nodes, found.modelled, found.measured, found.error, strict=True)
    for nodes, modelled, measured, error in each:
        yield f"{nodes:g}", f"{modelled:{form}}", f"{measured:{form}}", f"{error:+.0%}"


if __name__ == "__main__":
    main()
