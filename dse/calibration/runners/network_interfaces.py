"""Which network interface leads to a host; standard library only, for workers on any node."""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct

SIOCGIFADDR = 0x8915  # linux/sockios.h: the IPv4 address of an interface


def address_towards(host: str) -> str:
    """The IPv4 address from which this host talks to ``host``; '' where it cannot reach it."""
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
    ):
        probe.connect((host, 9))  # a datagram socket sends nothing when it connects
        return str(probe.getsockname()[0])
    return ""


def interface_to(host: str) -> str:
    """The interface through which ``host`` is reached; '' where that is unknown."""
    wanted = address_towards(host)
    if wanted.startswith("127."):
        return "lo"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            with contextlib.suppress(OSError):
                found = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, request)
                if socket.inet_ntoa(found[20:24]) == wanted:
                    return name
    return ""
