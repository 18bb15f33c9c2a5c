"""What does a provider that carries messages alone say about calls and callbacks? That it has neither."""

from adapters.gateway.ports import DeliveryResult
from adapters.providers.ports import (
    Callback,
    ForgedCallbackError,
    InboundCallReport,
    InboundRoute,
    Order,
    Placed,
    ProviderReply,
    Reading,
    RefusedOrderError,
)
from schemas.commands import PlaceCall


class MessageConnection:
    """The half of a connection that is about calls and callbacks, for a provider without them; `name` is the provider's."""

    name: str

    async def place(self, command: PlaceCall) -> Placed | DeliveryResult:
        """Refuse a call."""
        raise RefusedOrderError(f"{self.name} carries no calls ({command.command_id})", tries_next=True)

    async def press(self, provider_ref: str, digits: str) -> bool:  # noqa: ARG002
        """Return that there is no call."""
        return False

    async def hang_up(self, provider_ref: str) -> bool:  # noqa: ARG002
        """Return that there is no call."""
        return False

    async def cancel(self, provider_ref: str) -> bool:  # noqa: ARG002
        """Return that there is no call."""
        return False

    def read_callback(self, callback: Callback) -> Reading | None:
        """Refuse a callback: the vendor sends none."""
        raise ForgedCallbackError(f"{self.name} sends no callbacks ({len(callback.body)} bytes)")

    async def reply_to(self, callback: Callback, order: Order | None) -> ProviderReply:  # noqa: ARG002
        """Return an empty answer."""
        return ProviderReply()

    async def reply_with_route(
        self,
        callback: Callback,  # noqa: ARG002
        report: InboundCallReport,  # noqa: ARG002
        route: InboundRoute,  # noqa: ARG002
    ) -> ProviderReply:
        """Return an empty answer."""
        return ProviderReply()
