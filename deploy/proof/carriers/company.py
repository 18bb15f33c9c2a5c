"""Who calls and texts? Three companies, each with accounts at other vendors, and a schedule for calls and one for texts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from adapters.local.process import LOCALHOST
from adapters.providers.sealing import seal
from adapters.roles.context import Context
from adapters.roles.record_client import RecordClient
from adapters.up.demo_time_zone import zone_at_daytime
from deploy.proof.carriers.vendors import Vendors
from deploy.proof.company import REST
from deploy.proof.submissions import TEXT_ENDINGS, SentSubmission, number
from engine.partition.ports import Outgoing
from schemas.envelope import Envelope, to_headers
from schemas.records import ProviderChannel
from schemas.topics import LEADS_INBOX
from schemas.wire import to_json
from tests.adapters.providers import fake_asterisk, fake_telnyx, fake_twilio, smpp_server

CHANNELS: tuple[ProviderChannel, ...] = ("call", "sms")
BUYER = "+12125550160"


class VendorAccount(Struct, frozen=True, kw_only=True):
    """An account with a vendor, as a company's file has it."""

    provider: str
    settings: Mapping[str, Any]
    secrets: Mapping[str, str]


def accounts(vendors: Vendors) -> list[Mapping[ProviderChannel, VendorAccount]]:
    """Return the accounts of each company."""
    twilio = VendorAccount(
        provider="twilio",
        settings={"account_sid": fake_twilio.ACCOUNT, "base_url": vendors.twilio.url},
        secrets={"auth_token": fake_twilio.TOKEN},
    )
    telnyx = VendorAccount(
        provider="telnyx",
        settings={
            "public_key": fake_telnyx.PUBLIC_KEY,
            "connection_id": fake_telnyx.CONNECTION,
            "base_url": vendors.telnyx.url,
        },
        secrets={"api_key": fake_telnyx.API_KEY},
    )
    asterisk = VendorAccount(
        provider="asterisk",
        settings={
            "url": vendors.asterisk.url,
            "user": fake_asterisk.USER,
            "app": fake_asterisk.APP,
            "endpoint": "PJSIP/{number}@carrier",
        },
        secrets={"password": fake_asterisk.PASSWORD},
    )
    smpp = VendorAccount(
        provider="smpp",
        settings={
            "host": LOCALHOST,
            "port": vendors.smpp.port,
            "system_id": smpp_server.SYSTEM_ID,
            "security": "none",
        },
        secrets={"password": smpp_server.PASSWORD},
    )
    return [{"call": twilio, "sms": twilio}, {"call": telnyx, "sms": telnyx}, {"call": asterisk, "sms": smpp}]


async def make_companies(context: Context, vendors: Vendors) -> list[Mapping[ProviderChannel, str]]:
    """Make the companies; return the lead tokens of each, by channel. Raises `RecordNotCreatedError`, `LogError`."""
    appender = await context.log.appender()
    try:
        await context.rules.refresh()
        return [
            await _make(
                RecordClient(context.log, context.names, context.rules, appender, context.clock, company_id=company_id),
                company_id,
                own,
                context.settings.secret_key,
            )
            for company_id, own in enumerate(accounts(vendors), start=1)
        ]
    finally:
        await appender.close()


async def _make(
    records: RecordClient, company_id: int, own: Mapping[ProviderChannel, VendorAccount], key: str
) -> Mapping[ProviderChannel, str]:
    name = f"company-{company_id}"
    await records.ensure("company", "name", {"name": name, "country": "US"})
    offer_id = await records.ensure("offer", "name", {"name": name, "lead_token": f"lt_{name}_offer_0123456789abcdef"})
    await records.ensure("number", "number", {"number": f"+1212555015{company_id}", "offer_id": offer_id})
    buyer_id = await records.ensure("buyer", "name", {"name": name, "number": BUYER})
    group_id = await records.ensure("buyer_group", "name", {"name": name, "buyer_ids": [buyer_id]})
    steps: Mapping[ProviderChannel, dict[str, Any]] = {
        "call": {"id": "first", "kind": "call", "machine": "continue", "connect": {"buyer_group_id": group_id}},
        "sms": {"id": "first", "kind": "sms", "template": "Hello {{first_name}}"},
    }
    tokens: dict[ProviderChannel, str] = {}
    for channel in CHANNELS:
        await records.ensure("provider_configuration", "name", _configuration(company_id, channel, own[channel], key))
        tokens[channel] = f"lt_{name}_{channel}_0123456789abcdef"
        schedule = {"name": channel, "offer_id": offer_id, "lead_token": tokens[channel], "steps": [steps[channel], *REST]}
        await records.ensure("schedule", "name", schedule)
    return tokens


def _configuration(company_id: int, channel: ProviderChannel, account: VendorAccount, key: str) -> dict[str, Any]:
    sealed = {
        name: seal(key, secret, company_id=company_id, provider=account.provider, name=name)
        for name, secret in account.secrets.items()
    }
    return {
        "name": channel,
        "channel": channel,
        "provider": account.provider,
        "settings": dict(account.settings),
        "sealed_secrets": sealed,
    }


def leads(
    tokens: Sequence[Mapping[ProviderChannel, str]], channel: ProviderChannel, indexes: range, context: Context
) -> Iterator[SentSubmission]:
    """Yield leads for a channel, each of a person of its own; the companies take turns."""
    zone = zone_at_daytime()
    topic = context.names.of(LEADS_INBOX.name)
    for index in indexes:
        caller_id = number(index, 1, TEXT_ENDINGS)
        id_ = f"{channel}-{index}"
        body = {"lead_token": tokens[index % len(tokens)][channel], "caller_id": caller_id, "time_zone": zone}
        headers = to_headers(Envelope(id=id_, type="lead.submitted", source="/proof"))
        yield SentSubmission(
            id=id_, record=Outgoing(topic, caller_id.encode(), to_json({**body, "first_name": id_}), headers)
        )
