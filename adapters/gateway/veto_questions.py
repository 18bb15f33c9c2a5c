"""How is a veto hook asked? By one signed post to its subscription's URL, which has as many seconds as that says.

`{"allow": true}` or `{"allow": false}` with status 200 to 299 is an answer. Anything else is none, and the contact does what
the subscription says of that. Nothing is repeated here: the contact asks again.
"""

import asyncio
from http import HTTPStatus

import httpx
import msgspec
from msgspec import Struct

from adapters.gateway.bodies import JSON_TYPE
from adapters.gateway.guarded_client import REFUSED_TARGETS, RESPONSE_BYTES_MAX, GuardedClient
from adapters.gateway.leases import check_lease
from adapters.gateway.ports import DeliveryResult, RulesReader
from adapters.gateway.signing import keys_of_subscription, signature_headers
from engine.partition.ports import Clock
from schemas.commands import PostWebhook
from schemas.records import Subscription
from schemas.wire import to_json

REASON_LENGTH_MAX = 200
"""Characters of the reason that a hook may give."""


class HookAnswer(Struct, frozen=True):
    """What a hook answers; other fields are ignored."""

    allow: bool
    reason: str = ""


ANSWERS = msgspec.json.Decoder(HookAnswer)


class VetoQuestions:
    """Asks the hooks of subscriptions."""

    def __init__(self, rules: RulesReader, clock: Clock, client: GuardedClient, *, deployment_secret: str) -> None:
        self._rules = rules
        self._clock = clock
        self._client = client
        self._deployment_secret = deployment_secret

    def url_of(self, command: PostWebhook) -> str:
        """Return where a question goes, as far as this process knows; empty where it does not."""
        body = self._rules.rules.body(Subscription, "subscription", command.subscription_id)
        return "" if body is None else body.url

    async def ask(self, command: PostWebhook) -> DeliveryResult:
        """Ask once, and return the answer or why there is none."""
        body = await self._subscription(command)
        if body is None:
            return _unanswered("the subscription does not exist any more")
        if body.paused:
            return _unanswered("the subscription is paused")
        try:
            async with asyncio.timeout(body.timeout_seconds):
                status, said = await self._send(command, body)
        except (*REFUSED_TARGETS, httpx.HTTPError, OSError) as error:  # a TimeoutError is an OSError
            return _unanswered(f"{type(error).__name__}: {error}")
        if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return _unanswered(f"it answered {status}")
        try:
            answer = ANSWERS.decode(said)
        except msgspec.MsgspecError:
            return _unanswered('it did not answer {"allow": true} or {"allow": false}')
        return DeliveryResult(
            outcome="accepted", rang=False, allows=answer.allow, detail=answer.reason[:REASON_LENGTH_MAX] or None
        )

    async def _subscription(self, command: PostWebhook) -> Subscription | None:
        record = self._rules.rules.record("subscription", command.subscription_id or 0)
        if record is None or record.version < command.webhook_version:
            await self._rules.refresh()
            record = self._rules.rules.record("subscription", command.subscription_id or 0)
        if record is None or record.company_id != command.company_id:
            return None
        return self._rules.rules.body(Subscription, "subscription", command.subscription_id)

    async def _send(self, command: PostWebhook, body: Subscription) -> tuple[int, str]:
        content = to_json(command.payload)
        keys = keys_of_subscription(
            self._deployment_secret, command.company_id, command.subscription_id or 0, body, self._clock.now()
        )
        headers = {
            "content-type": JSON_TYPE,
            "user-agent": "leadclock",
            **signature_headers(keys, command.command_id, content),
        }
        return await self._client.send(
            "POST", body.url, headers=headers, content=content, before=check_lease, excerpt_bytes=RESPONSE_BYTES_MAX
        )


def _unanswered(detail: str) -> DeliveryResult:
    return DeliveryResult(outcome="failed", rang=False, detail=detail[:REASON_LENGTH_MAX])
