"""Install the peers: `make peers`. Ends well also where one cannot be installed, and says why."""

from __future__ import annotations

from benchmarks.peers import FOLDER, PEERS, install

if __name__ == "__main__":
    for peer in PEERS:
        failed = install(peer)
        print(f"{peer.name}: {failed or f'installed in {FOLDER.name}/{peer.name}'}")
