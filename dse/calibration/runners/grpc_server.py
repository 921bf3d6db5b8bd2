"""The calls of a gRPC parameter server: sums, barriers of its workers, and what to measure next.

Imports the standard library, numpy and grpc only, as a part of grpc_worker.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import numpy as np

from dse.calibration.runners import timing

HEADER = struct.Struct("<qq")  # the number of the message in its step, and padding for alignment
EMPTY = b""
MAX_BATCH = 20
OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.so_reuseport", 0),
)
METHODS = ("register", "servers", "order", "meet", "push", "pull", "stop")

Call = Callable[[bytes], Awaitable[bytes]]


class Sum:
    """The sum of one message over all workers."""

    def __init__(self, floats: int) -> None:
        self.total = np.zeros(floats, dtype=np.float32)
        self.missing = 0
        self.complete = asyncio.Event()


class Gate:
    """A barrier: callers wait until ``count`` of them have come; all get the same answer."""

    def __init__(self, count: int) -> None:
        self.count, self.payloads = count, list[bytes]()
        self.answer = asyncio.get_running_loop().create_future()

    async def meet(self, payload: bytes, action: Callable[[list[bytes]], bytes]) -> bytes:
        """Wait for the others; ``action`` makes the answer from what all brought."""
        mine = self.answer
        self.payloads.append(payload)
        if len(self.payloads) == self.count:
            there, self.payloads = self.payloads, []
            self.answer = asyncio.get_running_loop().create_future()
            mine.set_result(action(there))
        return bytes(await mine)


class Server:
    """The methods of a server; server 0 also holds the barriers and decides the order."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.workers = int(task["workers"])
        self.sums: dict[tuple[int, int], Sum] = {}
        self.current: dict[int, Sum] = {}
        self.addresses = [""] * int(task["servers"])
        self.registered, self.stopped = asyncio.Event(), asyncio.Event()
        self.gates = {name: Gate(self.workers) for name in ("order", "meet")}
        sizes = [sum(size for _, size in cell) for cell in task["cells"]]
        self.cells = [timing.Cell("ps", 0, size) for size in sizes]
        least, seconds = task["min_repetitions"], task["seconds"]
        self.plan = timing.schedule(self.cells, seconds, least, MAX_BATCH, self.clock)
        self.began: float | None = None
        self.index = timing.STOP

    async def push(self, request: bytes, _: Any) -> bytes:
        """Add one worker's message; the first of a step starts the sum anew."""
        number, _ = HEADER.unpack_from(request)
        values = np.frombuffer(request, dtype=np.float32, offset=HEADER.size)
        key = (number, values.size)
        if key not in self.sums:
            self.sums[key] = Sum(values.size)
        mine = self.current[number] = self.sums[key]
        if mine.missing == 0:
            mine.missing = self.workers
            mine.complete.clear()
            np.copyto(mine.total, values)
        else:
            mine.total += values
        mine.missing -= 1
        if mine.missing == 0:
            mine.complete.set()
        return EMPTY

    async def pull(self, request: bytes, _: Any) -> bytes:
        """The sum, as soon as it holds every worker's message."""
        mine = self.current[HEADER.unpack_from(request)[0]]
        await mine.complete.wait()
        return mine.total.tobytes()

    async def meet(self, payload: bytes, _: Any) -> bytes:
        """A barrier of the workers."""
        return await self.gates["meet"].meet(payload, lambda _: EMPTY)

    async def order(self, seconds: bytes, _: Any) -> bytes:
        """Take each worker's seconds of the last batch; answer which cell is next, how often."""
        return await self.gates["order"].meet(seconds, self._next)

    def clock(self) -> float:
        """Seconds since the first call, when all workers had started: starting is not measured."""
        if self.began is None:
            self.began = time.perf_counter()
        return time.perf_counter() - self.began

    def _next(self, payloads: list[bytes]) -> bytes:
        if self.index != timing.STOP:
            times = np.array([np.frombuffer(one) for one in payloads])
            self.cells[self.index].add(times.max(axis=0).tolist())
        self.index, repetitions = next(self.plan, (timing.STOP, 0))
        return HEADER.pack(self.index, repetitions)

    async def register(self, request: bytes, _: Any) -> bytes:
        """Store the address of another server."""
        index, address = json.loads(request)
        self.addresses[index] = address
        if all(self.addresses):
            self.registered.set()
        return EMPTY

    async def servers(self, _: bytes, __: Any) -> bytes:
        """The addresses of all servers, once they are known."""
        await self.registered.wait()
        return json.dumps(self.addresses).encode()

    async def stop(self, _: bytes, __: Any) -> bytes:
        """Stop this server: no more calls will come."""
        self.stopped.set()
        return EMPTY


def calls_of(address: str) -> dict[str, Call]:
    """All methods of the server there."""
    channel = grpc.aio.insecure_channel(address, options=OPTIONS)
    return {name: channel.unary_unary(f"/ps/{name}") for name in METHODS}
