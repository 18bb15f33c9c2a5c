"""What can a newcomer try at once? A demo company with keys, numbers, buyers, an offer and two schedules.

It is created by the same requests that an operator sends; records that exist stay as they are.
"""

import hashlib
import secrets
from typing import Any

from argon2 import PasswordHasher
from msgspec import structs

from adapters.roles.record_client import RecordClient
from adapters.up.folder import Keys

COMPANY_ID = 1
NUMBERS = ("+12125550150", "+12125550151")
"""555-01xx: reserved for fiction, in an area whose state has no calling rules of its own in the pack."""


USER_EMAIL = "manager@demo.example"
"""Of the user whom one click signs in to the console; the domain is reserved for examples (RFC 2606)."""

BUYERS = (
    {"name": "Bright Roofs", "number": "+12125550160", "user_buyer_id": "bright_roofs"},
    {"name": "Sunny Homes", "number": "+12125550161", "user_buyer_id": "sunny_homes"},
)


def quick_schedule(buyer_group_id: int) -> dict[str, Any]:
    """Return the schedule that ends within two minutes: a text, a call with retries, an e-mail; waits of seconds."""
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
    """Return a schedule of five days: opening hours, retries, a branch on what came of the calls, and end steps.

    `leadclock up --ephemeral --speed 600` ends it in 12 minutes.
    """
    weekdays = ["mon", "tue", "wed", "thu", "fri"]
    connect = {"buyer_group_id": buyer_group_id}
    return {
        "name": "Solar five days",
        "description": "Calls in office hours with retries, a branch for who was reached, and a last step for everybody.",
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
            {
                "id": "reached",
                "kind": "branch",
                "rules": [{"if": ["connected:true"], "goto": "thanks"}],
                "else": "text-1",
            },
            {
                "id": "thanks",
                "kind": "email",
                "subject": "Your solar quote, {{first_name}}",
                "template": "Hello {{first_name}},\n\nit was good to talk to you. Call us at {{svc_number}} any time.\n",
            },
            {"id": "all-set", "kind": "exit", "result": "completed"},
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
        "end_steps": [{"id": "sort-in", "kind": "tag", "add": ["solar-five-days-done"]}],
    }


def _no_password() -> str:
    """Return the hash of a password that is written nowhere: the demo user signs in with one click, from this machine."""
    return PasswordHasher().hash(secrets.token_urlsafe(32))


async def make_demo(records: RecordClient, keys: Keys) -> Keys:
    """Create what is missing of the demo company; return the keys with the lead tokens that its records have.

    Another data folder may have created them with its own tokens. Raises `RecordNotCreatedError`, `LogError`.
    """
    make = records.ensure
    await make("company", "name", {"name": "Demo Solar", "country": "US", "unreviewed_countries": "floor"})
    buyer_ids = [await make("buyer", "name", buyer) for buyer in BUYERS]
    group = {"name": "Closers", "buyer_ids": buyer_ids, "concurrency_cap_limit": 3}
    group_id = await make("buyer_group", "name", group)
    offer = {"name": "Solar", "lead_token": keys.offer_lead_token, "buyer_group_ids": [group_id]}
    offer_id = await make("offer", "name", offer)
    for number in NUMBERS:
        await make("number", "number", {"number": number, "offer_id": offer_id})
    quick = quick_schedule(group_id) | {"offer_id": offer_id, "lead_token": keys.quick_lead_token}
    quick_id = await make("schedule", "name", quick)
    five_days = five_day_schedule(group_id) | {"offer_id": offer_id, "lead_token": keys.five_day_lead_token}
    five_days_id = await make("schedule", "name", five_days)
    digest = hashlib.sha256(keys.private_key.encode()).hexdigest()
    key = {"name": "Demo key", "public_key": keys.public_key, "private_key_sha256": digest}
    await make("api_key", "public_key", key)
    await make(
        "user", "email", {"name": "Demo manager", "email": USER_EMAIL, "state": "active", "password_hash": _no_password()}
    )
    await make("access_control_list", "name", {"name": "Demo managers", "users_emails": [USER_EMAIL], "superuser": True})
    return structs.replace(
        keys,
        offer_lead_token=records.fields("offer", offer_id)["lead_token"],
        quick_lead_token=records.fields("schedule", quick_id)["lead_token"],
        five_day_lead_token=records.fields("schedule", five_days_id)["lead_token"],
    )
