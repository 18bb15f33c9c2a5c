"""What can a newcomer try at once? A demo company with keys, numbers, buyers, an offer and two schedules.

Made through the same requests that any operator would send; what is there already is left as it is.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from adapters.partitions.feed import RulesTopic
from adapters.partitions.routing import partition_of
from adapters.up.folder import Keys
from engine.partition.ports import Appender, Clock, Log, Outgoing
from engine.partition.runner import Names
from schemas.envelope import Envelope, to_headers
from schemas.requests import RecordChangeRequested
from schemas.topics import ACCOUNTS_REQUESTS
from schemas.wire import to_json

COMPANY_ID = 1
WAIT_SECONDS = 30.0
LOOK_SECONDS = 0.05

NUMBERS = ("+12125550150", "+12125550151")
"""555-01xx: reserved for fiction, in an area whose state has no calling rules of its own in the pack."""


class DemoError(Exception):
    """A record of the demo company did not come to be."""


def quick_schedule(buyer_group_id: int) -> dict[str, Any]:
    """Return the schedule that is through in two minutes: a text, a call with retries, an e-mail; waits of seconds."""
    return {
        "name": "Quick demo",
        "description": "Text, call and e-mail within a minute or two; no preferred windows, so it works at any hour.",
        "hours_to_expire": 24,
        "max_contact_attempts": 5,
        "steps": [
            {
                "id": "hello",
                "kind": "sms",
                "template": "Hi {{first_name}}, thank you! We will call you from {{svc_number}}.",
            },
            {"id": "breathe", "kind": "wait", "duration": "5s"},
            {
                "id": "call",
                "kind": "call",
                "connect": {"buyer_group_id": buyer_group_id},
                "retry": {"busy": {"delay": "10s", "max": 2}, "no_answer": {"delay": "10s", "max": 2}},
            },
            {"id": "rest", "kind": "wait", "duration": "5s"},
            {
                "id": "letter",
                "kind": "email",
                "subject": "Your solar quote, {{first_name}}",
                "template": "Hello {{first_name}},\n\nit was good to talk to you. Call us at {{svc_number}} any time.\n",
            },
        ],
    }


def five_day_schedule(buyer_group_id: int) -> dict[str, Any]:
    """Return a schedule of five days with opening hours; `leadclock up --ephemeral --speed 600` ends it in 12 minutes."""
    weekdays = ["mon", "tue", "wed", "thu", "fri"]
    connect = {"buyer_group_id": buyer_group_id}
    return {
        "name": "Solar five days",
        "time_zone": "America/New_York",
        "hours_to_expire": 120,
        "max_contact_attempts": 6,
        "windows": {"call": [{"days": weekdays, "open": "09:00", "close": "20:00"}]},
        "steps": [
            {
                "id": "call-1",
                "kind": "call",
                "connect": connect,
                "retry": {"busy": {"delay": "15m", "max": 3}, "no_answer": {"delay": "2h", "max": 2}},
            },
            {"id": "text-1", "kind": "sms", "template": "Hi {{first_name}}, we tried to reach you from {{svc_number}}."},
            {"id": "pause", "kind": "wait", "duration": "1d"},
            {"id": "morning", "kind": "wait", "until": {"time": "10:00", "days": weekdays}},
            {"id": "call-2", "kind": "call", "connect": connect, "retry": {"no_answer": {"delay": "4h"}}},
            {
                "id": "mail-1",
                "kind": "email",
                "subject": "Still interested, {{first_name}}?",
                "template": "Hello {{first_name}},\n\nshall we call you again? Ring us at {{svc_number}}.\n",
            },
        ],
    }


class Demo:
    """Asks for the records of the demo company, one after the other, each with the ids of those before."""

    def __init__(self, log: Log, names: Names, rules: RulesTopic, appender: Appender, clock: Clock) -> None:
        self._log = log
        self._names = names
        self._rules = rules
        self._appender = appender
        self._clock = clock

    async def make(self, keys: Keys) -> None:
        """Make what is missing. Raises `DemoError`, `LogError`."""
        await self._rules.refresh()
        await self._record("company", "name", {"name": "Demo Solar", "time_zone": "America/New_York", "country": "US"})
        offer_id = await self._record("offer", "name", {"name": "Solar", "lead_token": keys.offer_lead_token})
        for number in NUMBERS:
            await self._record("number", "number", {"number": number, "offer_id": offer_id})
        buyers = [
            await self._record(
                "buyer", "name", {"name": name, "number": number, "user_buyer_id": name.lower().replace(" ", "_")}
            )
            for name, number in (("Bright Roofs", "+12125550160"), ("Sunny Homes", "+12125550161"))
        ]
        group_id = await self._record(
            "buyer_group", "name", {"name": "Closers", "buyer_ids": buyers, "concurrency_cap_limit": 3}
        )
        quick = quick_schedule(group_id) | {"offer_id": offer_id, "lead_token": keys.quick_lead_token}
        slow = five_day_schedule(group_id) | {"offer_id": offer_id, "lead_token": keys.five_day_lead_token}
        await self._record("schedule", "name", quick)
        await self._record("schedule", "name", slow)
        await self._key(keys)

    async def _key(self, keys: Keys) -> None:
        digest = hashlib.sha256(keys.private_key.encode()).hexdigest()
        fields = {"name": "Demo key", "public_key": keys.public_key, "private_key_sha256": digest}
        await self._record("api_key", "public_key", fields)

    async def _record(self, record_type: str, unique: str, fields: Mapping[str, Any]) -> int:
        """Return the id of the record that has the value of the unique field; ask for it where there is none."""
        found = self._find(record_type, unique, fields[unique])
        if found is not None:
            return found
        await self._ask(record_type, fields, request_id=f"demo/{record_type}/{fields[unique]}/{self._clock.now()}")
        deadline = self._clock.monotonic() + WAIT_SECONDS
        while self._clock.monotonic() < deadline:
            await self._rules.refresh()
            found = self._find(record_type, unique, fields[unique])
            if found is not None:
                return found
            await self._clock.sleep(LOOK_SECONDS)
        raise DemoError(f"the demo {record_type} {fields[unique]!r} was not made within {WAIT_SECONDS:.0f} s")

    def _find(self, record_type: str, unique: str, value: Any) -> int | None:
        for record in self._rules.rules.records(record_type, COMPANY_ID):
            body = record.body
            if isinstance(body, Mapping) and body.get(unique) == value:
                return record.id
        return None

    async def _ask(self, record_type: str, fields: Mapping[str, Any], *, request_id: str) -> None:
        key = str(COMPANY_ID).encode()
        topic = self._names.of(ACCOUNTS_REQUESTS.name)
        request = RecordChangeRequested(company_id=COMPANY_ID, type=record_type, operation="create", fields=dict(fields))
        envelope = Envelope(id=request_id, type="record.change_requested", source="/up")
        outgoing = Outgoing(topic, key, to_json(request), to_headers(envelope))
        await self._appender.append(partition_of(key, await self._log.partition_count(topic)), [outgoing])
