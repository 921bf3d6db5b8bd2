"""`python -m benchmarks.peers` installs the peers (`make peers`); where one cannot be installed it
says why, and ends well.

`python -m benchmarks.peers accuracy` asks them how fast the published rows are, and writes
benchmarks/data/peer_rates.csv, which `make accuracy` reads.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from benchmarks.anchors.rows import NoReference, rows
from benchmarks.peers import FOLDER, PEERS, PeerMissing, install
from benchmarks.peers.rates import PREDICTED, Predictions, asked, write


def main() -> int:
    """Install, or ask; 2 where the published tables are not here or a peer has no answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("install", "accuracy"), default="install")
    what = parser.parse_args().what
    try:
        _ask() if what == "accuracy" else _install()
    except (NoReference, PeerMissing) as missing:
        print(missing, file=sys.stderr)
        return 2
    return 0


def _install() -> None:
    for peer in PEERS:
        failed = install(peer)
        print(f"{peer.name}: {failed or f'installed in {FOLDER.name}/{peer.name}'}")


def _ask() -> None:
    """All peers before anything is written, so that no file has only one of them."""
    published = [row for row in rows() if row.fitted]
    found: list[Predictions] = []
    for peer in PEERS:
        failed = install(peer)
        if failed:
            raise PeerMissing(f"{peer.name} could not be installed: {failed}")
        found += asked(peer, published)
    write(found, PREDICTED, datetime.now(UTC).date().isoformat())
    for one in found:
        print(f"{one.peer} {one.version}, {one.way}: {len(one.samples_per_s)} steps")
    print(f"wrote {PREDICTED.name}")


if __name__ == "__main__":
    sys.exit(main())
