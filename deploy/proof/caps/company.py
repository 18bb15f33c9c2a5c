"""Whose caps are tried? A company whose buyers, groups, traffic sources and numbers have far smaller caps than leads need.

Six schedules, each with other limits; together they have every metric, period and kind of record that has caps. An hour, a
day and a month end while the leads are called, each in the zone of some record.
"""

import hashlib
import secrets
from typing import Any

import httpx
from msgspec import Struct

from adapters.roles.context import Context
from adapters.roles.record_client import RecordClient
from schemas.instant import EPOCH, HOUR, MINUTE, Instant, Millis

COMPANY_ID = 1

BEGINS_AT = Instant(1_803_861_000_000)
"""2027-03-01T00:30:00Z, when it is day in all of Australia, where the leads are. In the hours to come a month ends in
one zone after the other."""

MIDNIGHTS = (
    "Atlantic/Cape_Verde", "America/Noronha", "America/Sao_Paulo", "America/Puerto_Rico", "America/Panama",
    "America/Costa_Rica", "America/Phoenix",
)  # fmt: skip
"""Where a month ends at 01:00, 02:00, … UTC; no clock there is changed in March."""

AHEAD: Millis = 5 * MINUTE
"""So long before the periods end, at least, the leads begin to come."""

HALF_PAST = "Asia/Kolkata"
"""Hours there end at half past an hour of UTC."""

NEVER_ANSWERS = "+12125550102"
"""A buyer whose telephone rings until its time is over (sandbox.md)."""

LEAST = 3
STEP = {
    "id": "first",
    "kind": "call",
    "outcome_timeout": "3m",
    "retry": {"busy": {"delay": "2m", "max": 2}, "no_answer": {"delay": "4m", "max": 1}},
}
REST = [{"id": "rest", "kind": "wait", "duration": "5d"}, {"id": "last", "kind": "call"}]


class Way(Struct, frozen=True, kw_only=True):
    """One way into the company: whose leads go where."""

    token: str
    traffic_source_id: int | None = None


class CapCompany(Struct, frozen=True, kw_only=True):
    """Where leads are sent, and as whom the API is asked; `names` are those of the records with caps (`buyer/7`)."""

    ways: list[Way]
    names: dict[str, str]
    public_key: str
    private_key: str
    ends_at: Instant
    """When periods of every length end."""

    def auth(self) -> httpx.BasicAuth:
        """Return the HTTP Basic credentials."""
        return httpx.BasicAuth(self.public_key, self.private_key)


async def make_cap_company(context: Context, leads: int) -> CapCompany:
    """Create the company with caps; an accounts role must run. Raises `RecordNotCreatedError`, `LogError`."""
    appender = await context.log.appender()
    try:
        await context.rules.refresh()
        records = RecordClient(context.log, context.names, context.rules, appender, context.clock, company_id=COMPANY_ID)
        return await _Making(records, leads, context.clock.now() + AHEAD).make()
    finally:
        await appender.close()


class _Making:
    def __init__(self, records: RecordClient, leads: int, not_before: Instant) -> None:
        self._ends_at = EPOCH + -(-not_before // HOUR) * HOUR
        hours = (self._ends_at - BEGINS_AT) // HOUR
        self._midnight_zone = MIDNIGHTS[min(hours, len(MIDNIGHTS) - 1)]
        self._records = records
        self._leads = leads
        self._names: dict[str, str] = {}
        self._buyers = 0

    async def make(self) -> CapCompany:
        """Make everything, what is referred to first."""
        await self._records.ensure("company", "name", {"name": "Caps", "country": "AU"})
        ways = [
            await self._hours(),
            await self._midnight(),
            await self._earning(),
            await self._through_offer(),
            await self._from_source(),
            await self._to_nobody(),
        ]
        private_key, public_key = secrets.token_hex(16), f"pk_caps_{secrets.token_hex(8)}"
        digest = hashlib.sha256(private_key.encode()).hexdigest()
        key = {"name": "caps", "public_key": public_key, "private_key_sha256": digest}
        await self._records.ensure("api_key", "public_key", key)
        return CapCompany(
            ways=ways, names=self._names, public_key=public_key, private_key=private_key, ends_at=self._ends_at
        )

    async def _hours(self) -> Way:
        """Caps by the hour and the day: those of the hour are reset while the leads are called."""
        buyers = [await self._buyer("Alma"), await self._buyer("Bert", weight=3)]
        group = await self._group(
            "Hours", buyers, attempt_hourly_limit=self._share(0.04), attempt_daily_limit=self._share(0.07)
        )
        return await self._schedule("hours", buyer_group_id=group)

    async def _midnight(self) -> Way:
        """Caps by the day and the month, both of which end; one buyer's hours end at half past, and one never answers."""
        own: dict[str, Any] = {"time_zone": HALF_PAST, "connection_hourly_limit": self._share(0.015)}
        buyers = [
            await self._buyer("Cora", concurrency_cap_limit=self._lines // 2 + 1, **own),
            await self._buyer("Dora", is_away=True, attempt_monthly_limit=self._share(0.02)),
        ]
        caps = {"attempt_daily_limit": self._share(0.05), "connection_monthly_limit": self._share(0.02)}
        group = await self._group("Midnight", buyers, time_zone=self._midnight_zone, **caps)
        return await self._schedule("midnight", buyer_group_id=group)

    async def _earning(self) -> Way:
        """Caps on what calls bring, which stop further calls."""
        caps = {"buyer_conversion_daily_limit": self._share(0.01), "revenue_total_limit": 50 * self._share(0.008)}
        buyer = await self._buyer("Erna", earned_revenue_monthly_limit=50 * self._share(0.009))
        return await self._schedule("earning", buyer_group_id=await self._group("Earning", [buyer], **caps))

    async def _through_offer(self) -> Way:
        """Groups of two tiers and a buyer behind them, as the offer names them."""
        first = await self._group("First", [await self._buyer("Fritz")], attempt_total_limit=self._share(0.03))
        second = await self._group("Second", [await self._buyer("Gesa")], tier=2, connection_total_limit=self._share(0.02))
        last = await self._buyer("Hugo", concurrency_cap_limit=self._lines, attempt_total_limit=self._share(0.03))
        return await self._schedule("offer", offer={"buyer_group_ids": [first, second], "buyer_ids": [last]})

    async def _from_source(self) -> Way:
        """A traffic source with caps, and buyers who have none but on calls at a time."""
        group = await self._group("Open", [await self._buyer("Ida"), await self._buyer("Jan")])
        source = await self._source("Ads", connection_daily_limit=self._share(0.03), time_zone=self._midnight_zone)
        return await self._schedule("source", source=source, buyer_group_id=group)

    async def _to_nobody(self) -> Way:
        """A traffic source and a number with caps on calls that go to no buyer."""
        source = await self._source("Web", offer_conversion_daily_limit=self._share(0.01))
        number = {"concurrency_cap_limit": self._lines, "attempt_daily_limit": self._share(0.03)}
        return await self._schedule("nobody", source=source, number=number)

    @property
    def _lines(self) -> int:
        """Calls at a time: so few that calls wait, so many that the proof ends."""
        return max(LEAST, self._leads // 250)

    def _share(self, part: float) -> int:
        """Return a limit that is a part of all leads; each schedule has a sixth of them."""
        return max(LEAST, round(self._leads * part))

    async def _buyer(self, name: str, *, is_away: bool = False, **fields: Any) -> int:
        self._buyers += 1
        number = NEVER_ANSWERS if is_away else f"+1212555{1_000 + self._buyers}"
        return await self._named("buyer", {"name": name, "number": number, **fields})

    async def _group(self, name: str, buyer_ids: list[int], **fields: Any) -> int:
        limit = {"concurrency_cap_limit": self._lines}
        return await self._named("buyer_group", {"name": name, "buyer_ids": buyer_ids, **limit, **fields})

    async def _source(self, name: str, **fields: Any) -> int:
        return await self._named("traffic_source", {"name": name, "concurrency_cap_limit": self._lines, **fields})

    async def _named(self, record_type: str, fields: dict[str, Any]) -> int:
        record_id = await self._records.ensure(record_type, "name", fields)
        self._names[f"{record_type}/{record_id}"] = f"{record_type} {fields['name']}"
        return record_id

    async def _schedule(
        self,
        name: str,
        *,
        offer: dict[str, Any] | None = None,
        source: int | None = None,
        number: dict[str, Any] | None = None,
        **connect: Any,
    ) -> Way:
        offer_token = f"lt_caps_{name}_offer_0123456789abcdef"
        offer_id = await self._records.ensure("offer", "name", {"name": name, "lead_token": offer_token, **(offer or {})})
        called_from = {"number": f"+121255501{70 + len(self._names)}", "offer_id": offer_id, **(number or {})}
        number_id = await self._records.ensure("number", "number", called_from)
        if number is not None:
            self._names[f"number/{number_id}"] = f"number of {name}"
        token = f"lt_caps_{name}_0123456789abcdef"
        first = STEP | ({"connect": connect} if connect else {})
        # The floor of 08:00-21:00 leaves more hours than the law of telemarketing in Australia: time is not what is tried.
        schedule = {
            "name": name,
            "offer_id": offer_id,
            "lead_token": token,
            "steps": [first, *REST],
            "purpose": "informational",
        }
        await self._records.ensure("schedule", "name", schedule)
        return Way(token=token, traffic_source_id=source)
