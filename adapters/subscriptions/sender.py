"""How are stored events sent? Signed, in the order of each lead, with retries over a day, and never faster than they end.

What is due is leased from the database, so that several processes share the work and a process that dies is stood in for.
Places are divided: so many at once for a subscription, for a company, and in all; a receiver that fails has one place.
"""

import asyncio
import random
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus

import httpx
import structlog

from adapters.errors import StoreError
from adapters.gateway.bodies import JSON_TYPE
from adapters.gateway.guarded_client import REFUSED_TARGETS, GuardedClient
from adapters.gateway.signing import keys_of_subscription, signature_headers
from adapters.observability.traces import OutcomeSpan, Traces
from adapters.retry import Backoff, pause
from adapters.subscriptions.ports import DeliveryPlaces, DueDelivery, PostAttempt, SubscriptionStore
from engine.rules import Rules
from schemas.instant import Instant
from schemas.records import Record, Subscription

RETRY_DELAYS_SECONDS = (5.0, 30.0, 300.0, 1_800.0, 7_200.0, 28_800.0, 86_400.0)
"""Between attempts: a restart, an outage, a night, a weekend day. Standard Webhooks suggests the same growth."""

JITTER = 0.2
"""Fraction of a delay, either way: a receiver that comes back does not get everything in one second."""

ANSWER_SECONDS = 10.0
"""For one attempt as a whole: name, connection, request and answer."""

LEASE_SECONDS = 3 * ANSWER_SECONDS
"""After this another process may send what this one has not recorded: the receiver may get it twice, under one id."""

IN_FLIGHT_MAX = 64
IN_FLIGHT_OF_COMPANY_MAX = 16
IN_FLIGHT_OF_SUBSCRIPTION_MAX = 4
"""Events under way: in all, of one company and of one subscription. A company with receivers that hang holds a quarter."""

POLL_SECONDS = 0.5
"""How late a retry may be noticed. New events of this process are sent at once."""

REST_SECONDS_MAX = 60.0
"""A receiver that fails is asked at most this seldom, whatever waits for it: from 1 s on, doubled with each failure."""

GAVE_UP = "nothing was accepted for the whole time in which an event is retried"
GONE = "the receiver answered 410 Gone"

Count = Callable[[str], None]

logger = structlog.get_logger(__name__)


class Sender:
    """Sends what is due until it is stopped. `count` is called with the result of each attempt."""

    def __init__(
        self,
        store: SubscriptionStore,
        rules: Callable[[], Rules],
        client: GuardedClient,
        *,
        deployment_secret: str,
        domain_now: Callable[[], Instant],
        count: Count = lambda _result: None,
        traces: Traces | None = None,
        retry_delays_seconds: Sequence[float] = RETRY_DELAYS_SECONDS,
        rest_seconds_max: float = REST_SECONDS_MAX,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self._store = store
        self._rules = rules
        self._client = client
        self._deployment_secret = deployment_secret
        self._domain_now = domain_now
        self._count = count
        self._traces = traces
        self._retry_delays_seconds = tuple(retry_delays_seconds)
        self._rest_seconds_max = rest_seconds_max
        self._poll_seconds = poll_seconds
        self._claimant = str(uuid.uuid4())
        self._sending: dict[asyncio.Task[None], DueDelivery] = {}
        self._failures: Counter[int] = Counter()
        self._resting_until: dict[int, float] = {}
        self._place_freed = asyncio.Event()
        self._error: BaseException | None = None
        self.problem: str | None = None

    async def run(self, stop: asyncio.Event, stored: asyncio.Event) -> None:
        """Send until `stop` is set, then finish what is under way; `stored` says that there may be new events.

        Raises what a bug of ours raises.
        """
        backoff = Backoff()
        while not stop.is_set():
            stored.clear()
            self._place_freed.clear()
            try:
                claimed = await self._claim()
            except StoreError as error:
                self.problem = str(error)
                await pause(stop, backoff.next_seconds())
                continue
            self.problem = None
            backoff.reset()
            for delivery in claimed:
                self._start(delivery)
            await self._wait(stop, stored)
            if self._error is not None:
                raise self._error
        await asyncio.gather(*self._sending)

    async def _claim(self) -> list[DueDelivery]:
        if not any(True for _ in _live_subscriptions(self._rules())):
            return []
        places = self._places(await self._store.disabled())
        if not places:
            return []
        most = IN_FLIGHT_MAX - len(self._sending)
        return await self._store.claim(places, most=most, claimant=self._claimant, lease_seconds=LEASE_SECONDS)

    def _places(self, disabled: frozenset[int]) -> list[DeliveryPlaces]:
        """Return how many events of each subscription may be sent now, in a random order: none is always the last."""
        now = time.monotonic()
        of_subscription = Counter(delivery.subscription_id for delivery in self._sending.values())
        of_company = Counter(delivery.company_id for delivery in self._sending.values())
        places = [
            DeliveryPlaces(
                subscription_id=record.id,
                company_id=record.company_id,
                of_subscription=self._most_of(record.id) - of_subscription[record.id],
                of_company=IN_FLIGHT_OF_COMPANY_MAX - of_company[record.company_id],
            )
            for record, body in _live_subscriptions(self._rules())
            if not body.paused and record.id not in disabled and self._resting_until.get(record.id, 0.0) <= now
        ]
        free = [one for one in places if one.of_subscription > 0 and one.of_company > 0]
        random.shuffle(free)
        return free if len(self._sending) < IN_FLIGHT_MAX else []

    def _most_of(self, subscription_id: int) -> int:
        return 1 if self._failures[subscription_id] else IN_FLIGHT_OF_SUBSCRIPTION_MAX

    def _start(self, delivery: DueDelivery) -> None:
        task = asyncio.create_task(self._send(delivery), name=f"send {delivery.webhook_id}")
        self._sending[task] = delivery
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        del self._sending[task]
        self._place_freed.set()
        if not task.cancelled():
            self._error = self._error or task.exception()

    async def _wait(self, stop: asyncio.Event, stored: asyncio.Event) -> None:
        waits = [asyncio.create_task(event.wait()) for event in (stop, stored, self._place_freed)]
        await asyncio.wait(waits, timeout=self._poll_seconds, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)

    async def _send(self, delivery: DueDelivery) -> None:
        rules = self._rules()
        record = rules.record("subscription", delivery.subscription_id)
        body = rules.body(Subscription, "subscription", delivery.subscription_id)
        try:
            if record is None or body is None or body.paused:
                await self._store.release((delivery.id,), claimant=self._claimant)
                return
            with self._span(delivery) as span:
                attempt = await self._attempt(delivery, body)
                if span is not None:
                    span.end_as(_result_of(attempt))
            self._note(delivery.subscription_id, attempt)
            is_failing = await self._store.record(delivery.id, attempt, claimant=self._claimant)
            await self._disable_if_hopeless(delivery, attempt, is_failing=is_failing)
        except StoreError as error:  # the lease ends, and the event is sent again under its id
            self.problem = str(error)

    def _span(self, delivery: DueDelivery) -> AbstractContextManager[OutcomeSpan | None]:
        if self._traces is None:
            return nullcontext()
        return self._traces.event_post(
            delivery.event, delivery.lead_id, company_id=delivery.company_id, subscription_id=delivery.subscription_id
        )

    async def _attempt(self, delivery: DueDelivery, body: Subscription) -> PostAttempt:
        started = time.monotonic()
        status: int | None = None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                status, detail = await self._post(delivery, body)
        except REFUSED_TARGETS as error:  # retried, too: the name may resolve to a public address again
            detail = str(error)
        except (httpx.HTTPError, OSError) as error:  # a TimeoutError is an OSError
            detail = f"{type(error).__name__}: {error}"
        is_delivered = status is not None and HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
        is_over = is_delivered or status == HTTPStatus.GONE
        return PostAttempt(
            is_delivered=is_delivered,
            status=status,
            detail=detail.replace("\0", "\ufffd"),
            milliseconds=int(1_000 * (time.monotonic() - started)),
            retry_in_seconds=None if is_over else self._delay_seconds(delivery.tries),
        )

    async def _post(self, delivery: DueDelivery, body: Subscription) -> tuple[int, str]:
        content = delivery.body.encode()
        headers = {
            "content-type": JSON_TYPE,
            "user-agent": "leadclock",
            **signature_headers(self._keys(delivery, body), delivery.webhook_id, content),
        }
        return await self._client.send("POST", body.url, headers=headers, content=content)

    def _keys(self, delivery: DueDelivery, body: Subscription) -> list[bytes]:
        of_record = self._deployment_secret, delivery.company_id, delivery.subscription_id
        return keys_of_subscription(*of_record, body, self._domain_now())

    def _delay_seconds(self, tries: int) -> float | None:
        """Return the wait before the next attempt, None after the last."""
        if tries >= len(self._retry_delays_seconds):
            return None
        return self._retry_delays_seconds[tries] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - no secret

    def _note(self, subscription_id: int, attempt: PostAttempt) -> None:
        """Let a receiver that fails rest, longer with each failure; count the result."""
        self._count(_result_of(attempt))
        if attempt.is_delivered:
            del self._failures[subscription_id]
            self._resting_until.pop(subscription_id, None)
            return
        self._failures[subscription_id] += 1
        rest_seconds = min(2.0 ** (min(self._failures[subscription_id], 10) - 1), self._rest_seconds_max)
        self._resting_until[subscription_id] = time.monotonic() + rest_seconds

    async def _disable_if_hopeless(self, delivery: DueDelivery, attempt: PostAttempt, *, is_failing: bool) -> None:
        """Stop sending where the receiver is gone, or has accepted nothing while this event was tried to its end."""
        is_gone = attempt.status == HTTPStatus.GONE
        is_given_up = attempt.retry_in_seconds is None and not attempt.is_delivered and is_failing
        if not (is_gone or is_given_up):
            return
        reason = GONE if is_gone else GAVE_UP
        await self._store.disable(delivery.subscription_id, reason)
        await logger.awarning(
            "subscription.disabled",
            company_id=delivery.company_id,
            subscription_id=delivery.subscription_id,
            reason=reason,
        )


def _result_of(attempt: PostAttempt) -> str:
    return "delivered" if attempt.is_delivered else "failed" if attempt.retry_in_seconds is None else "retried"


def _live_subscriptions(rules: Rules) -> Iterator[tuple[Record, Subscription]]:
    for record in rules.of_type("subscription"):
        body = rules.body(Subscription, "subscription", record.id)
        if body is not None:
            yield record, body
