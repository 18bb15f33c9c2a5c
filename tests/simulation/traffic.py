"""What is asked of the deployment? Companies with plans, people who are submitted, changed, called back and opt out."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any, Literal

import msgspec

from adapters.embedded.log import EmbeddedLog
from adapters.partitions.feed import RulesTopic
from adapters.partitions.guarded_appender import GuardedAppender
from adapters.partitions.routing import partition_of
from adapters.postgres.tables import CALLS, LEADS
from engine.identity import contact_key
from engine.partition.ports import LogError, Outgoing
from engine.partition.runner import TopicNames
from schemas.contact import CallbackOwner
from schemas.envelope import Envelope, from_headers, to_headers
from schemas.instant import HOUR, MINUTE, Instant
from schemas.records import EVERY_COMPANY
from schemas.requests import (
    REQUEST_TYPES,
    AccountRequest,
    CallDeleteRequested,
    CallerActed,
    CallKeysRequested,
    CallReceived,
    CallStartRequested,
    CallUpdateRequested,
    ContactRequest,
    LeadDeleteRequested,
    LeadSubmitted,
    LeadUpdateRequested,
    RecordChangeRequested,
    SmsReceived,
    TextPart,
    WebhookFireRequested,
)
from schemas.topics import ACCOUNTS_REQUESTS, ACCOUNTS_RULES, ACCOUNTS_STATE, CONTACTS_REQUESTS, CONTACTS_STATE
from schemas.wire import to_json
from tests.adapters.projector.memory import MemoryStore
from tests.simulation.plans import group as action_group
from tests.simulation.plans import plan, rule_pack
from tests.simulation.virtual import Era

ZONES = ("America/New_York", "America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata")
ATTEMPTS_MAX = (1, 2, 3, 5)
REPEAT_SHARE = 0.2
STREAM = "leads.inbox/simulated/0"

LARGE_SHARE = 0.1
LARGE = {"a": "x" * 4_000}
"""What a template that names it often makes larger than any message may be."""

POISON: tuple[bytes | None, ...] = (b"{", b"", None, b"[1]", b'{"company_id":1}', b"\xff\xfe", b"[" * 5_000, b"null")

INTERNAL = (ACCOUNTS_RULES.name, CONTACTS_STATE.name, ACCOUNTS_STATE.name)
INTERNAL_SHARE = 0.5
FOREIGN_KEYS = (b"company/1@9", b"unknown/7", b"nonsense", b"\xff\xfe", b"")
"""No broker takes a record without a key on a topic that is compacted."""

DISPOSITIONS: tuple[dict[str, Any], ...] = (
    {"name": "Again", "category": "no_contact", "retry_delay_seconds": 600, "retry_max": 1},
    {"name": "Sold", "category": "final_positive", "is_final": True},
    {"name": "Never again", "category": "dnc", "sets_opt_out": True},
)
TEXTS = ("yes", "call me", "STOP", "stop by tomorrow?", "START")

Operation = Literal["create", "update", "delete"]


FILTERS: tuple[list[str], ...] = ([], [], ["first_name:Ada"], ["first_name:Bob"])
"""Of a buyer: every lead is one of the two, and some become the other."""

CAPS = {"attempt_hourly_limit": 1, "connection_daily_limit": 1, "attempt_total_limit": 2}
"""Of a buyer group: a run asks for two slots or so, and some must meet each of them."""

BUYER_CAPS = {"connection_monthly_limit": 1_000}
"""Of a buyer: no run meets it, so that each slot is counted and none waits, also after the repair."""

NUMBER_CAPS = {"attempt_hourly_limit": 2}
"""Of the number of every other company: its calls take a slot for that alone."""

HELD_CHANNELS: tuple[list[str], ...] = ([], [], ["call"], ["sms", "email"], ["email", "webhook"])

HOLDING_SHARE = 0.4
"""Of runs in which somebody holds: a hold silences what the other runs try, such as caps and calls that end late."""

RELEASING_SHARE = 0.8
"""Of changes of holds where there is one: what is on hold until the end of a run contacts nobody before its repair."""

ROUTED_WITHIN = 0.5
"""Seconds of wall time between the reports of a call that is routed: most slots are granted before its end is reported."""


class Traffic:
    """Everybody who asks: the API (ids, asked again by chance), intake (a numbered stream, replayed by chance), and junk."""

    def __init__(self, log: EmbeddedLog, store: MemoryStore, chance: Random, era: Era, partitions: int) -> None:
        self.rules = RulesTopic(log, TopicNames())
        self.accepted: dict[str, int] = {}
        self.poison = 0
        self.made_topics: Callable[[], Mapping[str, str]] = dict
        """The ids of the topics that were made for the deployment: what is sent to another one is refused."""
        self.repeats = True
        """Whether requests are sent twice. A second one that stands where a lost one stood is that one for every reader."""
        self._sent: dict[str, tuple[int, Outgoing]] = {}
        self._log = log
        self._store = store
        self._chance = chance
        self._era = era
        self._partitions = partitions
        self._number = 0
        self._holds = 0
        self._is_held_at_times = chance.random() < HOLDING_SHARE
        self._streamed: list[tuple[int, Outgoing]] = []
        self._later: set[asyncio.Task[None]] = set()
        self._companies = list(range(1, chance.choice([2, 2, 3])))
        self._people = [f"+1305555{n:04}" for n in range(chance.choice([2, 4, 8]))]
        self._addresses = [f"p{n}@example.com" for n in range(3)]

    @property
    def is_idle(self) -> bool:
        """Whether nothing is still to be asked again."""
        return not self._later

    # -- the beginning and the end -------------------------------------------------------------------------------------

    async def found(self) -> None:
        """Create the companies and what they need, and wait until it is there."""
        self._appender = GuardedAppender(await self._log.appender(), self._log, "", lambda: self.made_topics())  # noqa: PLW0108 - set later
        for company_id in self._companies:
            await self._change(company_id, "company", "create", None, {"id": company_id, **self._company()})
            await self._records(company_id, "offer", self._offers(company_id))
            await self._records(company_id, "buyer", [self._buyer(n) for n in range(3)])
            await self._records(company_id, "outgoing_webhook", [{"name": "w", "url": "https://example.com/h"}])
            caps = NUMBER_CAPS if company_id % 2 == 0 else {}
            await self._records(company_id, "number", [{"number": "+13055550199", **caps}])
            group = {"name": "g", "buyer_ids": self._ids(company_id, "buyer")[:2], "concurrency_cap_limit": 1, **CAPS}
            await self._records(company_id, "buyer_group", [group])
            await self._name_buyers(company_id)
            await self._records(company_id, "call_disposition", DISPOSITIONS)
            await self._records(company_id, "action_group", [action_group(self._chance, partial(self._ids, company_id))])
            await self._records(company_id, "rule_pack", [rule_pack(self._chance)])
            await self._records(company_id, "schedule", [self._schedule(company_id, n) for n in range(2)])

    async def repair(self) -> None:
        """Let everything that waits for somebody go on."""
        await self.rules.refresh()
        await self._release_all()
        for company_id in self._companies:
            for record_id in self._ids(company_id, "number") if company_id % 2 == 0 else ():
                await self._change(company_id, "number", "update", record_id, dict.fromkeys(NUMBER_CAPS))
            for record_type in ("schedule", "offer", "buyer", "buyer_group", "company"):
                for record_id in self._ids(company_id, record_type):
                    caps: dict[str, Any] = {}
                    if record_type.startswith("buyer"):
                        caps = {"concurrency_cap_limit": 2, **dict.fromkeys(CAPS)}
                        caps |= {"filters": []} if record_type == "buyer" else {}
                    await self._change(company_id, record_type, "update", record_id, {"paused": False, **caps})

    async def _records(self, company_id: int, record_type: str, fields: Sequence[dict[str, Any]]) -> None:
        for one in fields:
            await self._change(company_id, record_type, "create", None, one)
        while len(self._ids(company_id, record_type)) < len(fields):
            await asyncio.sleep(0.05)
            await self.rules.refresh()

    async def _name_buyers(self, company_id: int) -> None:
        """Let the first offer have buyers, who take its inbound calls and its steps that name nobody."""
        fields = {
            "buyer_group_ids": self._ids(company_id, "buyer_group"),
            "buyer_ids": self._ids(company_id, "buyer")[2:],
            "no_buyer_action": "callback" if company_id % 2 else "message",
        }
        await self._change(company_id, "offer", "update", self._ids(company_id, "offer")[0], fields)

    def _ids(self, company_id: int, record_type: str) -> list[int]:
        return [record.id for record in self.rules.rules.records(record_type, company_id)]

    def _offers(self, company_id: int) -> list[dict[str, Any]]:
        tokens = [f"offer-{number}-of-company-{company_id}" for number in range(2)]
        return [{"name": "Solar", "lead_token": token, "hours_to_expire": 24} for token in tokens]

    def _company(self) -> dict[str, Any]:
        return {"name": "Sunny", "optout_scope": self._chance.choice(["company", "company", "offer", "channel"])}

    def _buyer(self, number: int) -> dict[str, Any]:
        cap = self._chance.choice([None, 1, 2])
        filters = self._chance.choice(FILTERS)
        about = {"name": f"b{number}", "number": f"+1305555777{number}"}
        return {**about, "concurrency_cap_limit": cap, "filters": filters, **BUYER_CAPS}

    def _schedule(self, company_id: int, number: int) -> dict[str, Any]:
        return {
            "name": f"s{number}",
            "lead_token": f"schedule-{number}-of-company-{company_id}",
            "offer_id": self._ids(company_id, "offer")[number % 2],
            "time_zone": "America/New_York",
            "hours_to_expire": self._chance.choice([2, 24]),
            "max_contact_attempts": self._chance.choice(ATTEMPTS_MAX),
            "duplicate_policy": self._chance.choice(["update", "create", "reject", "restart"]),
            **self._plan(company_id),
        }

    def _plan(self, company_id: int) -> dict[str, Any]:
        return plan(self._chance, partial(self._ids, company_id))

    # -- while it runs -------------------------------------------------------------------------------------------------

    async def ask(self, times: int, seconds: float) -> None:
        """Ask for this and that, spread over some seconds."""
        for _ in range(times):
            await asyncio.sleep(self._chance.random() * 2 * seconds / times)
            with suppress(LogError):  # a topic that is lost takes nothing: its sender gets an error
                await self._ask_once(self._chance.choice(self._companies), self._chance.random())

    async def _ask_once(self, company_id: int, draw: float) -> None:
        if draw < 0.40:
            await self._submit(company_id)
        elif draw < 0.54:
            await self._update(company_id)
        elif draw < 0.60:
            await self._act(company_id)
        elif draw < 0.66:
            await self._hear_from(company_id)
        elif draw < 0.71:
            await self._handle_call(company_id)
        elif draw < 0.83:
            await self._change_record(company_id)
        elif draw < 0.88 and self._is_held_at_times:
            await self._hold_or_release(company_id)
        elif draw < 0.94:
            await self._replay()
        else:
            await self._throw_junk()

    async def send_again(self, ids: Iterable[str]) -> None:
        """Send what an operator named as lost once more, as its senders do; and read the rules as a process that begins."""
        self.rules = RulesTopic(self._log, TopicNames())
        await self.rules.refresh()
        for id_ in ids:
            partition, outgoing = self._sent[id_]
            envelope = from_headers(outgoing.headers)
            if envelope.stream is not None:  # it goes through intake again
                again = msgspec.structs.replace(envelope, number=len(self._streamed))
                outgoing = msgspec.structs.replace(outgoing, headers=to_headers(again))
                self._streamed.append((partition, outgoing))
            await self._appender.append(partition, [outgoing])

    async def _submit(self, company_id: int) -> None:
        chance = self._chance
        caller_id = chance.choice([*self._people, None]) if chance.random() < 0.9 else None
        email = chance.choice(self._addresses) if caller_id is None or chance.random() < 0.7 else None
        target: dict[str, Any] = {"schedule_id": chance.choice(self._ids(company_id, "schedule"))}
        if chance.random() < 0.1:
            target = {"offer_id": self._ids(company_id, "offer")[0]}
        flags: dict[str, Any] = {
            name: True
            for name in ("create_or_update", "expire_existing", "delete_existing", "restart_schedule", "unblock_contact")
            if chance.random() < 0.08
        }
        request = LeadSubmitted(
            company_id=company_id,
            contact_key=contact_key(company_id, caller_id, email) or "",
            caller_id=caller_id,
            email=email,
            data={"first_name": chance.choice(["Ada", "Bob"]), **(LARGE if chance.random() < LARGE_SHARE else {})},
            zones=chance.choice([(), (chance.choice(ZONES),)]),
            lead_priority=chance.choice([None, 1.0, 50.0]),
            next_action_at=chance.choice([None, None, self._era.now() + chance.randint(0, HOUR)]),
            schedule_callback_at=chance.choice([None, None, None, self._era.now() + chance.randint(0, HOUR)]),
            received_at=self._era.now(),
            **target,
            **flags,
            with_key=True,
        )
        if chance.random() < 0.3:
            await self._stream(request)
        else:
            await self._ask_contact(request)

    async def _update(self, company_id: int) -> None:
        found = self._some_row(LEADS.name, company_id)
        if found is None:
            return
        lead_id, key = found
        request: ContactRequest
        if self._chance.random() < 0.1:
            request = LeadDeleteRequested(company_id=company_id, contact_key=key, lead_id=lead_id)
        else:
            request = LeadUpdateRequested(
                company_id=company_id, contact_key=key, lead_id=lead_id, **self._changed(company_id)
            )
        await self._ask_contact(request)

    def _changed(self, company_id: int) -> dict[str, Any]:
        chance = self._chance
        return chance.choice(
            [
                {"data": {"first_name": "Bob", "opt_in": True}},
                {"caller_id": chance.choice(self._people)},
                {"caller_id": chance.choice(self._people)},
                {"email": chance.choice(self._addresses)},
                {"opt_out": chance.random() < 0.5},
                {"opt_out": False, "resume_on_unblock": True},
                {"blocked": chance.random() < 0.5},
                {"blocked": True, "hangup_live": True},
                {"blocked": False, "resume_on_unblock": True},
                {"schedule_start": True},
                {"schedule_stop": True},
                {"move_to_another_schedule_id": chance.choice(self._ids(company_id, "schedule"))},
                {"next_action_at": self._era.now() + chance.randint(-HOUR, HOUR)},
                {"schedule_callback_at": self._era.now() + chance.randint(0, 30 * MINUTE)},
                {
                    "schedule_callback_at": self._era.now() + chance.randint(0, 30 * MINUTE),
                    "callback_owner": CallbackOwner(self._ids(company_id, "buyer")[0], None, chance.choice([1, 15])),
                },
                {"buyer_converted": True},
            ]
        )

    def _some_row(self, table: str, company_id: int) -> tuple[int, str] | None:
        """Choose a lead or call as a user of the API would: from the projection, which may be behind."""
        rows = [key for key in self._store.tables[table] if key[0] == company_id]
        if not rows:
            return None
        row = self._store.tables[table][self._chance.choice(rows)]
        return int(row[1]), str(row[3])

    async def _act(self, company_id: int) -> None:
        request = CallerActed(
            company_id=company_id,
            contact_key=f"{company_id}|{self._chance.choice(self._people)}",
            action=self._chance.choice(["opt_out", "remove", "move_to_end", "move_to_end"]),
            schedule_id=self._chance.choice(self._ids(company_id, "schedule")),
            keep_callback=self._chance.random() < 0.3,
            update_all_matching_leads=self._chance.random() < 0.5,
        )
        await self._ask_contact(request)

    def _texts(self, company_id: int, key: str, text: str, now: Instant) -> list[SmsReceived]:
        """Return the reports of a text; some come in two parts, in any sequence, of which one may be lost."""
        name = f"text-{self._number}"
        about: dict[str, Any] = {"company_id": company_id, "contact_key": key, "received_at": now}
        if self._number % 4:
            return [SmsReceived(body=text, provider_ref=name, **about)]
        reports = [
            SmsReceived(
                body=half,
                provider_ref=f"{name}/{number}",
                part=TextPart(reference=f"udh1-{self._number % 3}", number=number, count=2, octets=half.encode()),
                **about,
            )
            for number, half in enumerate((text[: len(text) // 2], text[len(text) // 2 :]), start=1)
        ]
        self._chance.shuffle(reports)
        return reports[: 1 if self._chance.random() < 0.3 else 2]

    async def _hear_from(self, company_id: int) -> None:
        """A person texts, or calls one of the company's numbers: the reports of a call may come in any order."""
        chance, caller_id = self._chance, self._chance.choice(self._people)
        key, now = f"{company_id}|{caller_id}", self._era.now()
        if chance.random() < 0.5:
            text, self._number = chance.choice(TEXTS), self._number + 1
            for heard in self._texts(company_id, key, text, now):
                await self._ask_contact(heard)
            return
        self._number += 1
        name, wants_route = f"call-{self._number}", self._number % 2 == 0  # others count on while these are sent
        states: list[Any] = ["ringing", "connected", "ended"] if chance.random() < 0.7 else ["ringing", "ended"]
        if chance.random() < 0.2:
            chance.shuffle(states)
        for state in states:
            await self._ask_contact(
                CallReceived(
                    company_id=company_id,
                    contact_key=key,
                    gateway_ref=name,
                    state=state,
                    from_number=caller_id,
                    number_called="+13055550199",
                    occurred_at=now,
                    wants_route=wants_route,
                )
            )
            await asyncio.sleep(ROUTED_WITHIN if wants_route else 0.0)

    async def _handle_call(self, company_id: int) -> None:
        """Somebody starts a call, says how one went, presses keys on it, or deletes it."""
        chance = self._chance
        found = self._some_row(CALLS.name, company_id)
        if found is None or chance.random() < 0.4:
            lead = self._some_row(LEADS.name, company_id)
            if lead is not None:
                await self._ask_contact(CallStartRequested(company_id=company_id, contact_key=lead[1], lead_id=lead[0]))
            return
        call_id, key = found
        said = chance.choice([*self._ids(company_id, "call_disposition"), None])
        about: dict[str, Any] = {"company_id": company_id, "contact_key": key, "call_id": call_id}
        request = chance.choice(
            [
                CallUpdateRequested(**about, call_disposition_id=said),
                CallUpdateRequested(**about, call_disposition_id=said, add_revenue=Decimal("1.5")),
                CallUpdateRequested(**about, buyer_converted=True),
                CallKeysRequested(**about, digits="1"),
                CallDeleteRequested(**about),
                WebhookFireRequested(**about, outgoing_webhook_id=self._ids(company_id, "outgoing_webhook")[0]),
            ]
        )
        await self._ask_contact(request)

    async def _change_record(self, company_id: int) -> None:
        chance = self._chance
        await self.rules.refresh()
        record_type = chance.choice(
            ["schedule", "schedule", "buyer", "buyer_group", "buyer_group", "offer", "company", "rule_pack"]
        )
        choices: list[dict[str, Any]] = [{"paused": chance.random() < 0.5}]
        if record_type == "rule_pack":
            choices = [rule_pack(chance)]
        if record_type == "schedule":
            choices += [self._plan(company_id), {**self._plan(company_id), "draft": True}]
        if record_type.startswith("buyer"):
            choices += [{"concurrency_cap_limit": chance.choice([0, 1, 2, 3])}] * 2
            choices += [{name: chance.choice([None, limit, limit + 1]) for name, limit in CAPS.items()}]
            choices += [{"reset_total_caps": True}]
            choices += [{"paused": True, "unpause_at": self._era.now() + chance.randint(MINUTE, HOUR)}]
        if record_type == "buyer":
            choices += [{"filters": chance.choice(FILTERS)}] * 2
        record_id = chance.choice(self._ids(company_id, record_type))
        await self._change(company_id, record_type, "update", record_id, chance.choice(choices))

    async def _hold_or_release(self, company_id: int) -> None:
        """Stop contacting of a company, or of all, or release a hold."""
        chance = self._chance
        await self.rules.refresh()
        made = [(holder, hold_id) for holder in (EVERY_COMPANY, company_id) for hold_id in self._ids(holder, "contact_hold")]
        if made and chance.random() < RELEASING_SHARE:
            holder, hold_id = chance.choice(made)
            await self._change(holder, "contact_hold", "delete", hold_id, {})
            return
        held: dict[str, Any] = {"channels": chance.choice(HELD_CHANNELS), "hang_up": chance.random() < 0.3}
        holder = chance.choice([EVERY_COMPANY, company_id])
        await self._change(holder, "contact_hold", "create", None, {"reason": "a slip", **held})
        self._holds += 1

    async def _release_all(self) -> None:
        """Release every hold, those included that are still to be decided."""
        while len({record.id for _, record in self.rules.entries if record.type == "contact_hold"}) < self._holds:
            await asyncio.sleep(0.05)
            await self.rules.refresh()
        for company_id in (EVERY_COMPANY, *self._companies):
            for hold_id in self._ids(company_id, "contact_hold"):
                await self._change(company_id, "contact_hold", "delete", hold_id, {})

    async def _throw_junk(self) -> None:
        """Append what no producer of ours would, to topics that only leadclock writes to as well."""
        if self._chance.random() < INTERNAL_SHARE:
            topic = self._chance.choice(INTERNAL)
            junk = Outgoing(topic, self._chance.choice(FOREIGN_KEYS), self._chance.choice(POISON))
            await self._appender.append(self._chance.randrange(self._partitions), [junk])
            return
        topic = self._chance.choice([CONTACTS_REQUESTS.name, ACCOUNTS_REQUESTS.name])
        self._number += 1
        envelope = Envelope(id=f"junk-{self._number}", type=self._chance.choice([*REQUEST_TYPES.values()]), source="/junk")
        headers = self._chance.choice([(), to_headers(envelope), (("ce_id", b"%d\xff" % self._number),)])
        junk = Outgoing(topic, b"1|nobody", self._chance.choice(POISON), headers)
        self.poison += 1
        await self._appender.append(self._chance.randrange(self._partitions), [junk])

    # -- how it is sent ------------------------------------------------------------------------------------------------

    async def _change(
        self, company_id: int, record_type: str, operation: Operation, record_id: int | None, fields: dict[str, Any]
    ) -> None:
        request = RecordChangeRequested(
            company_id=company_id, type=record_type, operation=operation, id=record_id, fields=fields
        )
        await self._send(ACCOUNTS_REQUESTS.name, str(company_id), request, self._envelope(request))

    async def _ask_contact(self, request: ContactRequest) -> None:
        partition, sequence = self.rules.seen(request.company_id)
        envelope = msgspec.structs.replace(self._envelope(request), rules_partition=partition, rules_sequence=sequence)
        await self._send(CONTACTS_REQUESTS.name, request.contact_key, request, envelope)

    def _envelope(self, request: ContactRequest | AccountRequest) -> Envelope:
        self._number += 1
        return Envelope(id=f"request-{self._number}", type=REQUEST_TYPES[type(request)], source="/api")

    async def _send(self, topic: str, key: str, request: msgspec.Struct, envelope: Envelope) -> None:
        partition = partition_of(key.encode(), self._partitions)
        outgoing = Outgoing(topic, key.encode(), to_json(request), to_headers(envelope))
        await self._accept(envelope.id, partition, outgoing)
        if self._chance.random() < REPEAT_SHARE and self.repeats:
            self.accepted[envelope.id] += 1
            task = asyncio.ensure_future(self._send_again(partition, outgoing))
            self._later.add(task)
            task.add_done_callback(self._later.discard)

    async def _send_again(self, partition: int, outgoing: Outgoing) -> None:
        await asyncio.sleep(self._chance.random() * 3)
        with suppress(LogError):
            await self._appender.append(partition, [outgoing])

    async def _accept(self, id_: str, partition: int, outgoing: Outgoing) -> None:
        await self._appender.append(partition, [outgoing])
        self.accepted[id_] = 1
        self._sent[id_] = partition, outgoing

    async def _stream(self, request: LeadSubmitted) -> None:
        """Send as intake does: numbered, in order."""
        number = len(self._streamed)
        envelope = msgspec.structs.replace(self._envelope(request), stream=STREAM, number=number, source="/intake")
        outgoing = Outgoing(CONTACTS_REQUESTS.name, request.contact_key.encode(), to_json(request), to_headers(envelope))
        partition = partition_of(outgoing.key or b"", self._partitions)
        self._streamed.append((partition, outgoing))
        await self._accept(envelope.id, partition, outgoing)

    async def _replay(self) -> None:
        """Send the last of the stream again, as intake does after a crash."""
        for partition, outgoing in self._streamed[-self._chance.randint(1, 4) :] if self.repeats else ():
            await self._appender.append(partition, [outgoing])
