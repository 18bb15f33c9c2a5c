"""Is each webhook of a vendor of e-mail believed where it is signed, and read as what it says, about our e-mails alone?"""

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from msgspec.structs import replace

from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.gateway.bounce_tokens import BounceTokens
from adapters.gateway.ports import DeliveryResult
from adapters.providers.mail_vendors import mailgun, sendgrid, ses
from adapters.providers.mail_vendors.connection import MailVendorConnection
from adapters.providers.mail_vendors.ses import SesConnection
from adapters.providers.ports import (
    Callback,
    FetchesKeys,
    ForgedCallbackError,
    HttpAnswer,
    MailReports,
    ProviderAccount,
    ProviderFailedError,
)
from adapters.providers.provider_sockets import GuardedProviderSockets
from adapters.providers.registry import fault_of, installed, read_settings, settings_faults
from adapters.providers.testing import ScriptedHttp
from schemas.commands import SendEmail
from schemas.instant import Instant
from schemas.outcomes import OUTCOMES
from tests.adapters.gateway.world import command_of
from tests.adapters.providers.mail_host import PASSWORD, USER, MailHost, trusting
from tests.adapters.providers.mail_vendors import (
    CERTIFICATE_URL,
    SIGNING_KEY,
    SUBSCRIBE_URL,
    TOPIC,
    FakeSns,
    certificate,
    mailgun_event,
    mailgun_failure,
    mailgun_webhook,
    posted,
    sendgrid_event,
    sendgrid_public_key,
    sendgrid_webhook,
    ses_bounce,
    ses_complaint,
    ses_mail,
    sns_message,
)

SECRET = "a secret of the deployment, 32 characters"
TOKENS = BounceTokens(SECRET)
SETTINGS = {"host": "localhost", "username": USER, "from_address": "leads@sunny.example"}
OWN: dict[str, tuple[Any, dict[str, Any], dict[str, str]]] = {
    "ses": (ses.PROVIDER, {"topic_arn": TOPIC}, {}),
    "mailgun": (mailgun.PROVIDER, {}, {"webhook_signing_key": SIGNING_KEY}),
    "sendgrid": (sendgrid.PROVIDER, {"webhook_public_key": sendgrid_public_key()}, {}),
}
"""Provider, its settings and its secrets beside those of every account."""


def mail_to(company_id: int = 1) -> SendEmail:
    key = f"{company_id}|email:ada@example.org"
    made = command_of("email", contact_key=key, company_id=company_id, lead_id=12, body="Dear Ada")
    assert isinstance(made, SendEmail)
    return made


TOKEN, OF_ANOTHER_COMPANY = TOKENS.token(mail_to()), TOKENS.token(mail_to(2))
OF_ANOTHER_DEPLOYMENT = BounceTokens("another secret of a deployment, 32 chars").token(mail_to())


def connect(name: str, *, http: Any = None, port: int = 587, **settings: Any) -> MailVendorConnection:
    provider, own, secrets = OWN[name]
    connection = provider.connect(
        ProviderAccount(
            company_id=1,
            configuration_id=9,
            channel="email",
            settings=read_settings(provider, {**SETTINGS, "port": port, **own, **settings}),
            secrets={"password": PASSWORD, **secrets},
            callback_url="https://leads.example.com/x",
            http=http or ScriptedHttp(),
            now=wall_now,
            sockets=GuardedProviderSockets(allowed=networks(("127.0.0.1",)), tls=trusting()),
            bounces=TOKENS,
        )
    )
    assert isinstance(connection, MailVendorConnection)
    return connection


def said(connection: MailVendorConnection, callback: Callback) -> list[str | None]:
    """The outcomes that a webhook reports."""
    found = connection.read_callback(callback)
    if found is None:
        return []
    assert isinstance(found, MailReports)
    for report in found.reports:
        assert (report.sent.command_id, report.sent.company_id, report.sent.lead_id) == ("command-1", 1, 12)
        assert (report.provider, report.provider_configuration_id) == (connection.name, 9)
        assert report.outcome is None or report.outcome in OUTCOMES["email"]
        assert report.detail
    return [report.outcome for report in found.reports]


async def ses_said(message: Any, *, sns: FakeSns | None = None, **signing: Any) -> list[str | None]:
    connection = connect("ses", http=sns or FakeSns())
    assert isinstance(connection, FetchesKeys)
    callback = posted(sns_message(message, **signing))
    await connection.fetch_keys(callback)
    return said(connection, callback)


@pytest.mark.parametrize("name", OWN)
def test_each_is_an_installed_provider_of_e_mails(name: str) -> None:
    provider, own, secrets = OWN[name]
    assert (installed()[name], fault_of(name, provider)) == (provider, None)
    assert settings_faults(provider, {**SETTINGS, **own}) == {}
    assert set(provider.secrets) == {"password", *secrets}


@pytest.mark.parametrize(
    ("name", "setting", "value"),
    [
        ("ses", "topic_arn", "mail"),
        ("ses", "topic_arn", "arn:aws:sns:evil.example/:123456789012:mail"),
        ("ses", "topic_arn", None),
        ("sendgrid", "webhook_public_key", "key"),
        ("sendgrid", "webhook_public_key", None),
        ("mailgun", "topic_arn", TOPIC),
    ],
)
def test_a_bad_setting_is_named(name: str, setting: str, value: Any) -> None:
    provider, own, _ = OWN[name]
    given = {**SETTINGS, **own, setting: value}
    assert list(settings_faults(provider, {key: one for key, one in given.items() if one is not None})) == [
        f"settings.{setting}"
    ]


def test_a_verification_key_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="webhook_public_key"):
        connect("sendgrid", webhook_public_key="A" * 120)


@pytest.mark.parametrize(
    ("name", "header", "path"),
    [
        ("mailgun", "X-Mailgun-Variables", ("leadclock_delivery",)),
        ("sendgrid", "X-SMTPAPI", ("unique_args", "leadclock_delivery")),
        ("ses", None, ()),
    ],
)
async def test_an_e_mail_carries_what_the_vendor_returns(name: str, header: str | None, path: tuple[str, ...]) -> None:
    async with MailHost() as host:
        result = await connect(name, port=host.port).send(mail_to())
    assert isinstance(result, DeliveryResult)
    assert result.outcome == "accepted"
    ((_, message),) = host.sent
    assert message["X-Leadclock-Delivery"] == TOKEN
    if header is not None:
        found = json.loads(message[header])
        for part in path:
            found = found[part]
        assert found == TOKEN
        assert len(f"{header}: {message[header]}") < 998


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({}, "bounced_hard"),
        ({"status": ""}, "bounced_hard"),
        ({"status": "", "subtype": "OnAccountSuppressionList"}, "bounced_hard"),
        ({"status": "", "subtype": "ContentRejected"}, "failed"),
        ({"status": "5.2.2"}, "bounced_soft"),
        ({"status": "5.7.1"}, "failed"),
        ({"kind": "Transient", "subtype": "MailboxFull", "status": "4.2.2"}, "bounced_soft"),
        *(
            ({"kind": "Transient", "subtype": "General", "status": status}, "bounced_hard")
            for status in ("5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10")
        ),
        ({"kind": "Transient", "subtype": "General", "status": "5.2.2"}, "bounced_soft"),
        ({"kind": "Transient", "subtype": "General", "status": ""}, None),
        ({"kind": "Transient", "subtype": "General", "status": "4.4.7"}, "bounced_soft"),
        ({"kind": "Undetermined", "subtype": "Undetermined", "status": ""}, "bounced_soft"),
    ],
)
@pytest.mark.parametrize("version", ["1", "2"])
async def test_each_bounce_of_ses_is_what_it_says(fields: dict[str, str], outcome: str | None, version: str) -> None:
    assert await ses_said(ses_bounce(TOKEN, **fields), version=version) == [outcome]


async def test_complaints_and_deliveries_of_ses_are_what_they_say() -> None:
    delivery = {"notificationType": "Delivery", "mail": ses_mail(TOKEN), "delivery": {"smtpResponse": "250 ok"}}
    event = {**ses_bounce(TOKEN), "eventType": "Bounce"}
    del event["notificationType"]

    assert await ses_said(ses_complaint(TOKEN)) == ["complained"]
    assert await ses_said(ses_complaint(TOKEN, None)) == ["complained"]
    assert await ses_said(ses_complaint(TOKEN, "not-spam")) == [None]
    assert await ses_said(delivery) == ["delivered"]
    assert await ses_said(event) == ["bounced_hard"]
    assert await ses_said({"eventType": "Open", "mail": ses_mail(TOKEN)}) == [None]


@pytest.mark.parametrize("token", [None, OF_ANOTHER_COMPANY, OF_ANOTHER_DEPLOYMENT, "garbage"])
async def test_what_is_about_other_e_mails_is_passed_over(token: str | None) -> None:
    assert await ses_said(ses_bounce(token)) == []
    assert said(connect("mailgun"), posted(mailgun_webhook(mailgun_failure(token)))) == []
    events = [sendgrid_event(token), sendgrid_event(TOKEN), sendgrid_event(token, "spamreport")]
    assert said(connect("sendgrid"), sendgrid_webhook(events)) == ["bounced_hard"]


async def test_the_certificate_of_sns_is_fetched_once() -> None:
    sns = FakeSns()
    connection = connect("ses", http=sns)
    assert isinstance(connection, SesConnection)
    for _ in range(2):
        callback = posted(sns_message(ses_bounce(TOKEN)))
        await connection.fetch_keys(callback)
        assert said(connection, callback) == ["bounced_hard"]
    assert sns.fetched == [CERTIFICATE_URL]


@pytest.mark.parametrize(
    "url",
    [
        "http://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3.pem",
        "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-f3.pem",
        "https://sns.us-west-2.amazonaws.com.evil.example/SimpleNotificationService-f3.pem",
        "https://evil.example/SimpleNotificationService-f3.pem",
        "https://sns.us-west-2.amazonaws.com@evil.example/SimpleNotificationService-f3.pem",
        "https://sns.us-west-2.amazonaws.com:8443/SimpleNotificationService-f3.pem",
        "https://sns.us-west-2.amazonaws.com/bucket/SimpleNotificationService-f3.pem",
        "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3.pem?x=/../",
        "https://sns.us-west-2.amazonaws.com/",
        "https://[",
        None,
        7,
    ],
)
async def test_a_certificate_of_another_address_is_never_fetched(url: Any) -> None:
    sns = FakeSns()
    with pytest.raises(ForgedCallbackError, match="certificate"):
        await ses_said(ses_bounce(TOKEN), sns=sns, SigningCertURL=url)
    assert sns.fetched == []


async def test_a_message_of_another_topic_or_signed_by_another_key_is_forged() -> None:
    stranger = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    with pytest.raises(ForgedCallbackError, match="signature"):
        await ses_said(ses_bounce(TOKEN), key=stranger)
    sns = FakeSns()
    for changed in ({"TopicArn": f"{TOPIC}2"}, {"TopicArn": None}):
        with pytest.raises(ForgedCallbackError, match="topic"):
            await ses_said(ses_bounce(TOKEN), sns=sns, **changed)
    assert sns.fetched == []


async def test_a_message_that_was_changed_after_it_was_signed_is_forged() -> None:
    connection = connect("ses", http=FakeSns())
    assert isinstance(connection, SesConnection)
    genuine = json.loads(sns_message(ses_bounce(TOKEN)))
    for changed in (
        {"Message": json.dumps(ses_complaint(TOKEN))},
        {"Signature": "AAAA"},
        {"Signature": "not base64"},
        {"SignatureVersion": "3"},
        {"Type": "UnsubscribeConfirmation"},
    ):
        callback = posted(json.dumps({**genuine, **changed}).encode())
        await connection.fetch_keys(callback)
        with pytest.raises(ForgedCallbackError):
            connection.read_callback(callback)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"\xff", b'{"Type": "Notification"}', b'"x"'])
async def test_what_is_no_webhook_is_forged(body: bytes) -> None:
    connection = connect("ses")
    assert isinstance(connection, SesConnection)
    with pytest.raises(ForgedCallbackError):
        await connection.fetch_keys(posted(body))
    for name in ("mailgun", "sendgrid"):
        with pytest.raises(ForgedCallbackError):
            connect(name).read_callback(posted(body))


@pytest.mark.parametrize(
    "answer", [HttpAnswer(503, b""), HttpAnswer(200, b"no certificate"), HttpAnswer(200, certificate(days=-1))]
)
async def test_a_certificate_that_cannot_be_had_is_asked_for_again(answer: HttpAnswer) -> None:
    sns = FakeSns()
    genuine = sns.answers[CERTIFICATE_URL]
    sns.answers[CERTIFICATE_URL] = answer
    with pytest.raises(ProviderFailedError):
        await ses_said(ses_bounce(TOKEN), sns=sns)
    sns.answers[CERTIFICATE_URL] = genuine
    assert await ses_said(ses_bounce(TOKEN), sns=sns) == ["bounced_hard"]


async def test_a_subscription_is_confirmed_at_sns_alone() -> None:
    sns = FakeSns()
    connection = connect("ses", http=sns)
    assert isinstance(connection, SesConnection)
    callback = posted(sns_message("You have chosen to subscribe", kind="SubscriptionConfirmation"))
    await connection.fetch_keys(callback)
    assert connection.read_callback(callback) is None
    await connection.reply_to(callback, None)
    assert sns.fetched == [CERTIFICATE_URL, SUBSCRIBE_URL]

    for url in (
        SUBSCRIBE_URL.replace("amazonaws.com/", "amazonaws.com.evil.example/"),
        SUBSCRIBE_URL.replace("us-west-2.a", "us-east-1.a"),
        SUBSCRIBE_URL.replace(f"={TOPIC}", f"={TOPIC}2"),
        SUBSCRIBE_URL.replace("ConfirmSubscription", "Publish"),
        "http://127.0.0.1/",
    ):
        callback = posted(sns_message("You have chosen", kind="SubscriptionConfirmation", SubscribeURL=url))
        assert connection.read_callback(callback) is None
        with pytest.raises(ProviderFailedError, match="address"):
            await connection.reply_to(callback, None)
    assert sns.fetched == [CERTIFICATE_URL, SUBSCRIBE_URL]


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        (mailgun_failure(TOKEN), "bounced_hard"),
        (mailgun_failure(TOKEN, enhanced=""), "bounced_hard"),
        (mailgun_failure(TOKEN, code=552, enhanced="5.2.2"), "bounced_soft"),
        (mailgun_failure(TOKEN, enhanced="5.7.1"), "failed"),
        (mailgun_failure(TOKEN, code=451, enhanced="4.7.1"), "bounced_soft"),
        (mailgun_failure(TOKEN, code=605, reason="suppress-bounce"), "bounced_hard"),
        (mailgun_failure(TOKEN, code=607, reason="suppress-complaint"), "complained"),
        (mailgun_failure(TOKEN, code=606, reason="suppress-unsubscribe"), "unsubscribed"),
        (mailgun_failure(TOKEN, severity="temporary"), None),
        (mailgun_event(TOKEN, "complained"), "complained"),
        (mailgun_event(TOKEN, "unsubscribed"), "unsubscribed"),
        (mailgun_event(TOKEN, "delivered"), "delivered"),
        (mailgun_event(TOKEN, "opened"), None),
    ],
)
def test_each_event_of_mailgun_is_what_it_says(event: dict[str, Any], outcome: str | None) -> None:
    assert said(connect("mailgun"), posted(mailgun_webhook(event))) == [outcome]


@pytest.mark.parametrize(
    "body",
    [
        mailgun_webhook(mailgun_failure(TOKEN), key="another"),
        mailgun_webhook(mailgun_failure(TOKEN), age_seconds=10 * 3_600),
        mailgun_webhook(mailgun_failure(TOKEN), age_seconds=-3_600),
        json.dumps({"event-data": mailgun_failure(TOKEN)}).encode(),
        json.dumps({"signature": {"timestamp": "soon"}, "event-data": mailgun_failure(TOKEN)}).encode(),
    ],
)
def test_a_webhook_that_mailgun_did_not_sign_lately_is_forged(body: bytes) -> None:
    with pytest.raises(ForgedCallbackError):
        connect("mailgun").read_callback(posted(body))


def test_a_webhook_that_mailgun_repeats_for_hours_is_read() -> None:
    assert said(connect("mailgun"), posted(mailgun_webhook(mailgun_failure(TOKEN), age_seconds=8 * 3_600))) == [
        "bounced_hard"
    ]


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        (sendgrid_event(TOKEN), "bounced_hard"),
        (sendgrid_event(TOKEN, status="5.0.0", reason="550 unknown user"), "bounced_hard"),
        (sendgrid_event(TOKEN, status="5.2.2"), "bounced_soft"),
        (sendgrid_event(TOKEN, status="5.7.1"), "failed"),
        (sendgrid_event(TOKEN, status="4.0.0"), "bounced_soft"),
        (sendgrid_event(TOKEN, type="blocked", status="5.7.1"), "bounced_soft"),
        (sendgrid_event(TOKEN, "dropped", reason="Bounced Address"), "bounced_hard"),
        (sendgrid_event(TOKEN, "dropped", reason="Spam Reporting Address"), "complained"),
        (sendgrid_event(TOKEN, "dropped", reason="Unsubscribed Address"), "unsubscribed"),
        (sendgrid_event(TOKEN, "dropped", reason="Spam Content"), "failed"),
        (sendgrid_event(TOKEN, "spamreport"), "complained"),
        (sendgrid_event(TOKEN, "unsubscribe"), "unsubscribed"),
        (sendgrid_event(TOKEN, "group_unsubscribe"), "unsubscribed"),
        (sendgrid_event(TOKEN, "delivered"), "delivered"),
        (sendgrid_event(TOKEN, "deferred"), None),
        (sendgrid_event(TOKEN, "click"), None),
    ],
)
def test_each_event_of_sendgrid_is_what_it_says(event: dict[str, Any], outcome: str | None) -> None:
    assert said(connect("sendgrid"), sendgrid_webhook([event])) == [outcome]


@pytest.mark.parametrize(
    "callback",
    [
        sendgrid_webhook([sendgrid_event(TOKEN)], key=ec.generate_private_key(ec.SECP256R1())),
        sendgrid_webhook([sendgrid_event(TOKEN)], age_seconds=26 * 3_600),
        sendgrid_webhook([sendgrid_event(TOKEN)], age_seconds=-3_600),
        replace(sendgrid_webhook([sendgrid_event(TOKEN)]), body=b"[]"),
        replace(sendgrid_webhook([sendgrid_event(TOKEN)]), headers={}),
    ],
)
def test_a_post_that_sendgrid_did_not_sign_lately_is_forged(callback: Callback) -> None:
    with pytest.raises(ForgedCallbackError):
        connect("sendgrid").read_callback(callback)


def test_the_signature_that_sendgrids_own_package_is_tested_with_is_valid() -> None:
    key = sendgrid.read_key(
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g=="
    )
    headers = {
        "x-twilio-email-event-webhook-signature": (
            "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM="
        ),
        "x-twilio-email-event-webhook-timestamp": "1600112502",
    }
    event = {
        "email": "hello@world.com",
        "event": "dropped",
        "reason": "Bounced Address",
        "sg_event_id": "ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",
        "sg_message_id": "LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",
        "smtp-id": "<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>",
        "timestamp": 1600112492,
    }
    body = json.dumps([event], sort_keys=True, separators=(",", ":")).encode() + b"\r\n"
    at = Instant(1_600_112_502_000)

    assert sendgrid.is_signed(key, headers, body, now=at)
    assert not sendgrid.is_signed(key, headers, body.replace(b"dropped", b"bounced"), now=at)
    assert sendgrid.outcome_of(event) == "bounced_hard"
