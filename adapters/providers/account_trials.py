"""Does a company's account with a provider work? A harmless request that needs its secrets says so."""

import asyncio
from collections.abc import Iterator
from typing import Any

from adapters.gateway.ports import NotPlacedError
from adapters.providers.callback_tokens import NamedConfiguration
from adapters.providers.connections import Connections
from adapters.providers.ports import ProviderFailedError
from engine.rules import Rules
from schemas.records import ProviderConfiguration

TESTED_SECONDS = 20.0
"""For the request of one account."""


def accounts_with(rules: Rules, name: str) -> Iterator[NamedConfiguration]:
    """Yield the configurations with a provider, of all companies, by id."""
    for record in sorted(rules.of_type("provider_configuration"), key=lambda record: record.id):
        body = rules.body(ProviderConfiguration, "provider_configuration", record.id)
        if body is not None and body.provider == name:
            yield NamedConfiguration(record, body)


async def try_account(connections: Connections, configuration: NamedConfiguration) -> dict[str, Any]:
    """Return whether an account works, and what its vendor says."""
    works, said = True, ""
    try:
        async with asyncio.timeout(TESTED_SECONDS):
            said = await connections.open(configuration).connection.test()
    except (NotPlacedError, ProviderFailedError, TimeoutError) as error:
        works, said = False, str(error) or "no answer in time"
    body = configuration.body
    about = {"id": configuration.record.id, "company_id": configuration.record.company_id, "name": body.name}
    return {**about, "channel": body.channel, "works": works, "said": said}
