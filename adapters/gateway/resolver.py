"""Which addresses does a host name have? A DNS look-up without threads, so that a silent server delays no other.

The system's resolver takes a thread for each name, and a few threads serve a whole process: six names on a silent
name server stopped every webhook. c-ares looks up any number at once (RFC 1035, /etc/hosts and /etc/resolv.conf; no
other source of nsswitch.conf). The slots of deliveries bound the number: one look-up each.
"""

import asyncio
import socket
from collections.abc import Sequence

import aiodns

from schemas.errors import DependencyError

LOOKUP_SECONDS = 5.0
"""For one name, with a second question after 2 s: half of what one attempt of a webhook may take."""

QUESTION_SECONDS = 2.0
QUESTIONS_MAX = 2


class BadNameError(DependencyError):
    """No host can have this name."""


class Resolver:
    """A stub resolver. `name_servers` (`127.0.0.1:53`) are those of this machine where left out."""

    def __init__(self, name_servers: Sequence[str] = ()) -> None:
        self._name_servers = list(name_servers)
        self._dns: aiodns.DNSResolver | None = None

    async def addresses(self, host: str) -> list[str]:
        """Return the addresses of a host, in the order in which to try them. Raises `BadNameError`, `OSError`."""
        if self._dns is None:
            self._dns = aiodns.DNSResolver(self._name_servers or None, timeout=QUESTION_SECONDS, tries=QUESTIONS_MAX)
        try:
            async with asyncio.timeout(LOOKUP_SECONDS):
                found = await self._dns.getaddrinfo(host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM)
        except aiodns.error.DNSError as error:
            if error.args[0] == aiodns.error.ARES_EBADNAME:
                raise BadNameError(f"{host[:100]} is no name of a host: a part of it is empty or too long") from error
            raise OSError(f"{host[:100]} cannot be resolved: {error.args[-1]}") from error
        except UnicodeError as error:
            raise BadNameError(f"{host[:100]} is no name of a host: {error}") from error
        except TimeoutError:
            raise OSError(f"{host[:100]} cannot be resolved: no name server answered in {LOOKUP_SECONDS:g} s") from None
        return [node.addr[0].decode() for node in found.nodes]

    async def close(self) -> None:
        """Close the sockets to the name servers."""
        if self._dns is not None:
            await self._dns.close()
