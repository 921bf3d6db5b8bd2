"""Plain TCP streams between hosts of a lab: does a link carry the rate it was set to?

Started by path inside a host (``python stream.py receive|send JSON``); imports the standard
library only, so that nothing but the link is measured.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.lab.network import Lab

PORT = 5201
CHUNK_BYTES = 2**18
SETTLE_S = 0.3  # the first packets, that find an empty token bucket and a small window


def receive(address: str, flows: int, seconds: float) -> list[float]:
    """Accept ``flows`` streams; payload bytes/s of each over ``seconds`` after settling."""
    server = socket.create_server((address, PORT), backlog=flows)
    print("ready", flush=True)
    links = [server.accept()[0] for _ in range(flows)]
    for link in links:
        link.setblocking(False)
    counts, begin = [0] * flows, time.monotonic()
    start = begin + SETTLE_S
    started = start
    buffer, counting = bytearray(CHUNK_BYTES), False
    while (now := time.monotonic()) < start + seconds:
        if not counting and now >= start:
            counts, counting, started = [0] * flows, True, now
        idle = True
        for index, link in enumerate(links):
            try:
                got = link.recv_into(buffer)
            except BlockingIOError:
                continue
            counts[index] += got
            idle = False
        if idle:
            time.sleep(0.0005)
    return [count / (time.monotonic() - started) for count in counts]


def send(address: str) -> None:
    """Send zeros until the receiver goes away."""
    link = socket.create_connection((address, PORT))
    try:
        while True:
            link.sendall(bytes(CHUNK_BYTES))
    except OSError:
        return


def rates(lab: Lab, senders: Sequence[int], receiver: int, seconds: float = 1.0) -> list[float]:
    """Payload bytes/s of one stream from each of ``senders`` into ``receiver``, all at once."""
    task = json.dumps([lab.address(receiver), len(senders), seconds])
    program = [sys.executable, "-I", __file__]
    sink = subprocess.Popen(
        [*lab.prefix(receiver), *program, "receive", task], stdout=subprocess.PIPE, text=True
    )
    assert sink.stdout is not None
    sink.stdout.readline()
    sources = [
        subprocess.Popen([*lab.prefix(host), *program, "send", json.dumps([lab.address(receiver)])])
        for host in senders
    ]
    output, _ = sink.communicate(timeout=seconds + 30)
    for source in sources:
        source.wait(timeout=30)
    return [float(rate) for rate in json.loads(output)]


if __name__ == "__main__":
    arguments = json.loads(sys.argv[2])
    if sys.argv[1] == "receive":
        print(json.dumps(receive(*arguments)))
    else:
        send(*arguments)
