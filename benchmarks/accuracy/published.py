"""How many published facts follow, of those that set no parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

CHECK = "check"
TITLES = {"awan-2019": "Awan et al., TensorFlow and CUDA-aware MPI, CCGRID 2019 (abstract)"}


def checks_table(facts: Iterable[Mapping[str, Any]]) -> str:
    """A row a paper as Markdown: checks, how many agree, which do not. Fitted facts are left out.

    facts: of ``benchmarks.papers``, each with paper, fact, role and ok.
    """
    checks: dict[str, list[Mapping[str, Any]]] = {}
    for fact in facts:
        if fact["role"] == CHECK:
            checks.setdefault(fact["paper"], []).append(fact)
    rows = [
        "| published facts that nothing was fitted to | agree | of | not |",
        "|---|---|---|---|",
    ]
    for paper, found in checks.items():
        missed = "; ".join(fact["fact"] for fact in found if not fact["ok"])
        agree = sum(bool(fact["ok"]) for fact in found)
        rows.append(f"| {TITLES.get(paper, paper)} | {agree} | {len(found)} | {missed} |")
    return "\n".join(rows)
