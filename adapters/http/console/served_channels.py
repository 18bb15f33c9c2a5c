"""What serves each channel now, in words? As gateways have registered it; the sandbox is named apart."""

from collections.abc import Iterable, Mapping
from typing import Any

from adapters.gateway.providers import ACCOUNTS, SANDBOX


def summarise_channels(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what serves each channel that had a gateway within a week: `served_by`, and how many of them run."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        channel = found.setdefault(row["channel"], {"channel": row["channel"], "providers": set(), "live_count": 0})
        if row["is_live"]:
            channel["live_count"] += 1
            channel["providers"].add(row["provider"])
    return [
        {
            **channel,
            "is_sandbox": SANDBOX in channel["providers"],
            "served_by": sorted({name_providers(name, one) for one in channel["providers"] if one != SANDBOX}),
        }
        for name, channel in sorted(found.items())
    ]


def name_providers(channel: str, provider: str) -> str:
    """Return in words what a gateway has registered for a channel other than the sandbox."""
    first, *others = provider.split(",")
    if channel == "webhook":
        return "signed posts to the URLs of companies"
    if channel == "email" and first != ACCOUNTS:
        accounts = f", and accounts of companies with {', '.join(others)}" if others else ""
        return f"the deployment's mail server{accounts}"
    names = others if first == ACCOUNTS else [first, *others]
    return f"accounts of companies with {', '.join(names)}"
