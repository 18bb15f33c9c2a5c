"""Which provider configuration carries out a command? The company's own for that channel and number, by fallback order.

The order is written down before a provider is asked, so that a callback or a look-up finds it from any process. The next
configuration is asked only where nothing was placed. After an error that leaves that open the provider is asked what it
knows, and the order is given to nobody else.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence

import structlog

from adapters.errors import StoreError
from adapters.gateway.circuit import CircuitReport, Endpoint, Endpoints
from adapters.gateway.leases import check_lease, current_claim_id
from adapters.gateway.ports import (
    CallProgress,
    DeliveryResult,
    LeaseLostError,
    NotPlacedError,
    Report,
    RulesReader,
    UnwrittenOrderError,
)
from adapters.providers.callback_tokens import NamedConfiguration, last_configuration
from adapters.providers.connections import Connections, Opened, look_up
from adapters.providers.orders import Orders, StoredOrder
from adapters.providers.ports import (
    Connection,
    OrderCommand,
    Placed,
    ProviderFailedError,
    RefusedOrderError,
)
from engine.partition.ports import Clock
from engine.rules import Rules
from schemas.commands import HangUp, PlaceCall, PressKeys, SendEmail, SendSms
from schemas.records import ProviderChannel, ProviderConfiguration

FIND_DELAYS_SECONDS = (1.0, 4.0, 15.0)
"""When to ask a vendor what it knows of an order whose answer was lost: lists show a new order within seconds, and a vendor
that restarts is back within half a minute. What is still open then is looked up again for hours (`order_checks`)."""

NO_SUCH_ORDER = "the provider knows no such order"

CONFIGURATION = "provider_configuration"

logger = structlog.get_logger(__name__)

Ask = Callable[[Connection], Awaitable[Placed | DeliveryResult]]


class ConfiguredProviders:
    """A `VoiceProvider`, `SmsProvider` and `EmailProvider` of one channel. `names` are the providers that may be used."""

    def __init__(
        self,
        channel: ProviderChannel,
        names: Sequence[str],
        *,
        rules: RulesReader,
        orders: Orders,
        connections: Connections,
        clock: Clock,
        find_delays_seconds: Sequence[float] = FIND_DELAYS_SECONDS,
    ) -> None:
        self.name = ",".join(names)
        self._channel = channel
        self._names = frozenset(names)
        self._rules = rules
        self._orders = orders
        self._connections = connections
        self._clock = clock
        self._endpoints = Endpoints()
        self._find_delays_seconds = tuple(find_delays_seconds)

    async def place(self, command: PlaceCall, report: Report) -> DeliveryResult | None:
        """Have a call placed; its outcome comes by callback."""
        return await self._carry_out(command, lambda connection: connection.place(command), report)

    async def send(self, command: SendSms | SendEmail) -> DeliveryResult | None:
        """Have a text or e-mail sent; its receipt comes by callback."""
        return await self._carry_out(command, lambda connection: connection.send(command), None)

    def has_account(self, company_id: int) -> bool:
        """Return whether a company has configured anything for the channel, paused or not."""
        rules = self._rules.rules
        records = rules.records(CONFIGURATION, company_id)
        bodies = (rules.body(ProviderConfiguration, CONFIGURATION, record.id) for record in records)
        return any(body is not None and body.channel == self._channel for body in bodies)

    async def press(self, command: PressKeys) -> bool:
        """Press keys on a call, whichever gateway placed it or took it."""
        if command.call_command_id is None:
            return await self._press_inbound(command)
        found = await self._call_in_progress(command.company_id, command.call_command_id)
        return found is not None and await found[0].connection.press(found[1], command.digits)

    async def _press_inbound(self, command: PressKeys) -> bool:
        """Press keys on a call of a person, by the account that it came by: another one would press those of a stranger."""
        configuration = last_configuration(self._rules.rules, command.provider_configuration_id or 0)
        is_own = configuration is not None and configuration.record.company_id == command.company_id
        if configuration is None or not is_own or command.provider_ref is None:
            return False
        return await self._connections.open(configuration).connection.press(command.provider_ref, command.digits)

    async def hang_up(self, command: HangUp) -> bool:
        """End a call, whichever gateway placed it."""
        found = await self._call_in_progress(command.company_id, command.call_command_id)
        if found is None:
            return False
        connection = found[0].connection
        return await (connection.cancel(found[1]) if command.only_unanswered else connection.hang_up(found[1]))

    async def _call_in_progress(self, company_id: int, command_id: str) -> tuple[Opened, str] | None:
        order = await self._orders.find(company_id, command_id)
        if order is None or order.has_ended or order.provider_ref is None:
            return None
        return self._opened(order), order.provider_ref

    async def _carry_out(self, command: OrderCommand, ask: Ask, report: Report | None) -> DeliveryResult | None:
        """Ask one configuration after the other until one may have placed the order.

        Raises `NotPlacedError`, and `UnwrittenOrderError` where the database is away.
        """
        reasons: list[str] = []
        for configuration in await self._chosen(command):
            endpoint = self.endpoint_of(command.company_id, configuration.record.id)
            if not endpoint.begin(command.command_id):
                reasons.append(f"{configuration.body.name}: {endpoint.refusal()}")
                continue
            try:
                opened = self._connections.open(configuration)
                answer = await self._ask(opened, command, ask)
            except RefusedOrderError as error:
                endpoint.succeeded()
                reasons.append(f"{configuration.body.name}: {error}")
                if not error.tries_next:
                    break
            except NotPlacedError as error:
                endpoint.failed(command.command_id)
                reasons.append(f"{configuration.body.name}: {error}")
            except ProviderFailedError as error:
                endpoint.failed(command.command_id)
                logger.warning("provider.unclear", command_id=command.command_id, error=str(error))
                return await self.resume(command)
            else:
                endpoint.succeeded()
                return await self._placed(opened, command, answer, report)
            finally:
                endpoint.end(command.command_id)
        detail = "; ".join(reasons)
        await self._end(command, DeliveryResult(outcome="not_placed", rang=False, detail=detail))
        raise NotPlacedError(detail)

    def endpoint_of(self, company_id: int, configuration_id: int) -> Endpoint:
        """Return the circuit of a configuration."""
        return self._endpoints.of(company_id, f"{CONFIGURATION} {configuration_id}")

    def report_circuits(self) -> CircuitReport:
        """Return which configurations are spared now."""
        return self._endpoints.report()

    async def _ask(self, opened: Opened, command: OrderCommand, ask: Ask) -> Placed | DeliveryResult:
        """Write the order down, then give it to a provider.

        Raises `UnwrittenOrderError` where the database is away, `LeaseLostError` where another gateway has the command.
        """
        check_lease()
        try:
            is_ours = await self._orders.begin(command, self._channel, opened.id, claim_id=current_claim_id())
        except StoreError as error:
            raise UnwrittenOrderError(f"the order could not be written down: {error}") from error
        if not is_ours:
            raise LeaseLostError(f"{command.command_id} was taken over before its order was written down")
        check_lease()
        return await ask(opened.connection)

    async def _placed(
        self, opened: Opened, command: OrderCommand, answer: Placed | DeliveryResult, report: Report | None
    ) -> DeliveryResult | None:
        if isinstance(answer, DeliveryResult):
            result = opened.named(answer)
            await self._end(command, result)
            return result
        try:
            await self._orders.placed(command.command_id, opened.id, answer.provider_ref, answer.parts)
        except StoreError as error:  # callbacks name it too
            logger.warning("order.reference_lost", command_id=command.command_id, error=str(error))
        if report is not None:
            await report(CallProgress(state="initiated", provider_ref=answer.provider_ref, provider=opened.provider.name))
        return None

    async def was_given(self, command: OrderCommand) -> bool:
        """Return whether a command may have been given to a provider. Raises `StoreError`."""
        return await self._orders.find(command.company_id, command.command_id) is not None

    async def resume(self, command: OrderCommand) -> DeliveryResult | None:
        """Return what became of a command whose answer was lost; None where it is under way. Raises `StoreError`.

        Asks the vendor a few times. The command is never given to a provider again.
        """
        order = await self._orders.find(command.company_id, command.command_id)
        if order is None:
            return DeliveryResult(outcome="unknown", detail="no order of this command was written down")
        if order.has_ended:
            return order.result
        try:
            opened = self._opened(order)
        except NotPlacedError as error:
            return DeliveryResult(outcome="unknown", detail=str(error))
        found, said = await self._find(opened, order)
        if found is not None and found.has_ended:
            return found.result
        if found is not None:
            result = opened.connection.conclude(found.order())
            return None if result is None else opened.named(result)
        # Only a provider that finds every order by our own id can say that it has none.
        outcome = "not_placed" if opened.provider.resume == "exact" and said == NO_SUCH_ORDER else "unknown"
        return opened.named(DeliveryResult(outcome=outcome, rang=outcome == "unknown", detail=said))

    async def _find(self, opened: Opened, order: StoredOrder) -> tuple[StoredOrder | None, str]:
        """Return an order with what its vendor knows or has reported, or None and why."""
        said = "the provider cannot say what became of it"
        for seconds in self._find_delays_seconds:
            await self._clock.sleep(seconds)
            order = await self._orders.find(order.company_id, order.command.command_id) or order  # it may have been reported
            if order.has_ended:
                return order, ""
            if opened.provider.resume == "none" and order.provider_ref is None:
                continue
            try:
                found = await look_up(opened, order, self._orders)
            except (NotPlacedError, ProviderFailedError) as error:
                said = str(error)
                continue
            if found is not None:
                return found, ""
            said = NO_SUCH_ORDER
        return None, said

    async def _chosen(self, command: OrderCommand) -> list[NamedConfiguration]:
        """Return the configurations for a command, the first to be asked first. Raises `NotPlacedError` if none."""
        found = list(configurations_for(self._rules.rules, self._channel, self._names, command))
        if not found:
            await self._rules.refresh()  # it may just have been made
            found = list(configurations_for(self._rules.rules, self._channel, self._names, command))
        if not found:
            raise NotPlacedError(f"the company has no provider configuration for this {self._channel}")
        return found

    def _opened(self, order: StoredOrder) -> Opened:
        return self._connections.open_stored(self._rules.rules, order)

    async def _end(self, command: OrderCommand, result: DeliveryResult) -> None:
        try:
            await self._orders.end(command.company_id, command.command_id, result)
        except StoreError as error:  # it is looked up until it is abandoned, for nothing
            logger.warning("order.left_open", command_id=command.command_id, error=str(error))


def configurations_for(
    rules: Rules, channel: ProviderChannel, names: frozenset[str], command: OrderCommand
) -> Iterator[NamedConfiguration]:
    """Yield the live configurations of a company for a command: those that name its number, then those that name none."""
    from_number = None if isinstance(command, SendEmail) else command.from_number
    record = rules.number(command.company_id, from_number)
    number_id = None if record is None else record.id
    ranked = []
    for record in rules.records(CONFIGURATION, command.company_id):
        body = rules.body(ProviderConfiguration, CONFIGURATION, record.id)
        if body is None or body.channel != channel or body.paused or body.provider not in names:
            continue
        if not body.number_ids or number_id in body.number_ids:
            ranked.append(((not body.number_ids, body.fallback_order, record.id), NamedConfiguration(record, body)))
    yield from (configuration for _, configuration in sorted(ranked, key=lambda one: one[0]))
