"""The `gateway` role: carry out what was decided, on every channel that has a provider here."""

import asyncio
from contextlib import suppress
from ipaddress import ip_network

from adapters.gateway.channels import Channel, call_channel, email_channel, sms_channel, webhook_channel
from adapters.gateway.gateway import Gateway
from adapters.gateway.sandbox import SandboxSms, SandboxVoice
from adapters.gateway.smtp import SmtpEmail, SmtpSettings
from adapters.gateway.webhook import SignedWebhooks
from adapters.observability.metrics import Metrics
from adapters.postgres.deliveries import PostgresDeliveries
from adapters.postgres.pool import open_pool
from adapters.roles.assigned import Membership
from adapters.roles.chores import Chores
from adapters.roles.context import Context
from schemas.instant import DAY
from schemas.topics import COMMANDS_CALL

CLAIMS_KEPT = 8 * DAY
"""A day more than the commands topics are kept: an order that can still be read must still be known."""

FORGET_MINUTES = 60


class GatewayRole:
    """One gateway per channel, all on the partitions that the group assigns to this process."""

    name = "gateway"

    def __init__(self, context: Context, metrics: Metrics) -> None:
        self._context = context
        self._metrics = metrics
        self._gateways: list[Gateway] = []
        self._membership: Membership | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Carry out until told to stop."""
        context = self._context
        pool = await open_pool(context.settings.postgres_dsn, size=context.settings.postgres_pool, name="leadclock gateway")
        deliveries = PostgresDeliveries(pool)
        webhooks = self._webhooks()
        chores = Chores()
        chores.add("forget claims", lambda: deliveries.forget(context.clock.now() - CLAIMS_KEPT), minutes=FORGET_MINUTES)
        chores.start()
        self._gateways = [self._gateway(channel, deliveries) for channel in self._channels(webhooks)]
        self._membership = Membership(context, self.name, COMMANDS_CALL, self._assign)
        try:
            await self._carry_out(self._membership, stop)
        finally:
            chores.stop()
            await webhooks.close()
            await pool.close()

    async def _carry_out(self, membership: Membership, stop: asyncio.Event) -> None:
        """Run the gateways for as long as the group is followed; one that fails ends them all."""
        tasks = [asyncio.create_task(gateway.run(), name=f"gateway {gateway.channel.kind}") for gateway in self._gateways]
        following = asyncio.create_task(membership.run(stop))
        try:
            await asyncio.wait({following, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks)
            await asyncio.gather(following, return_exceptions=True)

    def troubles(self) -> dict[str, str]:
        """Tell what keeps orders from being carried out."""
        if self._membership is None:
            return {"gateway": "starting"}
        if self._membership.trouble is not None:
            return {"log": self._membership.trouble}
        return {
            f"{gateway.channel.kind} {source}": sentence
            for gateway in self._gateways
            for source, sentence in gateway.problems().items()
        }

    def _gateway(self, channel: Channel, deliveries: PostgresDeliveries) -> Gateway:
        context = self._context
        return Gateway(
            channel,
            log=context.log,
            deliveries=deliveries,
            clock=context.clock,
            metrics=self._metrics,
            names=context.names,
        )

    def _assign(self, partitions: frozenset[int]) -> None:
        for gateway in self._gateways:
            gateway.assign(partitions)

    def _webhooks(self) -> SignedWebhooks:
        settings = self._context.settings
        return SignedWebhooks(
            self._context.rules,
            self._context.clock,
            deployment_secret=settings.secret_key,
            allowed=[ip_network(network) for network in settings.webhook_private_networks],
        )

    def _channels(self, webhooks: SignedWebhooks) -> list[Channel]:
        context, settings = self._context, self._context.settings
        smtp = SmtpSettings(
            host=settings.smtp_host,
            port=settings.smtp_port,
            user=settings.smtp_username,
            password=settings.smtp_password,
            starttls=settings.smtp_starttls,
            sender=settings.email_from,
        )
        return [
            call_channel(SandboxVoice(context.clock)),
            sms_channel(SandboxSms(context.clock)),
            email_channel(SmtpEmail(smtp, context.clock)),
            webhook_channel(webhooks),
        ]
