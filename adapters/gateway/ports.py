"""What does a gateway need from outside? A store of claims, the rules, and one provider per channel.

A provider promises: it returns the outcome of a command, or None where it accepted the command and the outcome comes by
another way (or never: the contact has its own timeout). It raises `NotPlacedError` only if it certainly reached no person.
Its idempotency key is `command.command_id`. What it does before a request (resolve a name, connect, wait for a retry) takes
time: right before the request it calls `leases.check_lease`.
"""

from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Literal, Protocol

from msgspec import Struct

from adapters.gateway.circuit import CircuitReport, Endpoint
from engine.rules import Rules
from schemas.commands import HangUp, PlaceCall, PostWebhook, PressKeys, SendEmail, SendSms
from schemas.envelope import DecisionNumber
from schemas.errors import DependencyError
from schemas.instant import EPOCH, Instant
from schemas.requests import RulesPlace, TranscriptionStatus

Kind = Literal["call", "sms", "email", "webhook"]

ClaimState = Literal["fresh", "taken_over", "held", "recorded", "posted"]
"""What a claim found.

`fresh`       no gateway had claimed the command: it is ours, and committed.
`taken_over`  an earlier claim was left without a record: it is ours now; the earlier claimant may have acted.
`held`        another claimant's lease is running: retry later.
`recorded`    the outcome is recorded (`CommandClaim.outcome`), and its gateway may have ended before posting it.
`posted`      all is done.
"""


class CommandClaim(Struct, frozen=True, kw_only=True):
    """The answer to a claim; `outcome` are the bytes given to `record`, None in every state but `recorded`.

    `work_born_at`, where we have the claim: since when the `work` schema knows what was carried out.
    """

    state: ClaimState
    outcome: bytes | None = None
    work_born_at: Instant = EPOCH


class LeaseLostError(DependencyError):
    """Another gateway may have taken the claim over: its command is not given to a provider."""


class SavedProgress(Struct, frozen=True):
    """How far a commands partition is done: every command before `offset` is.

    `newest` is the highest number of a decision that emitted one of them. `refused` counts those that were decided below one
    before them, since the present epoch began.
    """

    offset: int = 0
    newest: DecisionNumber = DecisionNumber()
    refused: int = 0


class Deliveries(Protocol):
    """Stores in the `work` schema which commands were claimed. Every method raises `StoreError` and nothing else.

    Leases run on the database's own clock (wall time), so that two gateways agree about them.
    """

    async def renew_incarnation(self, newest: Instant) -> bool:
        """Begin a new incarnation now, if the present one is not younger than an instant; return whether it did.

        Commands that were decided before an incarnation may have been carried out already.
        """
        ...

    async def claim(
        self,
        command_id: str,
        *,
        company_id: int,
        kind: Kind,
        claimant: str,
        claim_id: str,
        claimed_at: Instant,
        lease_seconds: float,
    ) -> CommandClaim:
        """Claim a command in one committed statement; of two attempts never both get it, unless a lease ran out between.

        `claim_id` names this attempt, and so the generation of the claim: repeated because the answer was lost, it gets
        the same answer. A claim that an earlier attempt of the same claimant left without a record is `taken_over` at once.
        """
        ...

    async def renew(self, claims: Mapping[str, str], *, claimant: str, lease_seconds: float) -> AbstractSet[str]:
        """Renew claims (command -> claim id) for `lease_seconds` from now (0: release them).

        Returns the commands that are still claimed by that claimant, under that id, and not posted yet.
        """
        ...

    async def record(self, command_id: str, *, claimant: str, claim_id: str, outcome: bytes, recorded_at: Instant) -> bool:
        """Record the outcome of a command; False, with nothing changed, where the claim is no longer this one.

        `outcome` is the JSON of an `OutcomeRecorded`, or empty where there is nothing to post. May be repeated.
        """
        ...

    async def release(self, command_id: str, *, claimant: str, claim_id: str) -> None:
        """Release a claim under which no provider was called: delete a fresh one, give up another."""
        ...

    async def mark_posted(self, command_id: str, *, posted_at: Instant) -> None:
        """Note that the recorded outcome is on `contacts.requests`."""
        ...

    async def progress(self, topic: str, topic_id: str, partition: int) -> SavedProgress | None:
        """Return how far a partition is done, or None where nothing was saved for this topic id."""
        ...

    async def save_progress(self, topic: str, topic_id: str, partition: int, saved: SavedProgress) -> None:
        """Save how far a partition is done; an offset below the saved one changes nothing."""
        ...


class GatewayRegistry(Protocol):
    """Publishes to the deployment which channels are served. Every method raises `StoreError` and nothing else.

    No contract suite: one adapter (`adapters.postgres.gateways.PostgresGateways`), tested in
    tests/adapters/http/test_unserved.py on a real database.
    """

    async def renew(
        self,
        process: str,
        providers: Mapping[Kind, str],
        circuits: Mapping[Kind, CircuitReport] | None = None,
        rules_read: Mapping[int, int] | None = None,
    ) -> Instant:
        """Register that a process serves these channels by these providers; renewed every few seconds.

        `circuits` are those that are not closed, in the place of what was reported before; `rules_read` says up to where the
        process obeys the rules (partition of `accounts.rules` -> sequence). Return the database's time (wall time).
        """
        ...

    async def stop(self, process: str) -> None:
        """Remove the registration of a process."""
        ...


class RulesReader(Protocol):
    """The account records, as far as this process has read them.

    No contract suite: one adapter (`adapters.partitions.feed.RulesTopic`), tested in tests/adapters/partitions/test_feed.py.
    """

    @property
    def rules(self) -> Rules:
        """Return the fold of `accounts.rules`."""
        ...

    async def refresh(self) -> None:
        """Read `accounts.rules` to its current end. Raises `LogError`."""
        ...


class CallProgress(Struct, frozen=True, kw_only=True):
    """A call in progress has changed its state.

    `buyer_id`, with `established`, is the one of several buyers (`PlaceCall.buyer_legs`) that answered.
    """

    state: Literal["initiated", "ringing", "established", "on-hold", "resumed"]
    provider_ref: str | None = None
    buyer_id: int | None = None
    provider: str | None = None


Report = Callable[[CallProgress], Awaitable[None]]


class PersonCallsBack(Struct, frozen=True, kw_only=True):
    """A person calls back the number that called them: so many seconds later; it rings for so long, and then they talk."""

    after_seconds: float
    rings_seconds: float
    talks_seconds: int


class DeliveryResult(Struct, frozen=True, kw_only=True):
    """The outcome of a command: `outcome` is one of `schemas.outcomes` for its channel; `detail` is the provider's own word.

    `agent_id` is who spoke for us, `provider_configuration_id` the account or trunk that carried it, if known.
    `hung_up_by` is caller (the person), buyer or us; `cost` is what the provider charges, in the company's currency.
    `buyer_id` is the one of several buyers that answered: it goes with `connected_buyer`. `allows` is what a veto hook said.
    `hold` is where the hold is recorded for which a command was returned (`held`).
    `reply` is what the person wrote back at once, and `calls_back` that they ring us, where a carrier plays the person as
    well (sandbox.md).
    """

    outcome: str
    provider_ref: str | None = None
    rang: bool = True
    answered_by: Literal["human", "machine", "unknown"] | None = None
    ringing_at: Instant | None = None
    answered_at: Instant | None = None
    buyer_answered_at: Instant | None = None
    talk_seconds: int = 0
    hung_up_by: Literal["caller", "buyer", "us"] | None = None
    hangup_cause: str | None = None
    cost: Decimal | None = None
    recording_url: str | None = None
    detail: str | None = None
    agent_id: int | None = None
    provider_configuration_id: int | None = None
    transcription_status: TranscriptionStatus | None = None
    reply: str | None = None
    calls_back: PersonCallsBack | None = None
    buyer_id: int | None = None
    allows: bool | None = None
    hold: RulesPlace | None = None
    provider: str | None = None
    """Who carried it out, where that is not the channel's own provider."""


class NotPlacedError(DependencyError):
    """The provider certainly did nothing with the command; `str(error)` says why."""


class UnwrittenOrderError(DependencyError):
    """The order could not be written down, so no provider was asked: the command is claimed again."""


class MailError(DependencyError):
    """The mail server did not take an e-mail of the deployment's own."""


class VoiceProvider(Protocol):
    """Places calls. Contract: tests/adapters/gateway/voice_contract.py."""

    name: str

    async def place(self, command: PlaceCall, report: Report) -> DeliveryResult | None:
        """Call, connect, and return when the call has ended; every step on the way is reported.

        Of `buyer_legs` all are rung at once. The first that answers gets the call, the others are ended.
        """
        ...

    async def press(self, command: PressKeys) -> bool:
        """Press keys on a call that this provider placed; False where that call has ended."""
        ...

    async def hang_up(self, command: HangUp) -> bool:
        """End a call that this provider placed; False where it has ended. `place` returns the outcome.

        With `only_unanswered` it is False as well where the person has answered, or nobody can tell.
        """
        ...


class SandboxOrders(Protocol):
    """What was given to the sandbox, and when: it outlives the gateway that gave it. Each raises `StoreError`."""

    async def begin(self, command_id: str, given_at: Instant, claim_id: str | None) -> bool:
        """Note that an order is given; one that is noted again keeps its instant.

        False, with nothing noted, where the command is no longer claimed under `claim_id`; None asks for no claim.
        """
        ...

    async def find(self, command_id: str) -> Instant | None:
        """Return when an order was given, None for one that never was."""
        ...


class SmsProvider(Protocol):
    """Sends texts. Contract: tests/adapters/gateway/sms_contract.py."""

    name: str

    async def send(self, command: SendSms) -> DeliveryResult | None:
        """Send a text and return once its outcome is known."""
        ...


class EmailProvider(Protocol):
    """Sends e-mails; the same command sent again carries the same Message-ID. Contract: email_contract.py."""

    name: str

    async def send(self, command: SendEmail) -> DeliveryResult | None:
        """Send an e-mail and return what the next server said."""
        ...


class WebhookAttempt(Struct, frozen=True, kw_only=True):
    """One attempt to post a webhook: where to, when and for how long, and what was answered, without secrets.

    `number` counts the attempts since a gateway last took the command. `status` is None where there was no answer.
    """

    command: PostWebhook
    number: int
    at: Instant
    milliseconds: int
    method: str
    host: str
    status: int | None
    is_accepted: bool
    detail: str


class WebhookLog(Protocol):
    """Where attempts to post webhooks are written down.

    No contract suite: one adapter (`adapters.postgres.webhook_logs.PostgresWebhookLog`), tested on a real database.
    """

    async def add(self, attempt: WebhookAttempt) -> None:
        """Write an attempt down. Raises `StoreError`."""
        ...


class WebhookSender(Protocol):
    """Posts webhooks; the same command posted again carries the same `webhook-id`. Contract: webhook_contract.py."""

    name: str

    def endpoint_of(self, command: PostWebhook) -> Endpoint:
        """Return where a command goes; `post` reports each attempt to it."""
        ...

    def report_circuits(self) -> CircuitReport:
        """Return which endpoints are spared now."""
        ...

    async def post(self, command: PostWebhook) -> DeliveryResult | None:
        """Post the payload, signed, and return whether the receiver took it."""
        ...
