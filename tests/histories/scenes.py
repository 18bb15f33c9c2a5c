"""Which requests does a history hold that chance seldom asks for? Each scene has people of its own, and states a rare fact.

`record.py` plays them while nothing disturbs the deployment.
"""

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from itertools import count
from typing import Any

from adapters.gateway.ports import Kind
from adapters.partitions.routing import partition_of
from adapters.postgres.tables import CALLS, KEPT_SUBMISSIONS, LEADS
from schemas.commands import Command
from schemas.instant import DAY, HOUR, MINUTE, Instant
from schemas.outcomes import HELD
from schemas.records import EVERY_COMPANY
from schemas.requests import (
    CallDeleteRequested,
    CallReceived,
    CallStartRequested,
    CallUpdateRequested,
    ContactRequest,
    KeptSubmissionDecided,
    LeadSubmitted,
    LeadUpdateRequested,
    OutcomeRecorded,
    RulesPlace,
    SmsReceived,
    TextPart,
    WebhookFireRequested,
)
from schemas.topics import COMMAND_TOPICS
from tests.simulation.cluster import SimulatedMachine
from tests.simulation.providers import order_in
from tests.simulation.traffic import Traffic
from tests.simulation.virtual import Era

COMPANY = 1
SPEED = 60.0
"""A minute of the deployment a second."""

HOUR_SECONDS = 60.0
"""An hour of the deployment."""

ADDRESS = "scene@example.com"

LOOK_SECONDS = 0.1
SHOWN_SECONDS = 30.0
DECIDED_SECONDS = 3.0

SKEW_SECONDS = 600.0
"""By so much a clock is ahead while it cannot be trusted."""

MISSING = "Hello {{nobody}}"
"""A template that names a token which no lead has."""


NOON = 16 * HOUR
"""In New York: no law keeps leads from being contacted."""


async def play(traffic: Traffic, era: Era, schedulers: Sequence[SimulatedMachine]) -> None:
    """Play every scene, from the next noon on."""
    era.go_on(SPEED, at=era.now() - era.now() % DAY + DAY + NOON)
    scenes = Scenes(traffic, era)
    await scenes.build()
    await scenes.use_caps()
    await scenes.walk()
    await scenes.talk_and_forget()
    await scenes.learn_late()
    await scenes.hold_and_release()
    await scenes.stop_and_resume()
    await scenes.review()
    await scenes.text_in_parts()
    await scenes.move_and_forward()
    await scenes.convert()
    await scenes.submit_twice()
    await scenes.change_plan()
    await scenes.reach_others()
    await scenes.call_by_others()
    await scenes.call_in()
    await scenes.call_twice()
    await scenes.meet_strangers()
    await scenes.pick_up()
    await scenes.call_in_doubt(schedulers)
    await asyncio.sleep(HOUR_SECONDS)  # caps are reset: who waits for one is looked at again


class Scenes:
    """The records that the scenes need, and the scenes."""

    def __init__(self, traffic: Traffic, era: Era) -> None:
        self._traffic, self._era = traffic, era
        self._numbers = count(1)

    async def build(self) -> None:
        """Create a buyer and a group with an hourly cap, and a schedule for each way through the steps."""
        await self._traffic.rules.refresh()
        self._buyer_id = await self._create("buyer", {"name": "scene", "number": "+13055557790"})
        fields = {"name": "scene", "buyer_ids": [self._buyer_id], "attempt_hourly_limit": 1, "concurrency_cap_limit": 1}
        self._group_id = await self._create("buyer_group", fields)
        retry = {name: {"delay": "10m", "max": 1} for name in ("no_answer", "busy", "voicemail", "unknown")}
        call = {"id": "call", "kind": "call", "connect": {"buyer_group_id": self._group_id}, "retry": retry}
        wait = {"id": "wait", "kind": "wait", "duration": "3h"}
        mail = {"id": "mail", "kind": "email", "subject": "Hello", "template": MISSING}
        text = {"id": "text", "kind": "sms", "template": MISSING, "retry": {"failed": {"delay": "5m"}}}
        self._calling = await self._schedule([call, wait])
        self._mailing = await self._schedule([mail, wait])
        self._waiting = await self._schedule([wait])
        walked: list[dict[str, Any]] = [
            {"id": "branch", "kind": "branch", "rules": [{"if": ["first_name:Ada"], "goto": "tag"}]},
            {"id": "tag", "kind": "tag", "add": ["seen"]},
            {"id": "split", "kind": "split", "paths": [{"goto": "text", "weight": 2}, {"goto": "later", "weight": 1}]},
            text,
            {"id": "later", "kind": "schedule_callback", "in": "40m"},
            {"id": "call", "kind": "call", "retry": {"no_answer": {"delay": "10m"}}},
            {"id": "rest", "kind": "wait", "duration": "2m"},
            {"id": "last", "kind": "suppress"},
        ]
        self._walked = await self._schedule(walked)

    async def use_caps(self) -> None:
        """Let three leads want the one call of an hour; empty another group, and pause it until an instant."""
        for _ in range(3):
            await self._submit(self._calling)
        for record_type, record_id in (("buyer", self._buyer_id), ("buyer_group", self._group_id)):
            await self._change(record_type, record_id, {"reset_total_caps": True})
        buyer_id = await self._create("buyer", {"name": "left", "number": "+13055557791"})
        group_id = await self._create("buyer_group", {"name": "left", "buyer_ids": [buyer_id]})
        await self._change("buyer_group", group_id, {"buyer_ids": []})
        await self._change("buyer_group", group_id, {"paused": True, "unpause_at": self._era.now() + 2 * MINUTE})

    async def walk(self) -> None:
        """Let leads go through every kind of step."""
        for _ in range(4):
            await self._submit(self._walked)

    async def talk_and_forget(self) -> None:
        """Let a person be reached, and nobody say how the call went."""
        call = {"id": "call", "kind": "call", "await_disposition": "5m"}
        schedule_id = await self._schedule([call])
        for _ in range(3):  # a fault may answer for one of them
            await self._tell(f"{COMPANY}|{await self._submit(schedule_id)}", "connected_human")

    async def learn_late(self) -> None:
        """Let nothing be known of a call, and then that it reached the person: while a retry waits, and after the end."""
        fields = {"name": "known late", "buyer_ids": [self._buyer_id], "attempt_daily_limit": 50}
        group_id = await self._create("buyer_group", fields)
        retry = {"unknown": {"delay": "30m"}}
        call = {"id": "call", "kind": "call", "connect": {"buyer_group_id": group_id}, "retry": retry}
        ways: list[list[dict[str, Any]]] = [
            [call, {"id": "wait", "kind": "wait", "duration": "3h"}],
            [{"id": "call", "kind": "call"}],
        ]
        for steps in ways:
            key = f"{COMPANY}|{await self._submit(await self._schedule(steps))}"
            await self._tell(key, "unknown")
            await self._tell(key, "connected_human")

    async def hold_and_release(self) -> None:
        """Hold all contacting while a text is on its way, which returns, and another is due; then let both go on."""
        steps = [{"id": "text", "kind": "sms", "template": "Hello"}, {"id": "wait", "kind": "wait", "duration": "3h"}]
        schedule_id = await self._schedule(steps)
        key = f"{COMPANY}|{await self._submit(schedule_id)}"
        order = await self._order("sms", key)
        for company_id in (EVERY_COMPANY, COMPANY):
            hold_id = await self._create("contact_hold", {"reason": "wrong prices"}, company_id=company_id)
            record = self._traffic.rules.rules.record("contact_hold", hold_id)
            assert record is not None
            place = RulesPlace(self._traffic.rules.seen(company_id)[0], record.sequence)
            await self._report(order, "sms", HELD, hold=place)
            await self._submit(schedule_id)
            await asyncio.sleep(DECIDED_SECONDS)
            await self._traffic._change(company_id, "contact_hold", "delete", hold_id, {})

    async def stop_and_resume(self) -> None:
        """Block a person, who is submitted again and calls, and resume the lead where it was."""
        lead_id, key = await self._shown(await self._submit(self._waiting))
        await self._update(lead_id, key, blocked=True)
        await self._submit(self._waiting, caller_id=key.split("|")[1])
        await self._call(key, "ringing")
        await self._update(lead_id, key, blocked=False, resume_on_unblock=True)

    async def review(self) -> None:
        """Send a text that may be an opt-out, one that is, and one that takes it back."""
        for place, body in enumerate(("stop by tomorrow?", "STOP", "START")):
            text = SmsReceived(
                company_id=COMPANY,
                contact_key=f"{COMPANY}|+13055560000",
                body=body,
                received_at=self._era.now(),
                provider_ref=f"scene-{place}",
            )
            await self._ask(text)

    async def text_in_parts(self) -> None:
        """Send a text in two parts, and another one of which a part never comes."""
        for place, (reference, number) in enumerate((("udh1-1", 2), ("udh1-1", 1), ("udh1-2", 1))):
            text = SmsReceived(
                company_id=COMPANY,
                contact_key=f"{COMPANY}|+13055560001",
                body="later",
                received_at=self._era.now(),
                provider_ref=f"scene-part-{place}",
                part=TextPart(reference=reference, number=number, count=2, octets=b"later"),
            )
            await self._ask(text)

    async def move_and_forward(self) -> None:
        """Give a lead another number, and change it by its former one."""
        lead_id, key = await self._shown(await self._submit(self._waiting))
        await self._update(lead_id, key, caller_id=self._number())
        await self._update(lead_id, key, opt_out=False)

    async def convert(self) -> None:
        """Convert a lead whose schedule ends by that."""
        lead_id, key = await self._shown(await self._submit(self._waiting))
        await self._update(lead_id, key, buyer_converted=True)

    async def submit_twice(self) -> None:
        """Submit a lead again to a schedule that refuses that, by the API and by intake."""
        number = await self._submit(self._waiting)
        await self._submit(self._waiting, caller_id=number)
        await self._traffic._stream(self._submission(self._waiting, number))

    async def change_plan(self) -> None:
        """Take the step away that a lead waits at."""
        wait = {"id": "wait", "kind": "wait", "duration": "3h"}
        schedule_id = await self._schedule([wait])
        await self._shown(await self._submit(schedule_id))
        await self._change("schedule", schedule_id, {"steps": [{**wait, "id": "another"}], "migrate": "by_step_id"})

    async def reach_others(self) -> None:
        """Block people while an e-mail to them is on its way by the contact of their address; then block the address."""
        for _ in range(2):
            lead_id, key = await self._shown(await self._submit(self._mailing, email=ADDRESS))
            start = CallStartRequested(company_id=COMPANY, contact_key=key, lead_id=lead_id)
            await self._ask(start)
            await self._update(lead_id, key, blocked=True)
            await self._ask(start)
        key = f"{COMPANY}|email:{ADDRESS}"
        lead = LeadSubmitted(company_id=COMPANY, contact_key=key, email=ADDRESS, schedule_id=self._waiting, with_key=True)
        await self._ask(lead)
        await self._update(await self._row(LEADS.name, key), key, blocked=True)
        await self._submit(self._mailing, email=ADDRESS)

    async def call_by_others(self) -> None:
        """Call leads that are kept with their address, as those that moved too often are: their number's contact calls."""
        for place in range(4):
            address, number = f"scene-{place}@example.com", self._number()
            key = f"{COMPANY}|email:{address}"
            fields: dict[str, Any] = {"schedule_id": self._waiting, "zones": ("America/New_York",)}
            await self._ask(
                LeadSubmitted(company_id=COMPANY, contact_key=key, email=address, caller_id=number, **fields, with_key=True)
            )
            lead_id = await self._row(LEADS.name, key)
            await self._ask(CallStartRequested(company_id=COMPANY, contact_key=key, lead_id=lead_id))

    async def call_in(self) -> None:
        """Let a lead call whom somebody was to call back, and delete the call; another call is never reported to end."""
        lead_id, key = await self._shown(await self._submit(self._waiting))
        await self._update(lead_id, key, schedule_callback_at=self._era.now() + 30 * MINUTE)
        for state in ("ringing", "connected", "ended"):
            await self._call(key, state, wants_route=True)
            await asyncio.sleep(DECIDED_SECONDS)
        about: dict[str, Any] = {"company_id": COMPANY, "contact_key": key, "call_id": await self._row(CALLS.name, key)}
        await self._ask(CallUpdateRequested(**about, add_revenue=Decimal("1.5")))
        webhook_id = self._traffic._ids(COMPANY, "outgoing_webhook")[0]
        await self._ask(WebhookFireRequested(**about, outgoing_webhook_id=webhook_id))
        await self._ask(CallDeleteRequested(**about))
        await self._call(f"{COMPANY}|{self._number()}", "ringing")

    async def meet_strangers(self) -> None:
        """Let strangers send more for stored leads: one is accepted, one discarded. A link of theirs stays out of a text."""
        rest = {"id": "wait", "kind": "wait", "duration": "3h"}
        waiting = await self._schedule([rest], duplicate_policy="update")
        for accept in (True, False):
            lead_id, key = await self._shown(await self._submit(waiting))
            number = key.partition("|")[2]
            await self._submit(waiting, caller_id=number, data={"roof": "flat"}, with_key=False)
            kept_id = await self._row(KEPT_SUBMISSIONS.name, key)
            await self._ask(
                KeptSubmissionDecided(
                    company_id=COMPANY, contact_key=key, submission_id=kept_id, lead_id=lead_id, accept=accept
                )
            )
        text = {"id": "text", "kind": "sms", "template": "Hello {{first_name}}"}
        schedule_id = await self._schedule([text, rest])
        await self._submit(schedule_id, data={"first_name": "example.com"}, with_key=False)

    async def pick_up(self) -> None:
        """Let somebody call whose data an offer keeps for that, by a gateway whose clock is an hour ahead."""
        number = self._number()
        key = f"{COMPANY}|{number}"
        offer_id = self._traffic._ids(COMPANY, "offer")[0]
        about: dict[str, Any] = {"company_id": COMPANY, "contact_key": key, "caller_id": number, "offer_id": offer_id}
        await self._ask(LeadSubmitted(**about, zones=("America/New_York",), received_at=self._era.now(), with_key=True))
        await self._row(LEADS.name, key)
        await self._call(key, "ringing", occurred_at=self._era.now() + HOUR)

    async def call_twice(self) -> None:
        """Ask for a call of somebody who is being called."""
        lead_id, key = await self._shown(await self._submit(self._waiting))
        for _ in range(2):
            await self._ask(CallStartRequested(company_id=COMPANY, contact_key=key, lead_id=lead_id))

    async def call_in_doubt(self, schedulers: Sequence[SimulatedMachine]) -> None:
        """Ask for a call while no clock can be trusted: an opt-out may be among what is unread."""
        lead_id, key = await self._shown(await self._submit(self._waiting))
        for machine in schedulers:
            machine.clock.skew_seconds = SKEW_SECONDS
        await self._ask(CallStartRequested(company_id=COMPANY, contact_key=key, lead_id=lead_id))
        await asyncio.sleep(DECIDED_SECONDS)
        for machine in schedulers:
            machine.clock.skew_seconds = 0.0

    async def _tell(self, key: str, outcome: str) -> None:
        """Report an outcome of the first call to a person."""
        await self._report(await self._order("call", key), "call", outcome)

    async def _report(self, order: Command, kind: Kind, outcome: str, *, hold: RulesPlace | None = None) -> None:
        report = OutcomeRecorded(
            company_id=COMPANY,
            contact_key=order.contact_key,
            lead_id=order.lead_id,
            command_id=order.command_id,
            kind=kind,
            outcome=outcome,
            occurred_at=self._era.now(),
            hold=hold,
        )
        await self._ask(report)

    async def _call(self, key: str, state: Any, *, wants_route: bool = False, occurred_at: Instant | None = None) -> None:
        number = key.split("|")[1]
        report = CallReceived(
            company_id=COMPANY,
            contact_key=key,
            gateway_ref=f"scene-{number}",
            state=state,
            from_number=number,
            number_called="+13055550199",
            occurred_at=self._era.now() if occurred_at is None else occurred_at,
            wants_route=wants_route,
        )
        await self._ask(report)

    async def _ask(self, request: ContactRequest) -> None:
        await self._traffic._ask_contact(request)

    async def _create(self, record_type: str, fields: dict[str, Any], *, company_id: int = COMPANY) -> int:
        known = set(self._traffic._ids(company_id, record_type))
        await self._traffic._change(company_id, record_type, "create", None, fields)
        async with asyncio.timeout(SHOWN_SECONDS):
            while not (added := set(self._traffic._ids(company_id, record_type)) - known):
                await asyncio.sleep(LOOK_SECONDS)
                await self._traffic.rules.refresh()
        return added.pop()

    async def _schedule(self, steps: list[dict[str, Any]], **fields: Any) -> int:
        name = f"scene-{next(self._numbers):012}"
        common: dict[str, Any] = {
            "name": name,
            "lead_token": name,
            "offer_id": self._traffic._ids(COMPANY, "offer")[0],
            "time_zone": "America/New_York",
            "duplicate_policy": "reject",
            "triggers": [{"on": "exit", "type": "buyer_converted", "end_result": "success"}],
            "steps": steps,
        }
        return await self._create("schedule", common | fields)

    async def _change(self, record_type: str, record_id: int, fields: dict[str, Any]) -> None:
        await self._traffic._change(COMPANY, record_type, "update", record_id, fields)

    def _number(self) -> str:
        return f"+1305556{next(self._numbers):04}"

    async def _submit(self, schedule_id: int, *, caller_id: str | None = None, **fields: Any) -> str:
        """Submit a lead, with a number of its own where none is given, and return the number."""
        number = caller_id or self._number()
        await self._ask(self._submission(schedule_id, number, **fields))
        return number

    def _submission(self, schedule_id: int, number: str, **fields: Any) -> LeadSubmitted:
        return LeadSubmitted(
            company_id=COMPANY,
            contact_key=f"{COMPANY}|{number}",
            caller_id=number,
            zones=("America/New_York",),
            received_at=self._era.now(),
            schedule_id=schedule_id,
            **{"data": {"first_name": "Ada"}, "with_key": True, **fields},
        )

    async def _shown(self, number: str) -> tuple[int, str]:
        """Return the id of a lead and its contact once the projection shows it."""
        key = f"{COMPANY}|{number}"
        return await self._row(LEADS.name, key), key

    async def _order(self, kind: str, key: str) -> Command:
        """Return the first command to a contact once it is emitted."""
        topic, number = COMMAND_TOPICS[kind].name, partition_of(key.encode(), self._traffic._partitions)
        async with asyncio.timeout(SHOWN_SECONDS):
            while True:
                for record in self._traffic._log.partition(topic, number).records:
                    if record.key == key.encode() and (order := order_in(record)) is not None:
                        return order
                await asyncio.sleep(LOOK_SECONDS)

    async def _row(self, table: str, key: str) -> int:
        """Return the id of the row of a contact once the projection shows it."""
        async with asyncio.timeout(SHOWN_SECONDS):
            while True:
                for row in self._traffic._store.tables[table].values():
                    if str(row[3]) == key:
                        return int(row[1])
                await asyncio.sleep(LOOK_SECONDS)

    async def _update(self, lead_id: int, key: str, **fields: Any) -> None:
        await self._ask(LeadUpdateRequested(company_id=COMPANY, contact_key=key, lead_id=lead_id, **fields))
