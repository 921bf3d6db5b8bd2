"""Starts Ray on this machine, or joins a cluster; the settings Ray reads when it is imported."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dse.errors import ClusterError

TOKEN_FILE = Path.home() / ".ray" / "auth_token"  # where `ray start` leaves it
CONNECT_S = 5.0  # to find out that nobody listens at a cluster's address
# The server that a cluster forks for each Ray client now and then dies at birth (ray issue 63202).
CLIENT_TRIES = 3


@contextmanager
def ray_session(address: str | None, runtime_env: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """The ``ray`` module, connected; what was started or joined here is closed at the end.

    address: None starts Ray on this machine; else a cluster to join ("auto", "ray://host:10001",
    "host:6379"). Where this process is connected already, that connection is used and kept.
    runtime_env: of the job, where one is begun. Raises ClusterError.
    """
    reachable(_last_cluster() if address == "auto" else address)  # Ray itself tries for minutes
    authenticate(address)
    import ray

    owned = not ray.is_initialized()
    # What a client of Ray logs of a lost connection is told by an exception as well; one of its
    # loggers sets its own level.
    logging.getLogger("ray.util.client").setLevel(logging.CRITICAL)
    logging.getLogger("ray.util.client.logsclient").disabled = True
    if owned:
        try:
            connect(ray, address, runtime_env)
        except (ConnectionError, OSError, RuntimeError, ValueError) as cause:
            where = address or "this machine"
            lines = str(cause).strip().split("\n")  # a server's whole traceback, at times
            why = " ".join(dict.fromkeys(line.strip() for line in (lines[0], lines[-1]) if line))
            raise ClusterError(
                f"no Ray on {where}: {why}; start one with 'ray start --head'"
            ) from cause
    try:
        yield ray
    finally:
        if owned:
            ray.shutdown()


def connect(ray: Any, address: str | None, runtime_env: Mapping[str, Any] | None) -> None:
    """Call ``ray.init``, again where the server started for a Ray client dies at once."""
    tries = CLIENT_TRIES if (address or "").startswith("ray://") else 1
    for left in reversed(range(tries)):
        try:
            ray.init(
                address=address or "local",  # None would join a cluster that is here, alive or not
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                configure_logging=False,
                runtime_env=dict(runtime_env or {}) or None,
            )
            return
        except ConnectionError:
            if not left:
                raise


def _last_cluster() -> str | None:
    """The address that "auto" means: of the environment, or of the last cluster begun here."""
    noted = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster")
    return os.environ.get("RAY_ADDRESS") or (noted.read_text() if noted.exists() else None)


def authenticate(address: str | None) -> None:
    """Settings Ray reads when it is imported; the user's own come first.

    A cluster started with Ray's defaults wants its token, which a client only sends in token mode;
    a cluster without authentication ignores it. Usage reports are turned off.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    given = {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & set(os.environ)
    if address and (given or TOKEN_FILE.exists()):
        os.environ.setdefault("RAY_AUTH_MODE", "token")


def reachable(address: str | None) -> None:
    """Raise ClusterError unless something listens at ``host:port`` or ``ray://host:port``."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon:
        return  # none, or a word such as "auto"
    remedy = "start a cluster there with 'ray start --head', or leave --address out"
    try:
        socket.create_connection((host, int(port)), CONNECT_S).close()
    except (OSError, ValueError, OverflowError) as cause:
        raise ClusterError(f"no Ray on {address}: {cause}; {remedy}") from cause
