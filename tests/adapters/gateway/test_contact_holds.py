"""Does a gateway give out nothing that is on hold, nor while it may not have read a newer hold?"""

import asyncio
from typing import Any

import pytest

from adapters.gateway.channels import call_channel, email_channel, sms_channel, webhook_channel
from adapters.gateway.contact_holds import STALE_SECONDS, CoveringHold, HoldsOfRules
from adapters.gateway.ports import LeaseLostError
from engine.partition.ports import LogError
from engine.rules import Rules
from schemas.instant import EPOCH
from schemas.records import EVERY_COMPANY, ContactHold, Record, plain
from schemas.requests import OutcomeRecorded, RulesPlace
from tests.adapters.gateway.providers import Email, Sms, Voice, Webhook
from tests.adapters.gateway.world import MemoryDeliveries, command_of, running, town

HOLD = CoveringHold("wrong prices", RulesPlace(1, 7))


class Holds:
    """Holds that a test sets; `refresh` waits for `is_read`."""

    def __init__(self, *channels: str) -> None:
        self.channels = set(channels)
        self.is_read = asyncio.Event()
        self.is_read.set()
        self.failures = 0
        self.is_stale = False

    async def refresh(self) -> None:
        await self.is_read.wait()
        if self.failures:
            self.failures -= 1
            raise LogError("away")

    def find(self, company_id: int, channel: str) -> CoveringHold | None:
        return HOLD if channel in self.channels else None

    def check(self) -> None:
        if self.is_stale:
            self.is_stale = False
            raise LeaseLostError("the rules were read long ago")


async def test_a_webhook_that_was_emitted_is_posted_for_nobody_would_resend_it() -> None:
    webhook = Webhook()

    async with town("webhook") as place:
        await place.append(command_of("webhook"))
        async with running(place, webhook_channel(webhook), MemoryDeliveries(), holds=Holds("webhook")):
            assert await place.outcome() == [("command-1", "accepted")]

    assert webhook.asked == ["command-1"]


@pytest.mark.parametrize("kind", ["call", "sms", "email"])
async def test_a_command_on_hold_is_returned_and_says_for_which_hold(kind: Any) -> None:
    provider: Any = {"call": Voice, "sms": Sms, "email": Email}[kind]()
    make: Any = {"call": call_channel, "sms": sms_channel, "email": email_channel}[kind]

    async with town(kind) as place:
        await place.append(command_of(kind))
        async with running(place, make(provider), MemoryDeliveries(), holds=Holds(kind)):
            assert await place.outcome() == [("command-1", "held")]
            (report,) = [one for one in await place.said() if isinstance(one, OutcomeRecorded)]

    assert (report.hold, report.detail, report.rang) == (RulesPlace(1, 7), "wrong prices", False)
    assert provider.asked == []


async def test_nothing_is_given_out_before_the_rules_were_read_again() -> None:
    voice, holds = Voice(), Holds()
    holds.is_read.clear()

    async with town("call") as place:
        await place.append(command_of("call"))
        async with running(place, call_channel(voice), MemoryDeliveries(), holds=holds):
            await asyncio.sleep(0.2)
            assert voice.asked == []
            holds.channels.add("call")
            holds.failures = 2
            holds.is_read.set()
            assert await place.outcome() == [("command-1", "held")]

    assert voice.asked == []


async def test_a_process_that_was_suspended_reads_the_rules_before_it_goes_on() -> None:
    voice, holds = Voice(), Holds()
    holds.is_stale = True

    async with town("call") as place:
        await place.append(command_of("call"))
        async with running(place, call_channel(voice), MemoryDeliveries(), holds=holds):
            assert await place.outcome() == [("command-1", "connected_human")]

    assert (voice.asked, holds.is_stale) == (["command-1"], False)


class Feed:
    """Rules that were read so many seconds ago."""

    def __init__(self, age_seconds: float = 0.0) -> None:
        self.rules = Rules()
        self.age = age_seconds
        self.asked: list[float] = []

    async def read_within(self, seconds: float) -> None:
        self.asked.append(seconds)

    def age_seconds(self) -> float:
        return self.age

    def seen(self, company_id: int) -> tuple[int, int]:
        return company_id % 2, 0


def record(company_id: int, record_id: int, **fields: Any) -> Record:
    about: dict[str, Any] = {"version": 1, "sequence": 9, "created_at": EPOCH, "updated_at": EPOCH, "company_id": company_id}
    body = plain(ContactHold(reason=f"reason {record_id}", **fields))
    return Record(type="contact_hold", id=record_id, uuid=f"h{record_id}", body=body, **about)


async def test_the_holds_of_a_company_and_of_all_are_those_of_the_rules() -> None:
    feed = Feed()
    holds = HoldsOfRules(feed)
    assert holds.find(1, "call") is None
    feed.rules.apply(1, record(1, 5, channels=("sms",)))
    feed.rules.apply(0, record(EVERY_COMPANY, 6, channels=("call",)))

    assert [holds.find(1, channel) for channel in ("call", "sms", "email")] == [
        CoveringHold("reason 6", RulesPlace(0, 9)),
        CoveringHold("reason 5", RulesPlace(1, 9)),
        None,
    ]
    assert holds.find(2, "sms") is None
    await holds.refresh()
    assert feed.asked == [1.0]


def test_rules_that_were_read_too_long_ago_are_none_to_go_by() -> None:
    HoldsOfRules(Feed(STALE_SECONDS)).check()
    with pytest.raises(LeaseLostError, match=r"the rules were read 2\.1 s ago"):
        HoldsOfRules(Feed(STALE_SECONDS + 0.1)).check()
