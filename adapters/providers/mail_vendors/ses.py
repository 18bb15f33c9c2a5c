"""What does Amazon SES report? Bounces, complaints and deliveries, as notifications of an SNS topic.

A notification has the headers of the e-mail with it, and so our token, where the identity is set to include them or events
are published by a configuration set. The subscription of the topic is confirmed by itself.
https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Annotated, Any

import structlog
from cryptography.hazmat.primitives.asymmetric import rsa
from msgspec import Meta, Struct

from adapters.gateway.bounce_tokens import HEADER
from adapters.gateway.bounces import MailReport
from adapters.providers.mail_vendors import sns
from adapters.providers.mail_vendors.connection import MailVendorConnection, outcome_of_failure, part, read_object
from adapters.providers.ports import (
    Callback,
    ForgedCallbackError,
    HttpAnswer,
    Order,
    ProviderAccount,
    ProviderFailedError,
    ProviderReply,
    ResumeKind,
)
from adapters.providers.smtp.provider import SmtpAccount

OK = 200

CERTIFICATES_MAX = 4
"""Of one topic that are kept: SNS changes its certificate about once a year."""

NO_ADDRESS = frozenset({"General", "NoEmail", "Suppressed", "OnAccountSuppressionList"})
"""Subtypes of a permanent bounce that say that there is no such mailbox, as far as SES knows."""

GONE_FOR_GOOD = frozenset({"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"})
"""No such mailbox or domain (RFC 3463, 7505), also where SES calls a bounce `Transient` because it came later."""

NOT_SPAM = "not-spam"
"""The feedback of a person who took an e-mail out of the spam folder."""

logger = structlog.get_logger(__name__)


class SesAccount(SmtpAccount, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an account; `topic_arn` is the SNS topic that its bounces and complaints are published to."""

    topic_arn: Annotated[str, Meta(pattern=sns.TOPIC_ARN, description="arn:aws:sns:<region>:<account>:<name>")]


class SesProvider:
    """The provider `ses`."""

    name = "ses"
    channels = frozenset({"email"})
    settings: type[Struct] = SesAccount
    secrets = ("password",)
    resume: ResumeKind = "none"
    presses_keys = False

    def connect(self, account: ProviderAccount) -> "SesConnection":
        """Return a connection."""
        return SesConnection(account)


class SesConnection(MailVendorConnection):
    """An account with Amazon SES."""

    name = "ses"

    def __init__(self, account: ProviderAccount) -> None:
        super().__init__(account)
        settings: SesAccount = account.settings
        self._topic_arn = settings.topic_arn
        self._keys: OrderedDict[str, rsa.RSAPublicKey] = OrderedDict()
        """By the URL of their certificates."""

    async def fetch_keys(self, callback: Callback) -> None:
        """Fetch the certificate that a message is signed with, once. Raises `ForgedCallbackError` for another host's."""
        url = self._message(callback)["SigningCertURL"]
        if url in self._keys:
            return
        answer = await self._fetch(url)
        try:
            self._keys[url] = sns.read_certificate(answer.body, now=self._account.now())
        except ValueError as error:
            raise ProviderFailedError(f"SNS: {error}") from error
        while len(self._keys) > CERTIFICATES_MAX:
            self._keys.popitem(last=False)

    async def reply_to(self, callback: Callback, order: Order | None) -> ProviderReply:
        """Confirm the subscription of the topic where SNS asks for it. Raises `ProviderFailedError` or `NotPlacedError`."""
        message = self._message(callback)
        if message["Type"] == "SubscriptionConfirmation":
            url = message.get("SubscribeURL")
            if not sns.is_subscribe_url(url, self._topic_arn):
                raise ProviderFailedError("SNS names no address of its own to confirm the subscription at")
            await self._fetch(str(url))
            logger.info("topic.subscribed", topic_arn=self._topic_arn, configuration_id=self._account.configuration_id)
        return await super().reply_to(callback, order)

    async def _fetch(self, url: str) -> HttpAnswer:
        answer = await self._account.http.send("GET", url, headers={})
        if answer.status != OK:
            raise ProviderFailedError(f"SNS answered {answer.status}")
        return answer

    def _message(self, callback: Callback) -> dict[str, Any]:
        """Return a message about our topic, whose certificate is where it must be. Raises `ForgedCallbackError`."""
        message = read_object(callback.body)
        if message.get("TopicArn") != self._topic_arn or message.get("Type") not in sns.SIGNED:
            raise ForgedCallbackError("this is no message of the topic")
        if not sns.is_certificate_url(message.get("SigningCertURL"), self._topic_arn):
            raise ForgedCallbackError("the certificate is not published by SNS")
        return message

    def _reports(self, callback: Callback) -> Sequence[MailReport]:
        message = self._message(callback)
        key = self._keys.get(message["SigningCertURL"])
        if key is None or not sns.is_signed(key, message):
            raise ForgedCallbackError("the signature is not that of SNS")
        if message["Type"] != "Notification":
            return []
        notification = read_object(str(message.get("Message", "")))
        sent = self._sent(_header(part(notification, "mail"), HEADER))
        if sent is None:
            return []
        outcome, words = read_notification(notification)
        return [self._report(sent, outcome, *words)]


def read_notification(notification: dict[str, Any]) -> tuple[str | None, Sequence[Any]]:
    """Return the outcome of a notification or event, and its words; no outcome for opens, clicks and delays."""
    kind = notification.get("notificationType") or notification.get("eventType")
    match kind:
        case "Bounce":
            return _bounce(part(notification, "bounce"))
        case "Complaint":
            complaint = part(notification, "complaint")
            feedback = complaint.get("complaintFeedbackType") or complaint.get("complaintSubType")
            return (None if feedback == NOT_SPAM else "complained"), (kind, feedback)
        case "Delivery":
            return "delivered", (kind, part(notification, "delivery").get("smtpResponse"))
        case "Reject":
            return "failed", (kind, part(notification, "reject").get("reason"))
    return None, (kind,)


def _bounce(bounced: dict[str, Any]) -> tuple[str | None, Sequence[Any]]:
    """Return the outcome of a bounce of one recipient: our e-mails have one each."""
    recipients = bounced.get("bouncedRecipients")
    recipient = recipients[0] if isinstance(recipients, list) and recipients and isinstance(recipients[0], dict) else {}
    kind, subtype = bounced.get("bounceType"), bounced.get("bounceSubType")
    status, says = str(recipient.get("status") or ""), str(recipient.get("diagnosticCode") or "").partition(";")[2].strip()
    words = (f"{kind} {subtype}", status, says)
    if kind == "Transient" and subtype == "General" and not (status or says or recipient.get("action")):
        return None, words  # the answer of a person on holiday: SES counts it among the bounces
    if kind != "Permanent" and status not in GONE_FOR_GOOD:
        return "bounced_soft", words
    if not status.startswith("5"):
        return ("bounced_hard" if subtype in NO_ADDRESS else "failed"), words
    return outcome_of_failure(is_permanent=True, status=status, says=says), words


def _header(mail: dict[str, Any], name: str) -> str | None:
    """Return a header of the e-mail."""
    headers = mail.get("headers")
    found = (one for one in headers if isinstance(one, dict)) if isinstance(headers, list) else ()
    return next((str(one.get("value")) for one in found if str(one.get("name")).lower() == name.lower()), None)


PROVIDER = SesProvider()
