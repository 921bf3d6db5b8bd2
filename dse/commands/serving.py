"""The server of ``dse serve``: one page and its answers, on this machine, for who has the token."""

from __future__ import annotations

import hmac
import socket
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from dse.errors import ArgumentError, DseError
from dse.pricing.problem import Problem
from dse.report import live
from dse.report.live_page import first_rule, render_live

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
MOST_BODY = 1_000_000  # bytes of a question
_SUPERSEDED = 409


@dataclass
class Newest:
    """Counts questions that can be answered, so that only the newest is."""

    number: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self) -> int:
        """A new question."""
        with self.lock:
            self.number += 1
            return self.number


def application(problem: Problem, token: str, newest: Newest) -> Starlette:
    """``GET /TOKEN/`` is the page; ``POST /TOKEN/answer`` answers a question by the best estimates,
    and ``POST /TOKEN/chances`` draws what it is about; 403 without the token."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import HTMLResponse, JSONResponse
    from starlette.routing import Route

    page = render_live(problem, first_rule(problem))
    last: live.Found | None = None  # drawing what was just searched does not search again
    alone = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

    def refused(said: str, status: int) -> JSONResponse:
        return JSONResponse({"error": said}, status, alone)

    answers: dict[str, Callable[[live.Found, Callable[[], bool]], live.Answer | live.Chances]] = {
        "answer": lambda found, _: found.answer,
        "chances": live.chances,
    }

    async def asked(request: Request) -> Response:
        given, _, rest = request.path_params["path"].partition("/")
        if not hmac.compare_digest(given.encode(), token.encode()):
            return refused("wrong token: open the address that dse serve printed", 403)
        if (request.method, rest) == ("GET", ""):
            return HTMLResponse(page, headers=alone)
        if request.method != "POST" or rest not in answers:
            return refused("no such page", 404)
        if int(request.headers.get("content-length", MOST_BODY + 1)) > MOST_BODY:
            return refused("the question is too long", 413)
        try:
            found: Any = await request.json()
        except ValueError:
            return refused("the question is no JSON", 400)
        try:
            question = live.question(found)
            live.changed(problem, question)
        except DseError as cause:
            return refused(str(cause), 400)
        # Counted as they come, and not in a thread, which may begin after that of a newer one.
        return await run_in_threadpool(answered, question, answers[rest], newest.next())

    def answered(
        question: live.Question, told: Callable[..., live.Answer | live.Chances], mine: int
    ) -> Response:
        nonlocal last

        def wanted() -> bool:
            return newest.number == mine

        try:
            known = last
            if known is None or known.asked != question:
                last = known = live.search(problem, question, wanted)
            answer = told(known, wanted)
        except live.Superseded:
            return refused("a newer question has come", _SUPERSEDED)
        except DseError as cause:
            return refused(str(cause), 400)
        return JSONResponse(asdict(answer), headers=alone)

    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])
    return Starlette(
        routes=[Route("/{path:path}", asked, methods=["GET", "POST"])], middleware=[hosts]
    )


def listening(port: int) -> socket.socket:
    """A socket of this machine alone; 0: any free port. Raises :class:`ArgumentError`."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()
    except OSError as cause:
        found.close()
        raise ArgumentError(
            "--port", f"{port} cannot be used on {HOST}: {cause.strerror}",
            "name another, or 0 for any that is free",
        ) from None  # fmt: skip
    return found


def serve(problem: Problem, token: str, opened: socket.socket) -> None:
    """Answer until Ctrl-C."""
    import uvicorn

    newest = Newest()
    config = uvicorn.Config(
        application(problem, token, newest),
        log_level="warning", access_log=False, timeout_graceful_shutdown=2, lifespan="off",
    )  # fmt: skip
    try:
        uvicorn.Server(config).run(sockets=[opened])
    except KeyboardInterrupt:
        pass
    finally:
        newest.next()  # ends a search under way
        opened.close()
