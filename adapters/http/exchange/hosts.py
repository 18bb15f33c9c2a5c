"""Which company does a host name serve? Where hosts are set, each answers for one company, and no other host answers."""

import re
from collections.abc import Iterable, Mapping

from adapters.http.exchange.problems import ProblemError
from adapters.http.exchange.settings import HttpSettings

_ENTRY = re.compile(r"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)=([1-9][0-9]{0,15})", re.ASCII)


def read_hosts(entries: Iterable[str]) -> dict[str, int]:
    """Return the company of each host from entries such as `acme.example.com=7`. Raises `ValueError`."""
    found: dict[str, int] = {}
    for entry in entries:
        match = _ENTRY.fullmatch(entry.strip().lower())
        if match is None:
            raise ValueError(f"{entry!r} must be a host name and the id of its company, such as acme.example.com=7")
        host, company_id = match[1], int(match[2])
        if found.setdefault(host, company_id) != company_id:
            raise ValueError(f"{host} is there twice, with different companies")
    return found


def company_of_host(header: str, hosts: Mapping[str, int]) -> int | None:
    """Return the company that a Host header names; None where no hosts are set. Raises `ProblemError` unknown_host."""
    if not hosts:
        return None
    company_id = hosts.get(_host_of(header))
    if company_id is None:
        raise ProblemError("unknown_host", "No company is served under this host name; correct the address.")
    return company_id


def refuse_host_of_company(header: str, hosts: Mapping[str, int]) -> None:
    """Raise `ProblemError` unknown_host for the host of a company: it serves that one alone, not the operator."""
    if _host_of(header) in hosts:
        raise ProblemError("unknown_host", "A company's host does not serve the operator; send this to another address.")


def base_of_company(settings: HttpSettings, company_id: int) -> str:
    """Return where browsers reach a company: at its host where it has one, else at the public address; empty: nowhere."""
    hosts = sorted(host for host, served_id in settings.hosts.items() if served_id == company_id)
    return f"https://{hosts[0]}" if hosts else settings.public_url.rstrip("/")


def _host_of(header: str) -> str:
    name, _, port = header.rpartition(":")
    return (name if name and port.isdigit() else header).lower().removesuffix(".")
