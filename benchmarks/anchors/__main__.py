"""``python -m benchmarks.anchors`` fits the anchors anew and writes them into models/."""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.anchors.fit import fit
from benchmarks.anchors.rows import NoReference
from benchmarks.anchors.training import Training
from benchmarks.anchors.write import write
from dse import catalog


def main() -> int:
    """Fit and write; 2 where the published tables are not here."""
    try:
        published = Training.published()
    except NoReference as missing:
        print(missing, file=sys.stderr)
        return 2
    used = np.flatnonzero(published.fitted)
    kinds = [published.sourced_kinds[at] for at in used]
    found = fit(kinds, published.log_left[used])
    write(found, [published.rows[at] for at in used], catalog.models_dir())
    shown = ", ".join(f"{name} {value:.3f}" for name, value in found.deviations.items())
    print(f"{len(used)} rows, {len(found.effects)} effects; noise {found.noise:.3f}; {shown}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
