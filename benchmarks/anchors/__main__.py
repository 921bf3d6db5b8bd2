"""``python -m benchmarks.anchors`` fits the anchors anew and writes them into models/.

``python -m benchmarks.anchors plot`` writes the figure and the table of docs/compute.md: rows
predicted by anchors that have not seen their group.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from benchmarks.anchors import page
from benchmarks.anchors.fit import fit
from benchmarks.anchors.own_code import OwnCode
from benchmarks.anchors.rows import NoReference
from benchmarks.anchors.training import Training
from benchmarks.anchors.write import write
from dse import catalog


def main() -> int:
    """Fit or plot; 2 where the published tables are not here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("fit", "plot"), default="fit")
    what = parser.parse_args().what
    try:
        page.write() if what == "plot" else _fit()
    except NoReference as missing:
        print(missing, file=sys.stderr)
        return 2
    return 0


def _fit() -> None:
    published = Training.published()
    used = np.flatnonzero(published.telling)
    kinds = [published.sourced_kinds[at] for at in used]
    found = OwnCode.of(published).learned(fit(kinds, published.log_left[used]))
    write(found, [published.rows[at] for at in used], catalog.models_dir())
    shown = ", ".join(f"{name} {value:.3f}" for name, value in found.deviations.items())
    print(f"{len(used)} rows, {len(found.effects)} effects; noise {found.noise:.3f}; {shown}")


if __name__ == "__main__":
    sys.exit(main())
