"""How is a webhook posted? Signed, to a checked address, without redirects, within 10 s, with a few retries.

The record of the webhook is the newest that this process has read: after a change of its URL the next post goes there.
"""

import asyncio
import ssl
from collections.abc import Collection, Sequence
from http import HTTPStatus

import httpx
import structlog
from msgspec import Struct

from adapters.errors import StoreError
from adapters.gateway.addresses import Network
from adapters.gateway.bodies import JSON_TYPE, body_of
from adapters.gateway.channels import CONCURRENT_MAX
from adapters.gateway.circuit import CircuitReport, Endpoint, Endpoints
from adapters.gateway.guarded_client import REFUSED_TARGETS, GuardedClient
from adapters.gateway.leases import check_lease
from adapters.gateway.ports import DeliveryResult, RulesReader, WebhookAttempt, WebhookLog
from adapters.gateway.resolver import Resolver
from adapters.gateway.secret_masks import mask_secrets
from adapters.gateway.signing import signature_headers, signing_key
from adapters.gateway.veto_questions import VetoQuestions
from engine.contact.schedule.templates import TextTooLongError
from engine.partition.ports import Clock
from schemas.commands import PostWebhook
from schemas.records import OutgoingWebhook

RETRY_DELAYS_SECONDS = (1.0, 3.0)
"""For a receiver that restarts; the step's own `retry` covers what takes longer."""

ANSWER_SECONDS = 10.0
"""For one attempt as a whole: name, connection, request and answer. Standard Webhooks suggests 15 to 30; it holds a slot."""

LOG_SECONDS = 2.0
"""For writing an attempt down: a silent database must not hold the slot of a delivery that is done."""

CONNECTIONS_MAX = CONCURRENT_MAX["webhook"]
"""One for each delivery that may be in flight, so that none waits for a connection."""


ACCEPTED = "accepted"

_RESERVED_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "te", "trailer", "upgrade", "expect", "keep-alive"}
)
"""Headers that a webhook's record cannot set, besides those of the signature."""


logger = structlog.get_logger(__name__)


class Attempted(Struct, frozen=True):
    """What came of one attempt: status and start of the answer, if there was one, and whether a retry may help."""

    result: DeliveryResult
    is_retryable: bool
    status: int | None = None
    said: str = ""


class SignedWebhooks:
    """A `WebhookSender`. `allowed` are the private networks that the operator has named; `own_ports` are closed there.

    `log` gets each attempt; where it cannot be written, the delivery goes on without.
    """

    name = "webhook"

    def __init__(
        self,
        rules: RulesReader,
        clock: Clock,
        *,
        deployment_secret: str,
        allowed: Sequence[Network] = (),
        own_ports: Collection[int] = (),
        retry_delays_seconds: Sequence[float] = RETRY_DELAYS_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
        tls: ssl.SSLContext | None = None,
        resolver: Resolver | None = None,
        log: WebhookLog | None = None,
    ) -> None:
        self._log = log
        self._rules = rules
        self._clock = clock
        self._deployment_secret = deployment_secret
        self._retry_delays_seconds = tuple(retry_delays_seconds)
        self._answer_seconds = answer_seconds
        self._endpoints = Endpoints()
        self._client = GuardedClient(
            allowed=allowed,
            own_ports=own_ports,
            answer_seconds=answer_seconds,
            connections_max=CONNECTIONS_MAX,
            tls=tls,
            resolver=resolver,
        )
        self._questions = VetoQuestions(rules, clock, self._client, deployment_secret=deployment_secret)

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()

    def endpoint_of(self, command: PostWebhook) -> Endpoint:
        """Return the host and port that a command goes to, as far as this process knows its webhook."""
        if command.subscription_id is not None:
            url, other = self._questions.url_of(command), f"subscription {command.subscription_id}"
        else:
            webhook = self._rules.rules.body(OutgoingWebhook, "outgoing_webhook", command.outgoing_webhook_id)
            url, other = "" if webhook is None else webhook.url, f"webhook {command.outgoing_webhook_id}"
        return self._endpoints.of(command.company_id, _host_of(url) or other)

    def report_circuits(self) -> CircuitReport:
        """Return which hosts are spared now."""
        return self._endpoints.report()

    async def post(self, command: PostWebhook) -> DeliveryResult:
        """Post until the receiver accepts or refuses, or the attempts are used up; ask a veto hook once."""
        if command.subscription_id is not None:
            return await self._questions.ask(command)
        webhook = await self._webhook(command)
        if webhook is None:
            return _failed("the outgoing webhook does not exist any more")
        if webhook.paused:
            return _failed("the outgoing webhook is paused")
        attempted = await self._logged_attempt(command, webhook, 1)
        for number, delay_seconds in enumerate(self._retry_delays_seconds, 2):
            if not attempted.is_retryable or self._is_too_late(command, delay_seconds):
                break
            await self._clock.sleep(delay_seconds)
            attempted = await self._logged_attempt(command, webhook, number)
        return attempted.result

    async def _logged_attempt(self, command: PostWebhook, webhook: OutgoingWebhook, number: int) -> Attempted:
        """Attempt, and write down what came of it."""
        at, began = self._clock.now(), self._clock.monotonic()
        attempted = await self._attempt(command, webhook)
        if self._log is None:
            return attempted
        written = WebhookAttempt(
            command=command,
            number=number,
            at=at,
            milliseconds=max(0, round((self._clock.monotonic() - began) * 1_000)),
            method=webhook.method,
            host=_host_of(webhook.url),
            status=attempted.status,
            is_accepted=attempted.result.outcome == ACCEPTED,
            detail=attempted.said if attempted.status is not None else attempted.result.detail or "",
        )
        try:
            async with asyncio.timeout(LOG_SECONDS):
                await self._log.add(written)
        except (StoreError, TimeoutError) as error:
            logger.warning(
                "webhook_log.lost", command_id=command.command_id, company_id=command.company_id, reason=str(error)
            )
        return attempted

    async def _webhook(self, command: PostWebhook) -> OutgoingWebhook | None:
        record = self._rules.rules.record("outgoing_webhook", command.outgoing_webhook_id)
        if record is None or record.version < command.webhook_version:
            await self._rules.refresh()
            record = self._rules.rules.record("outgoing_webhook", command.outgoing_webhook_id)
        if record is None or record.company_id != command.company_id:
            return None
        return self._rules.rules.body(OutgoingWebhook, "outgoing_webhook", command.outgoing_webhook_id)

    async def _attempt(self, command: PostWebhook, webhook: OutgoingWebhook) -> Attempted:
        """Return the outcome of one attempt, without the secrets of the webhook."""
        endpoint = self.endpoint_of(command)
        try:
            async with asyncio.timeout(self._answer_seconds):
                status, said = await self._exchange(command, webhook)
        except (*REFUSED_TARGETS, TextTooLongError) as error:
            return Attempted(_failed(mask_secrets(str(error), webhook)), is_retryable=False)
        except (httpx.HTTPError, OSError) as error:  # a TimeoutError is an OSError
            endpoint.failed(command.command_id)
            reason = mask_secrets(f"{type(error).__name__}: {error}", webhook)
            return Attempted(_failed(reason), is_retryable=True)
        is_retryable = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS
        if is_retryable:
            endpoint.failed(command.command_id)
        else:
            endpoint.succeeded()
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            result = DeliveryResult(outcome=ACCEPTED, rang=False, detail=str(status))
        else:
            result = _failed(f"{status} {said}".strip())
        return Attempted(result, is_retryable, status, said)

    async def _exchange(self, command: PostWebhook, webhook: OutgoingWebhook) -> tuple[int, str]:
        body = body_of(webhook, command.payload)
        key = signing_key(
            *(self._deployment_secret, "outgoing_webhook", command.company_id),
            *(command.outgoing_webhook_id, webhook.secret_generation),
        )
        headers = {
            "content-type": JSON_TYPE,
            "user-agent": "leadclock",
            "idempotency-key": command.command_id,  # as `webhook-id`, for receivers that know this name only
            **{name.lower(): value for name, value in webhook.headers.items() if name.lower() not in _RESERVED_HEADERS},
            **signature_headers((key,), command.command_id, body),
        }
        # The lease is checked last: resolving the name, or the wait before this attempt, may have taken long.
        status, said = await self._client.send(
            webhook.method, webhook.url, headers=headers, content=body, before=check_lease
        )
        return status, mask_secrets(said, webhook)

    def _is_too_late(self, command: PostWebhook, delay_seconds: float) -> bool:
        return command.not_after is not None and self._clock.seconds_until(command.not_after) < delay_seconds


def _host_of(url: str) -> str:
    """Return host and port of a URL, without a user; its path and query may be secrets."""
    try:
        return httpx.URL(url).netloc.decode("ascii")
    except httpx.InvalidURL:
        return ""


def _failed(detail: str) -> DeliveryResult:
    return DeliveryResult(outcome="failed", rang=False, detail=detail)
