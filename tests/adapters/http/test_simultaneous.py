"""Does a group that is dialled simultaneously ring three buyers and connect one, from HTTP to a carrier and back?"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import structs

from adapters.clock import Origin, SystemClock, wall_now
from adapters.gateway.channels import call_channel
from adapters.gateway.gateway import Gateway
from adapters.gateway.ports import CommandClaim
from adapters.gateway.sandbox import SandboxVoice
from adapters.postgres.deliveries import PostgresDeliveries
from schemas.instant import EPOCH
from tests.adapters.http.conftest import DAYTIME_ZONE, PARTITIONS, WAIT_SECONDS, Company, Town

pytestmark = pytest.mark.asyncio(loop_scope="session")

OURS = "+12125550150"
PERSON = "+13055550123"
AWAY, SLOW, QUICK = "+12125550102", "+12125550103", "+12125550100"
SPEED = 100.0
"""Of the carrier alone: a call of 42 s is over at once."""


class Claims(PostgresDeliveries):
    """The claims of a database that was there before the domain time at which this deployment begins."""

    async def claim(self, command_id: str, **given: Any) -> CommandClaim:
        return structs.replace(await super().claim(command_id, **given), work_born_at=EPOCH)


@asynccontextmanager
async def carried(town: Town) -> AsyncIterator[None]:
    """Carry out calls by the sandbox, as a gateway does."""
    context = town.context
    voice = SandboxVoice(SystemClock(Origin(wall_now(), context.clock.now(), SPEED)))
    gateway = Gateway(
        call_channel(voice),
        log=context.log,
        deliveries=Claims(town.pool),
        clock=context.clock,
        metrics=town.metrics,
        names=context.names,
    )
    gateway.assign(range(PARTITIONS))
    running = asyncio.create_task(gateway.run())
    try:
        yield
    finally:
        gateway.stop()
        await running


async def ended_call(company: Company, lead_id: int) -> dict[str, Any]:
    """Wait for the end of the lead's call."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            listed = await company.send("GET", "/api/v1/calls", params={"lead_id": lead_id})
            for call in listed.json()["calls"]:
                if call["outcome"] is not None:
                    found: dict[str, Any] = call
                    return found
            await asyncio.sleep(0.02)


async def usage(company: Company, collection: str, record_id: int) -> tuple[Any, Any]:
    """Wait until the account has the call's line back; return the attempts and connections of the day."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            answer = await company.send("GET", f"/api/v1/{collection}/{record_id}")
            record = answer.json()[answer.json()["metadata"]["root"]]
            if not record["maxed_out"]:
                return record["attempt_daily_used"], record["connection_daily_used"]
            await asyncio.sleep(0.02)


async def test_three_buyers_are_rung_and_one_is_connected(town: Any, company: Any) -> None:
    caps = {"attempt_daily_limit": 9, "connection_daily_limit": 9, "concurrency_cap_limit": 1}
    numbers = (AWAY, SLOW, QUICK)
    buyers = [(await company.record("buyers", {"name": number, "number": number, **caps}))["id"] for number in numbers]
    group = await company.record(
        "buyer_groups", {"name": "Roofers", "buyer_ids": buyers, "dial_buyers_type": "simultaneously", **caps}
    )
    assert group["dial_buyers_type"] == "simultaneously"
    await company.record("numbers", {"number": OURS})
    steps = [{"id": "call", "kind": "call", "connect": {"buyer_group_id": group["id"]}}]
    schedule = await company.schedule(steps=steps)
    async with carried(town):
        given = {"lead_token": schedule["lead_token"], "caller_id": PERSON, "time_zone": DAYTIME_ZONE}
        answer = await company.send("POST", "/api/v1/leads", json=given)
        assert answer.status_code == 201, answer.text
        lead_id = answer.json()["lead"]["id"]
        call = await ended_call(company, lead_id)

    assert (call["outcome"], call["buyer_id"], call["buyer_group_id"]) == ("connected_buyer", buyers[2], group["id"])
    assert call["buyer_answered_at"] is not None
    assert [await usage(company, "buyers", buyer_id) for buyer_id in buyers] == [(1, 0), (1, 0), (1, 1)]
    assert await usage(company, "buyer_groups", group["id"]) == (1, 1)
    lead = (await company.send("GET", f"/api/v1/leads/{lead_id}")).json()["lead"]
    assert lead["buyer_id"] == buyers[2]
    events = (await company.send("GET", f"/api/v1/calls/{call['uuid']}/events")).json()["call"]["events"]
    rung = next(event for event in events if event["event"] == "command.emitted")
    answered = next(event for event in events if event["event"] == "call.buyer_answered")
    assert (rung["buyer_ids"], answered["type"], answered["buyer_id"]) == (buyers, "Leg", buyers[2])
