"""How many published facts follow, of those that count: checks alone do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.papers.fact import ASSUMED, CHECK, FITTED, IDENTITY

TITLES = {
    "awan-2019": "Awan et al., TensorFlow and CUDA-aware MPI, CCGRID 2019 (abstract)",
    "sarus-cookbook": "Sarus cookbook, Horovod on Piz Daint (read off a plot)",
    "distributed-tensorflow-2017": "TensorFlow over gRPC on Piz Daint, 2017",
}
NOT_COUNTED = (FITTED, ASSUMED, IDENTITY)


def checks_table(facts: Iterable[Mapping[str, Any]]) -> str:
    """A row a paper as Markdown: checks that agree, that are missed, and which; what else there is.

    facts: of ``benchmarks.papers``, each with paper, fact, role and ok.
    """
    papers: dict[str, list[Mapping[str, Any]]] = {}
    for fact in facts:
        papers.setdefault(fact["paper"], []).append(fact)
    rows = [
        "| published facts: checks | agree | missed | which | not counted |",
        "|---|---|---|---|---|",
    ]
    for paper, found in papers.items():
        checks = [fact for fact in found if fact["role"] == CHECK]
        missed = [fact["fact"] for fact in checks if not fact["ok"]]
        others = [(sum(fact["role"] == role for fact in found), role) for role in NOT_COUNTED]
        rest = ", ".join(f"{count} {role}" for count, role in others if count)
        cells = (TITLES.get(paper, paper), str(len(checks) - len(missed)), str(len(missed)),
                 "; ".join(missed), rest)  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
