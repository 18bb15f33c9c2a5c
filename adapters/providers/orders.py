"""Which orders are with which provider? A row for each, written before the provider is asked."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from adapters.gateway.ports import DeliveryResult
from adapters.providers.ports import Order, OrderCommand
from schemas.instant import Instant
from schemas.records import ProviderChannel


class StoredOrder(Struct, frozen=True, kw_only=True):
    """An order as it is stored. Times are of the database's clock."""

    command: OrderCommand
    company_id: int
    configuration_id: int
    channel: ProviderChannel
    asked_at: Instant
    provider_ref: str | None = None
    facts: Mapping[str, str] = {}
    result: DeliveryResult | None = None
    has_ended: bool = False

    def order(self, known_refs: frozenset[str] = frozenset()) -> Order:
        """Return what a connection needs of it."""
        return Order(
            command=self.command,
            asked_at=self.asked_at,
            provider_ref=self.provider_ref,
            facts=self.facts,
            known_refs=known_refs,
        )


_HEXADECIMAL = re.compile(r"[0-9a-f]+")


def spellings_of(reference: str) -> list[str]:
    """Return how a reference may be written elsewhere, in small letters without leading zeros: in both bases."""
    plain = reference.lower().lstrip("0")
    found = {plain}
    if _HEXADECIMAL.fullmatch(plain):
        found.add(str(int(plain, 16)))
    if plain.isascii() and plain.isdigit():
        found.add(f"{int(plain):x}")
    return sorted(found)


class Orders(Protocol):
    """Stores orders in the `work` schema. Every method raises `StoreError` and nothing else.

    No contract suite: one adapter (`adapters.postgres.provider_orders.PostgresOrders`), tested on a real database in
    tests/adapters/providers/test_orders.py.
    """

    async def begin(
        self, command: OrderCommand, channel: ProviderChannel, configuration_id: int, *, claim_id: str | None = None
    ) -> bool:
        """Store that a configuration is about to be asked; what another one said before is dropped.

        False, with nothing stored, where the command is no longer claimed under `claim_id`; None asks for no claim.
        """
        ...

    async def placed(self, command_id: str, configuration_id: int, provider_ref: str, parts: Sequence[str] = ()) -> None:
        """Store the vendor's reference of an order, and those of its parts where the vendor reports by them."""
        ...

    async def find_part(self, company_id: int, configuration_id: int, reference: str) -> tuple[str, int] | None:
        """Return the command whose part has this reference, the newest one, and the number of the part."""
        ...

    async def find_alike(self, company_id: int, configuration_id: int, reference: str) -> tuple[str, int] | None:
        """Return the one command that waits for a receipt and whose part has this reference in another spelling.

        None where more than one does: the receipt of another text would be worse than none.
        """
        ...

    async def find(self, company_id: int, command_id: str) -> StoredOrder | None:
        """Return an order of a company."""
        ...

    async def add_facts(
        self,
        company_id: int,
        configuration_id: int,
        command_id: str,
        *,
        facts: Mapping[str, str],
        provider_ref: str | None = None,
        check_after_seconds: float | None = None,
    ) -> StoredOrder | None:
        """Add facts and return the order with them; None where that configuration of that company has no such order."""
        ...

    async def end(self, company_id: int, command_id: str, result: DeliveryResult) -> None:
        """Store what came of an order; it is looked up no more."""
        ...

    async def due(self, channel: ProviderChannel, limit: int) -> Sequence[StoredOrder]:
        """Take open orders that are due for a look-up."""
        ...

    async def references(self, order: StoredOrder) -> frozenset[str]:
        """Return the references of the other orders of its configuration since it was given."""
        ...
