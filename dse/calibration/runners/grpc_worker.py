"""One process of a gRPC parameter server; imports the standard library, numpy and grpc only.

Started as ``python -P -m dse.calibration.runners.grpc_worker``. The first line of its standard
input is the task as JSON; it ends when its standard input does. The task holds::

    role      server or worker;  index: its number among its like, from 0
    workers   how many;  servers: how many
    address   (servers) where to listen, at any free port
    cells     [[[server, bytes], ...], ...]: the messages of each cell, from small to large
    seconds, min_repetitions    of all cells together, of every cell

Server 0 prints its address first, which reaches the others as their second line; they tell it
theirs. It also decides what is repeated next and prints the results. Every message is one unary
call of raw float32 behind a header of 16 bytes.

A repetition sends all messages of its cell at once. The sum of a message is pulled as soon as its
push is acknowledged, and answered once all workers have pushed theirs. The time holds what a
gradient meets: the copy into a message, gRPC, the server's sums (one after another, on one thread),
and the copy into the weights. A wrong sum ends the process with status 3 and one line on stderr.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import grpc
import numpy as np

from dse.calibration.runners import forks, timing

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
LEAVE_S = 5.0  # for the last replies to arrive


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


async def serve(task: dict[str, Any], starter: forks.Input) -> None:
    """Serve until told to stop; server 0 prints the results."""
    server, state = grpc.aio.server(options=OPTIONS), Server(task)
    methods = {name: grpc.unary_unary_rpc_method_handler(getattr(state, name)) for name in METHODS}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("ps", methods),))
    try:
        address = f"{task['address']}:{server.add_insecure_port(task['address'] + ':0')}"
    except RuntimeError:
        raise OSError(f"cannot listen on {task['address']}") from None
    await server.start()
    mine = json.dumps([task["index"], address]).encode()
    if task["index"] == 0:
        timing.emit({"kind": "pass-on", "address": address})
        timing.emit({"kind": "start", "library": f"grpcio {grpc.__version__}"})
        await state.register(mine, None)
    else:
        await calls_of(starter.line()["address"])["register"](mine)
    end_with_input(starter)
    await state.stopped.wait()
    await server.stop(LEAVE_S)
    for index, cell in enumerate(state.cells if task["index"] == 0 else ()):
        if cell.times:
            timing.emit({"kind": "sample", "index": index, **timing.summary(cell.times)})


class Worker:
    """Timed and verified repetitions of the cells."""

    def __init__(self, task: dict[str, Any], servers: Sequence[dict[str, Call]]) -> None:
        self.servers, self.workers = servers, task["workers"]
        self.cells = [
            [(server, size // timing.FLOAT_BYTES) for server, size in cell]
            for cell in task["cells"]
        ]
        largest = max(sum(floats for _, floats in cell) for cell in self.cells)
        self.own = np.resize(timing.pattern(task["index"]), largest)
        self.expected = np.resize(timing.pattern_sum(self.workers), largest)
        self.weights = np.zeros(largest, dtype=np.float32)
        self.step, self.warm = 0, set[int]()

    async def batch(self, cell: int, repetitions: int) -> list[float]:
        """Seconds of each repetition, after a warm-up where the cell is new."""
        warm_up = cell not in self.warm
        self.warm.add(cell)
        times = [await self.repetition(cell) for _ in range(repetitions + warm_up)]
        return times[warm_up:]

    async def repetition(self, cell: int) -> float:
        """One step that all workers begin together; checked once all have ended it."""
        ends = np.cumsum([0, *(floats for _, floats in self.cells[cell])]).tolist()
        places = [slice(*ends[i : i + 2]) for i in range(len(ends) - 1)]
        calls = [self.servers[server] for server, _ in self.cells[cell]]
        # Other data every time, so that an old sum does not pass for the new one.
        self.step += 1
        self.own[ends[:-1]] += self.step
        self.expected[ends[:-1]] += self.workers * self.step
        await self.servers[0]["meet"](EMPTY)
        begin = time.perf_counter()
        await asyncio.gather(*map(self.push_and_pull, calls, range(len(places)), places))
        seconds = time.perf_counter() - begin
        await self.servers[0]["meet"](EMPTY)
        if not np.array_equal(self.weights[: ends[-1]], self.expected[: ends[-1]]):
            size = ends[-1] * timing.FLOAT_BYTES
            problem = f"wrong sum: ps, {size} bytes, {self.workers} workers"
            raise timing.WrongSum(problem)
        self.own[ends[:-1]] -= self.step
        self.expected[ends[:-1]] -= self.workers * self.step
        return seconds

    async def push_and_pull(self, calls: dict[str, Call], number: int, place: slice) -> None:
        """Send one message, and copy its sum into the weights."""
        header = HEADER.pack(number, 0)
        await calls["push"](b"".join((header, self.own[place].data)))
        self.weights[place] = np.frombuffer(await calls["pull"](header), dtype=np.float32)


async def work(task: dict[str, Any], starter: forks.Input) -> None:
    """Run the batches that server 0 asks for; worker 0 then stops the servers."""
    first = calls_of(starter.line()["address"])
    end_with_input(starter)
    others = json.loads(await first["servers"](EMPTY))[1:]
    servers = [first, *map(calls_of, others)]
    worker, seconds = Worker(task, servers), list[float]()
    while True:
        reply = await first["order"](np.array(seconds).tobytes())
        cell, repetitions = HEADER.unpack(reply)
        if cell == timing.STOP:
            break
        seconds = await worker.batch(cell, repetitions)
    for server in reversed(servers if task["index"] == 0 else []):
        await server["stop"](EMPTY)


def end_with_input(starter: forks.Input) -> None:
    """End this process as soon as nobody holds the other end of its standard input."""

    def watch() -> None:
        while True:
            starter.more()

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Do what standard input says."""
    starter, status = forks.Input(), 0
    task = starter.line()
    try:
        asyncio.run((serve if task["role"] == "server" else work)(task, starter))
    except timing.WrongSum as wrong:
        print(wrong, file=sys.stderr)
        status = timing.WRONG_SUM_STATUS
    except OSError as error:
        print(error, file=sys.stderr)
        status = 1
    except grpc.aio.AioRpcError as error:
        print(f"{error.code().name}: {error.details()}", file=sys.stderr)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # closing channels in order could wait for a process that is gone


if __name__ == "__main__":
    main()
