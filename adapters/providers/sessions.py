"""Which vendors report over a session that a gateway keeps open? Those of one channel; what they report is taken here.

Each gateway keeps one session for each live configuration whose provider has them, paused or not: a text of a person may be
a STOP. A receipt may come to another gateway than the one that gave the order, and before that one has stored the carrier's
id. So a reference that nobody knows is looked for a while; then it belongs to an order of somebody else, or to one that was
forgotten, and is confirmed: the carrier would repeat it for days. Some carriers write a reference in a receipt with other
letters, zeros or in another base than in the answer: so it is known where it fits one text alone that waits for a receipt.
"""

import asyncio
from collections.abc import Collection
from typing import Any

import structlog

from adapters.gateway.ports import RulesReader
from adapters.providers.account_trials import accounts_with
from adapters.providers.callback_tokens import NamedConfiguration
from adapters.providers.connections import Connections, Opened, UnusableConfigurationError
from adapters.providers.orders import Orders
from adapters.providers.ports import Listens, ReceiptReport, TextReport
from adapters.providers.reports import ProviderReports, is_taken
from engine.submission.unread_numbers import known_countries
from schemas.records import ProviderChannel

FOLLOW_SECONDS = 1.0
"""How late a new or changed configuration gets its session."""

SESSIONS_MAX = 500
"""Of one gateway: each is a connection and some kilobytes. Configurations beyond are named in the log, and not bound."""

UNKNOWN_WAIT_SECONDS = 10.0
"""For the reference of a receipt: it is stored within milliseconds after the answer to the order, or after an outage."""

UNKNOWN_LOOK_SECONDS = 0.25

SPELLING_WAIT_SECONDS = 1.0
"""For the reference as it is written; then another spelling of it counts, where one text alone that waits fits."""

logger = structlog.get_logger(__name__)


class ProviderSessions:
    """The sessions of one channel in one gateway, with the providers that it may use."""

    def __init__(
        self,
        channel: ProviderChannel,
        names: Collection[str],
        *,
        rules: RulesReader,
        orders: Orders,
        connections: Connections,
        reports: ProviderReports,
    ) -> None:
        self._channel = channel
        self._names = frozenset(names)
        self._rules = rules
        self._orders = orders
        self._connections = connections
        self._reports = reports
        self._open: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._refused: set[tuple[int, int]] = set()

    async def run(self) -> None:
        """Keep the sessions open until cancelled; then end them, each with what is under way on it."""
        try:
            while True:
                await self._follow()
                await asyncio.sleep(FOLLOW_SECONDS)
        finally:
            await self._end(list(self._open))

    async def _follow(self) -> None:
        """Open the sessions of new configurations; end those of configurations that are changed or deleted."""
        wanted = {(one.record.id, one.record.version): one for one in self._configurations()}
        await self._end([key for key, task in self._open.items() if key not in wanted or task.done()])
        self._refused &= wanted.keys()
        for key, configuration in wanted.items():
            if key in self._open or key in self._refused:
                continue
            opened = self._listener(configuration)
            if opened is None:
                self._refused.add(key)
            else:
                self._open[key] = asyncio.create_task(self._listen(opened), name=f"session {key}")

    def _configurations(self) -> list[NamedConfiguration]:
        rules = self._rules.rules
        found = (one for name in sorted(self._names) for one in accounts_with(rules, name))
        return [one for one in found if one.body.channel == self._channel]

    def _listener(self, configuration: NamedConfiguration) -> Opened | None:
        """Return a configuration that has a session; None for one without, that cannot be used, or is one too many."""
        try:
            opened = self._connections.open(configuration)
        except UnusableConfigurationError as error:
            logger.warning("session.unusable", configuration_id=configuration.record.id, reason=str(error))
            return None
        if not isinstance(opened.connection, Listens):
            return None
        if len(self._open) >= SESSIONS_MAX:
            logger.error("session.too_many", configuration_id=opened.id, most=SESSIONS_MAX)
            return None
        return opened

    async def _listen(self, opened: Opened) -> None:
        connection = opened.connection
        assert isinstance(connection, Listens)  # noqa: S101 - `_listener` has found it so
        try:
            await connection.listen(lambda report: self.take(opened, report))
        except Exception:  # another package's code: the other sessions go on, and this one is opened again
            logger.exception("session.failed", configuration_id=opened.id)

    async def _end(self, keys: Collection[tuple[int, int]]) -> None:
        tasks = [self._open.pop(key) for key in keys]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def take(self, opened: Opened, report: ReceiptReport | TextReport) -> None:
        """Store what a vendor reports. Raises `DependencyError` where that fails."""
        if isinstance(report, ReceiptReport):
            await self._take_receipt(opened, report)
            return
        rules, company_id = self._rules.rules, opened.configuration.record.company_id
        countries = known_countries(rules, company_id)
        if not is_taken(report, countries):
            logger.info("callback.ignored", **_about(opened))
            return
        if rules.number(company_id, report.to_number) is None:
            logger.warning("text.number_unknown", **_about(opened))
        await self._reports.text(opened, report, countries)

    async def _take_receipt(self, opened: Opened, report: ReceiptReport) -> None:
        company_id = opened.configuration.record.company_id
        found = await self._find_part(company_id, opened.id, report.reference)
        if found is None:
            logger.warning("receipt.unknown", reference=report.reference, state=report.state, **_about(opened))
            return
        command_id, part = found
        order = await self._orders.add_facts(company_id, opened.id, command_id, facts=report.facts(part))
        if order is not None:
            await self._reports.settle(opened, order)

    async def _find_part(self, company_id: int, configuration_id: int, reference: str) -> tuple[str, int] | None:
        loop = asyncio.get_running_loop()
        alike_from, ends_at = loop.time() + SPELLING_WAIT_SECONDS, loop.time() + UNKNOWN_WAIT_SECONDS
        while True:
            found = await self._orders.find_part(company_id, configuration_id, reference)
            if found is None and loop.time() >= alike_from:
                found = await self._orders.find_alike(company_id, configuration_id, reference)
            if found is not None or loop.time() >= ends_at:
                return found
            await asyncio.sleep(UNKNOWN_LOOK_SECONDS)


def _about(opened: Opened) -> dict[str, Any]:
    return {"provider": opened.provider.name, "configuration_id": opened.id}
