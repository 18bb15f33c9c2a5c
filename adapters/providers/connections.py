"""How does a provider configuration become a connection? Its provider is found, its settings read, its secrets decrypted."""

from collections import OrderedDict
from collections.abc import Callable

import msgspec
from msgspec import Struct, structs

from adapters.gateway.bounce_tokens import BounceTokens
from adapters.gateway.ports import DeliveryResult, NotPlacedError
from adapters.gateway.unsubscribe_links import UnsubscribeLinks
from adapters.providers.callback_tokens import NamedConfiguration, callback_token, callback_url, last_configuration
from adapters.providers.orders import Orders, StoredOrder
from adapters.providers.ports import Connection, Provider, ProviderAccount, ProviderHttp, ProviderSockets
from adapters.providers.registry import UnknownProviderError, find_provider, read_settings
from adapters.providers.sealing import UnreadableSecretError, unseal
from engine.rules import Rules
from schemas.instant import Instant

CONNECTIONS_MAX = 10_000
"""The least recently used one is forgotten beyond this; it is opened again in microseconds."""


class UnusableConfigurationError(NotPlacedError):
    """A configuration that no order can be given to; the text says what to correct."""


class Opened(Struct, frozen=True):
    """A configuration with its provider and a connection."""

    configuration: NamedConfiguration
    provider: Provider
    connection: Connection

    @property
    def id(self) -> int:
        """Return the id of the configuration."""
        return self.configuration.record.id

    def named(self, result: DeliveryResult) -> DeliveryResult:
        """Return an outcome with who carried it out."""
        return structs.replace(result, provider=self.provider.name, provider_configuration_id=self.id)


class Connections:
    """The connections of one process, each opened once for every version of its configuration."""

    def __init__(
        self,
        *,
        http: ProviderHttp,
        deployment_secret: str,
        public_url: str,
        now: Callable[[], Instant],
        sockets: ProviderSockets | None = None,
    ) -> None:
        self._http = http
        self._sockets = sockets
        self._deployment_secret = deployment_secret
        self._public_url = public_url
        self._now = now
        self._opened: OrderedDict[tuple[int, int], Opened] = OrderedDict()

    def open(self, configuration: NamedConfiguration) -> Opened:
        """Return the connection of a configuration. Raises `UnusableConfigurationError`."""
        key = configuration.record.id, configuration.record.version
        opened = self._opened.get(key)
        if opened is None:
            opened = self._opened[key] = self._open(configuration)
            if len(self._opened) > CONNECTIONS_MAX:
                self._opened.popitem(last=False)
        self._opened.move_to_end(key)
        return opened

    def open_stored(self, rules: Rules, order: StoredOrder) -> Opened:
        """Return the connection of an order, whose configuration may be deleted. Raises `UnusableConfigurationError`."""
        configuration = last_configuration(rules, order.configuration_id)
        if configuration is None or configuration.record.company_id != order.company_id:
            raise UnusableConfigurationError(f"provider configuration {order.configuration_id} is unknown")
        return self.open(configuration)

    def _open(self, configuration: NamedConfiguration) -> Opened:
        record, body = configuration.record, configuration.body
        name = f"provider configuration {record.id} ({body.name})"
        try:
            provider = find_provider(body.provider)
            account = ProviderAccount(
                company_id=record.company_id,
                configuration_id=record.id,
                channel=body.channel,
                settings=read_settings(provider, body.settings),
                secrets=self._secrets(configuration, provider),
                callback_url=self._callback_url(configuration),
                http=self._http,
                now=self._now,
                sockets=self._sockets,
                unsubscribe=UnsubscribeLinks(self._deployment_secret, self._public_url) if self._public_url else None,
                bounces=BounceTokens(self._deployment_secret),
            )
            return Opened(configuration, provider, provider.connect(account))
        except (UnknownProviderError, UnreadableSecretError, msgspec.ValidationError, ValueError) as error:
            raise UnusableConfigurationError(f"{name} cannot be used: {error}") from error

    def _secrets(self, configuration: NamedConfiguration, provider: Provider) -> dict[str, str]:
        record, body = configuration.record, configuration.body
        missing = [name for name in provider.secrets if name not in body.sealed_secrets]
        if missing:
            raise ValueError(f"set its secrets {', '.join(missing)}")
        place = {"company_id": record.company_id, "provider": body.provider}
        return {
            name: unseal(self._deployment_secret, body.sealed_secrets[name], name=name, **place)  # type: ignore[arg-type]
            for name in provider.secrets
        }

    def _callback_url(self, configuration: NamedConfiguration) -> str | None:
        if not self._public_url:
            return None
        record, body = configuration.record, configuration.body
        token = callback_token(self._deployment_secret, record.company_id, record.id, body.callback_generation)
        return callback_url(self._public_url, body.provider, token)


async def look_up(opened: Opened, order: StoredOrder, orders: Orders) -> StoredOrder | None:
    """Ask the vendor about an order and store what it says; None where it knows none.

    Raises `NotPlacedError` or `ProviderFailedError` where the vendor is away, and `StoreError`.
    """
    found = await opened.connection.find(order.order(await orders.references(order)))
    if found is None:
        return None
    return await orders.add_facts(
        order.company_id,
        order.configuration_id,
        order.command.command_id,
        facts=found.facts,
        provider_ref=found.provider_ref,
    )
