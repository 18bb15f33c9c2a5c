"""What does a company manage? Its account records: one struct per type; schedulers and intake read every version.

A record is an envelope (`Record`) around a body of its type. It holds no secrets: an API key has the hash of its private
half, a user that of a password; a webhook's signing secret and a user's second factor are derived from the deployment's own
key where they are needed; a provider's secrets are encrypted with that key before anything is appended.
"""

from decimal import Decimal
from typing import Any, Literal

import msgspec
from msgspec import Struct

from schemas.instant import Instant
from schemas.law import HolidaySet, Purpose, RuleRow, Sector
from schemas.schedule import (
    OnConversion,
    OnInboundConnected,
    OnReply,
    OptOutScope,
    Pause,
    RouteBy,
    Step,
    Trigger,
    UnknownZone,
    Window,
    WindowMiss,
)
from schemas.wire import Entity, from_builtins

RecordType = Literal[
    "company",
    "offer",
    "schedule",
    "buyer",
    "buyer_group",
    "traffic_source",
    "number",
    "outgoing_webhook",
    "api_key",
    "call_disposition",
    "action_group",
    "rule_pack",
    "buyer_fleet",
    "unblock_contact_job",
    "access_control_list",
    "call_center",
    "agent_status",
    "agent",
    "agent_message",
    "subscription",
    "user",
    "provider_configuration",
    "suppression_list",
    "holiday",
    "contact_field_type",
    "ring_pool",
    "contact_hold",
]


class Body(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of one record type; fields of a later version are ignored by an earlier one.

    An `external_record_id` is the record's id in a system of the company's; one record of a type has it.
    """


RECORDING_RETENTION_DAYS = 90
"""Of a company that says nothing else: as long as dead letters and the send log, which a complaint about a call needs."""


InboundPause = Literal["pause", "keep"]
"""What a pause does with inbound calls."""

PublicActions = Literal["token", "link"]
"""What proves that somebody without a key may remove a lead or move it to its end."""

PUBLIC_CONTACTS_DEFAULT = 3
PUBLIC_CONTACTS_MAX = 100
"""Contacts a day for leads of one person that anybody may make: the contact's head holds an instant of each."""


class Company(Body, frozen=True, kw_only=True):
    """A tenant: every other record, lead and call belongs to exactly one.

    `optout_confirmation` is the one text that answers an opt-out by text. 47 CFR 64.1200(a)(12) presumes consent to it
    for five minutes and requires none. Where it is None, nothing is sent after an opt-out. `help_answer` answers the word
    HELP;
    where it is None, the answer has the name and the number of the company.

    `optout_scope` is what an opt-out reaches: the whole company, the offer that it was said about, or the channel that it
    was said on. Where offer or channel are not known, it reaches the company.

    Without `allow_auth_token` keys are taken in the Authorization header alone, not as the field `auth_token`.

    `unknown_parameters` says what is done about a request that names a parameter which its operation does not know: a
    mistyped filter that is ignored gives away every row.

    Who is on one of its suppression lists is not contacted for any lead.

    `wrap_up_seconds` after a call an agent is available again; None: once the agent says so.

    For `callback_grace_minutes` only the owner of a callback makes it, then for `callback_team_grace_minutes` only their
    team, where its request does not say otherwise.

    `recording_retention_days` after a recording was made, it is deleted.

    `sign_in_issuer` is the OpenID Connect issuer by which users may sign in, as its client `sign_in_client_id`. The secret
    of that client is encrypted with the deployment's key. `sign_in_name` is what the button says, else the issuer's host.
    With a `sign_in_email_domain` the issuer must vouch for an e-mail address there. With `sign_in_required` superusers alone
    sign in with passwords.

    A day's first lead of a person that comes without a key follows its schedule; all further ones of the day have
    `public_contacts` calls, texts and e-mails together.

    `dial_countries` are the countries whose numbers are dialled, where an offer names none (none: every one; a new company
    has its own). `unreviewed_countries` says what is done about telemarketing where the rule pack has no rows: `floor` keeps
    its hours of every country, `hold` waits.

    `on_invalid`: `warn` stores a submission without an optional field that is wrong, `refuse` refuses the submission.

    `inbound` says whether a pause keeps inbound calls from buyers and agents too (`pause`), or not (`keep`).

    With `confirm_links` a browser that follows an opt-out link gets a page with a button, which opts the person out.

    `public_actions` says what proves, without a key, that somebody may remove a lead or move it to its end: its lead token
    (`token`), or the sealed link of an e-mail alone (`link`).
    """

    name: str
    time_zone: str = "UTC"
    country: str = "US"
    paused: bool = False
    optout_confirmation: str | None = None
    help_answer: str | None = None
    optout_scope: OptOutScope = "company"
    allow_auth_token: bool = True
    unknown_parameters: Literal["refuse", "ignore"] = "refuse"
    suppression_list_ids: tuple[int, ...] = ()
    wrap_up_seconds: int | None = None
    callback_grace_minutes: int = 15
    callback_team_grace_minutes: int = 15
    recording_retention_days: int = RECORDING_RETENTION_DAYS
    sign_in_issuer: str | None = None
    sign_in_client_id: str | None = None
    sealed_sign_in_secret: str | None = None
    sign_in_name: str | None = None
    sign_in_email_domain: str | None = None
    sign_in_required: bool = False
    public_contacts: int = PUBLIC_CONTACTS_DEFAULT
    dial_countries: tuple[str, ...] = ()
    unreviewed_countries: Literal["floor", "hold"] = "floor"
    on_invalid: Literal["refuse", "warn"] = "refuse"
    confirm_links: bool = False
    public_actions: PublicActions = "token"
    inbound: InboundPause = "pause"


class Offer(Body, frozen=True, kw_only=True):
    """What is being sold; leads sent to its token wait for an inbound call.

    `no_buyer_action` says what a gateway does with an inbound call that no buyer or agent of the offer takes, `inbound`
    whether a pause keeps inbound calls from them too, `route_by_type` how its buyers of one tier compete. With `agent_ids`
    or `call_center_ids` its calls are for agents of the company, in the place of buyers. Who is on one of its suppression
    lists is not contacted for its leads.

    Of submissions without a key: `public_parameters` are steering fields that act on the lead that they make,
    `public_updates` are fields that they may fill where a stored lead has them blank, `dial_countries` are the countries
    whose numbers are dialled for it (none: the company's; without a key the offer's own too, for one of +1 all of +1).
    `consent_text` and `consent_url` are the words of its forms, or where they are: what each of its leads consented to.
    `public_actions` is that of its leads (none: the company's). `sealed_signing_secret` signs forms with its lead token,
    encrypted with the deployment's key.
    `sector` is what it sells, as far as a law asks: some are barred from calling, or need consent first (none: not known).
    """

    name: str
    lead_token: str
    time_zone: str = "UTC"
    country: str = "US"
    paused: bool = False
    hours_to_expire: int | None = None
    require_auth: bool = False
    description: str | None = None
    buyer_group_ids: tuple[int, ...] = ()
    buyer_ids: tuple[int, ...] = ()
    external_record_id: str | None = None
    no_buyer_action: Literal["voicemail", "message", "callback", "hang_up"] = "voicemail"
    no_buyer_message: str | None = None
    route_by_type: RouteBy = "tier"
    suppression_list_ids: tuple[int, ...] = ()
    agent_ids: tuple[int, ...] = ()
    call_center_ids: tuple[int, ...] = ()
    public_parameters: tuple[str, ...] = ()
    public_updates: tuple[str, ...] = ()
    dial_countries: tuple[str, ...] = ()
    consent_text: str | None = None
    consent_url: str | None = None
    public_actions: PublicActions | None = None
    sealed_signing_secret: str | None = None
    sector: Sector | None = None
    inbound: InboundPause = "pause"


class LeadMap(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where in the posts of one sender the fields of a lead are: field or token -> path.

    `idempotency_key` is the path of the sender's own id of a post, `is_test` that of what says that nobody is meant.
    """

    fields: dict[str, str]
    idempotency_key: str | None = None
    is_test: str | None = None


class Schedule(Body, frozen=True, kw_only=True):
    """Timed actions for a lead; each update is a new version, leads on it keep the version they entered.

    `purpose` chooses the legal limits. `min_spacing` (keys call, sms, email, any) is kept between contacts to one number,
    `jitter_seconds` spreads what follows the first contact; both are off by default. `unknown_zone` says what is done about
    a telephone whose place nothing tells. With `real_time_priority` a first call goes before those of other schedules;
    `priority_aging` is taken off the priority of a call for every hour that it waits for a line.
    `migrate` is said of one version: leads on earlier ones go over to it, at the step of the same id.

    `draft_fields` wait for the next publishing; `unpublished` is a schedule that was never published: no token finds it.
    `end_steps_may_contact` lets the end steps call and text a lead that has expired. Its suppression lists are those of its
    present version, for leads on any. `sealed_signing_secret` signs forms with its lead token, encrypted with the
    deployment's key. `lead_map` reads the posts with its lead token.
    """

    name: str
    lead_token: str
    offer_id: int | None = None
    description: str | None = None
    paused: bool = False
    require_auth: bool = False
    duplicate_policy: Literal["update", "create", "reject", "restart"] = "update"
    time_zone: str = "UTC"
    hours_to_expire: int | None = None
    max_contact_attempts: int | None = None
    close_margin_seconds: int = 0
    on_conversion: Literal["exit", "continue"] | OnConversion = "exit"
    end_steps_may_contact: bool = False
    on_reply: OnReply = OnReply()
    on_inbound_connected: OnInboundConnected = OnInboundConnected()
    purpose: Purpose = "telemarketing"
    min_spacing: dict[str, str] = {}
    jitter_seconds: int = 0
    window_miss: WindowMiss = "next_open"
    pauses: tuple[Pause, ...] = ()
    unknown_zone: UnknownZone = "intersect"
    real_time_priority: bool = False
    priority_aging: float = 0.0
    migrate: Literal["none", "by_step_id"] = "none"
    draft_fields: dict[str, Any] = {}
    unpublished: bool = False
    published_at: Instant | None = None
    windows: dict[str, tuple[Window, ...]] = {}
    steps: tuple[Step, ...] = ()
    end_steps: tuple[Step, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    external_record_id: str | None = None
    suppression_list_ids: tuple[int, ...] = ()
    sealed_signing_secret: str | None = None
    lead_map: LeadMap | None = None


class Buyer(Body, frozen=True, kw_only=True):
    """Who takes the calls: an E.164 number or a sip: address; within `business_hours` in its zone, where it has any.

    `caps` and `total_caps_reset_at` are as those of a `BuyerGroup`. `buyer_fleet_ids` are the fleets that it belongs to.
    It takes calls of those leads alone for which all its `filters` hold. A pause ends by itself at `unpause_at`.
    `dtmf_tones` are sent to its telephone as soon as it answers. `bid_price` is what it pays for a call, by which calls are
    routed where `route_by_type` is `revenue`. Between two of its calls lie `spacing_seconds` at least. It takes no call of a
    person on one of its suppression lists.
    """

    name: str
    number: str
    user_buyer_id: str | None = None
    timeout_seconds: int = 30
    time_zone: str = "UTC"
    paused: bool = False
    tier: int = 1
    weight: int = 1
    concurrency_cap_limit: int | None = None
    business_hours: tuple[Window, ...] = ()
    external_record_id: str | None = None
    caps: dict[str, Decimal] = {}
    total_caps_reset_at: Instant | None = None
    buyer_fleet_ids: tuple[int, ...] = ()
    filters: tuple[str, ...] = ()
    unpause_at: Instant | None = None
    dtmf_tones: str | None = None
    bid_price: Decimal | None = None
    spacing_seconds: int = 0
    suppression_list_ids: tuple[int, ...] = ()


class BuyerGroup(Body, frozen=True, kw_only=True):
    """Buyers who are dialled together; `concurrency_cap_limit` None means no cap, 0 means closed.

    `caps` holds the limits of the metrics and periods of the interface (`attempt_hourly` to `revenue_total`); what is used
    of the total ones is counted from `total_caps_reset_at` on. Calls go to it within its `business_hours` and the buyer's.
    A pause ends by itself at `unpause_at`. Between two calls to it lie `spacing_seconds` at least.
    """

    name: str
    buyer_ids: tuple[int, ...] = ()
    dial_buyers_type: Literal["sequentially", "simultaneously"] = "sequentially"
    concurrency_cap_limit: int | None = None
    caps: dict[str, Decimal] = {}
    weight: int = 1
    tier: int = 1
    time_zone: str = "UTC"
    paused: bool = False
    paused_at: Instant | None = None
    unpaused_at: Instant | None = None
    paused_by_user_id: int | None = None
    total_caps_reset_at: Instant | None = None
    business_hours: tuple[Window, ...] = ()
    description: str | None = None
    external_record_id: str | None = None
    unpause_at: Instant | None = None
    spacing_seconds: int = 0


class BuyerFleet(Body, frozen=True, kw_only=True):
    """A label of buyers, which say themselves that they belong to it; filters name it as `fleet:<user_fleet_id>`."""

    name: str
    description: str | None = None
    user_fleet_id: str
    external_record_id: str | None = None


class TrafficSource(Body, frozen=True, kw_only=True):
    """Who sends the leads; its caps are on connections, on conversions of the offer, and on calls at the same time.

    `consent_text` and `consent_url` are as those of an offer, for the leads that it sends; they come before the offer's.
    `lead_map` reads the posts that name it.
    """

    name: str
    user_traffic_source_id: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    company_name: str | None = None
    paused: bool = False
    external_record_id: str | None = None
    time_zone: str = "UTC"
    concurrency_cap_limit: int | None = None
    caps: dict[str, Decimal] = {}
    total_caps_reset_at: Instant | None = None
    consent_text: str | None = None
    consent_url: str | None = None
    lead_map: LeadMap | None = None


class Number(Body, frozen=True, kw_only=True):
    """A telephone number of the company's own, to call and text from.

    Its caps are on the calls that are placed from it, and on how many of them there are at the same time. `inbound` says
    whether a pause keeps calls to it from buyers and agents too.
    """

    number: str
    offer_id: int | None = None
    voice: bool = True
    sms: bool = True
    paused: bool = False
    external_record_id: str | None = None
    time_zone: str = "UTC"
    concurrency_cap_limit: int | None = None
    caps: dict[str, Decimal] = {}
    total_caps_reset_at: Instant | None = None
    inbound: InboundPause = "pause"


class OutgoingWebhook(Body, frozen=True, kw_only=True):
    """Where a webhook step posts to; the signing secret is derived from the deployment's key and `secret_generation`."""

    name: str
    url: str
    method: Literal["POST", "PUT"] = "POST"
    headers: dict[str, str] = {}
    body_template: str | None = None
    secret_generation: int = 1
    paused: bool = False
    external_record_id: str | None = None


class ApiKey(Body, frozen=True, kw_only=True):
    """Credentials for HTTP Basic: only the SHA-256 of the private key is ever stored.

    With a `user_email` the key acts for that person: the person's teams limit what it may do. With `origins`, pages of these
    origins may post impressions with the public half alone, which everybody can read there.
    """

    name: str
    public_key: str
    private_key_sha256: str
    scopes: tuple[str, ...] = ("*",)
    ip_allow_list: tuple[str, ...] = ()
    expires_at: Instant | None = None
    revoked_at: Instant | None = None
    user_email: str | None = None
    origins: tuple[str, ...] = ()


class Permission(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a team may do with records of one model; `scope` are the ids of the records that it may do it with.

    `fields`: columns that its members do not see (`none`), or see and do not change (`read`).
    """

    actions: tuple[str, ...]
    scope: tuple[int, ...] | Literal["all"] = "all"
    fields: dict[str, Literal["none", "read"]] = {}


class TokenFilter(Struct, frozen=True):
    """A token that a lead or call must have, with this value."""

    key: str
    value: str


class LeadFilters(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which leads and calls a team sees: those that fit every list that is not empty."""

    offer_ids: tuple[int, ...] = ()
    schedule_ids: tuple[int, ...] = ()
    buyer_ids: tuple[int, ...] = ()
    traffic_source_ids: tuple[int, ...] = ()
    token_filters: tuple[TokenFilter, ...] = ()


class AccessControlList(Body, frozen=True, kw_only=True):
    """A team: what its members, known by their e-mail addresses, may do. A superuser may do everything.

    Without `lead_filters` its members see all leads and calls.
    """

    name: str
    users_emails: tuple[str, ...] = ()
    superuser: bool = False
    permissions: dict[str, Permission] = {}
    lead_filters: LeadFilters | None = None
    external_record_id: str | None = None


class CallDisposition(Body, frozen=True, kw_only=True):
    """How an agent judges a call; its fields say how the lead goes on.

    `is_refusal`, as the category `final_negative`: the person has refused the offer, after which some laws have a pause.
    `retry_delay_seconds` tries the same step again, `retry_max` times (once where left out); `is_final` ends the lead. The
    steps of the action group are done at once, as far as they reach nobody and wait for nothing.
    """

    name: str
    code: str | None = None
    sortable_order: int | None = None
    system: bool = False
    category: Literal["contact", "no_contact", "final_positive", "final_negative", "dnc", "callback", "wrong_number"] = (
        "contact"
    )
    is_final: bool = False
    counts_as_contact: bool = True
    retry_delay_seconds: int | None = None
    retry_max: int | None = None
    action_group_id: int | None = None
    sets_opt_out: bool = False
    sets_suppression: bool = False
    is_refusal: bool = False
    requires_callback_time: bool = False
    external_record_id: str | None = None


class RulePack(Body, frozen=True, kw_only=True):
    """Rules of the company's own beside the shipped ones: hours, caps and holidays of its counsel's, or of a state's.

    Rows add to the limits; only one with `override` and a reason takes the place of the shipped row of its id.
    """

    name: str
    description: str | None = None
    rules: tuple[RuleRow, ...] = ()
    holiday_sets: tuple[HolidaySet, ...] = ()
    external_record_id: str | None = None


class ActionGroup(Body, frozen=True, kw_only=True):
    """Named steps that schedules include; a schedule keeps the steps that it was published with."""

    name: str
    description: str | None = None
    steps: tuple[Step, ...] = ()
    external_record_id: str | None = None


class UnblockContactJob(Body, frozen=True, kw_only=True):
    """A request to lift the blocks that a company set within a span of time; it is made once and never changed.

    Bounds include their lower and exclude their upper instant; blocks set after the job was made stay. Without bounds
    `confirm_all` must be true. `request_ip` and `last_contact_id` are what the sender says; nothing is decided by them.
    `contact_partitions` sweep for it, as many as there were when it was made.
    """

    description: str | None = None
    blocked_at_from: Instant | None = None
    blocked_at_to: Instant | None = None
    confirm_all: bool = False
    request_ip: str | None = None
    last_contact_id: str | None = None
    user_id: int | None = None
    contact_partitions: int | None = None


class CallCenter(Body, frozen=True, kw_only=True):
    """Where agents work: a place, or a part of the company; messages can be for it."""

    name: str
    description: str | None = None
    external_record_id: str | None = None


AgentStatusKey = Literal["offline", "available", "on_call", "wrap_up", "break", "lunch", "training", "meeting"]


class AgentStatus(Body, frozen=True, kw_only=True):
    """What an agent does now; `key` says it to programs, `name` to people."""

    name: str
    key: AgentStatusKey
    sortable_order: int | None = None
    external_record_id: str | None = None


class Agent(Body, frozen=True, kw_only=True):
    """Somebody who talks to leads, for buyers or in a call center; keys with the `user_email` act for the agent."""

    name: str
    user_email: str | None = None
    call_center_id: int | None = None
    buyer_ids: tuple[int, ...] = ()
    external_record_id: str | None = None
    number: str | None = None


class AgentMessage(Body, frozen=True, kw_only=True):
    """A text for agents: those of its buyers, groups and call centers, or all; in a status, or in any."""

    content: str
    agent_status_id: int | None = None
    buyer_ids: tuple[int, ...] = ()
    buyer_group_ids: tuple[int, ...] = ()
    call_center_ids: tuple[int, ...] = ()
    user_id: int | None = None


class TriggerFields(Body, frozen=True, kw_only=True):
    """Values that the call, else the lead, of an event must have; what is null is not compared."""

    offer_id: int | None = None
    schedule_id: int | None = None
    traffic_source_id: int | None = None
    buyer_id: int | None = None
    number_id: int | None = None
    buyer_converted: bool | None = None
    offer_converted: bool | None = None


class Subscription(Body, frozen=True, kw_only=True):
    """Which events are posted to another system, and where; signed with a key that is derived as that of a webhook.

    For a day after `secret_rotated_at` events are signed with the secret before, too.

    With a hook among its `events`, it is asked before each call or text of a step, and has `timeout_seconds` for its answer.
    `on_error` says what holds where it does not answer. With `suppression_lookup` it is asked who is on the suppression list
    `suppression_list_id`; without an answer nobody is contacted for whom that list holds.
    """

    name: str
    url: str
    events: tuple[str, ...]
    trigger_fields: TriggerFields = TriggerFields()
    secret_generation: int = 1
    secret_rotated_at: Instant | None = None
    paused: bool = False
    external_record_id: str | None = None
    on_error: Literal["deny", "allow"] = "deny"
    timeout_seconds: int = 2
    suppression_list_id: int | None = None


UserState = Literal["invited", "active", "disabled"]


class User(Body, frozen=True, kw_only=True):
    """Somebody who signs in; teams and keys know the person by the `email`, in lower case.

    `password_hash` is argon2id's. The seed of the second factor is derived from the deployment's own key and
    `second_factor_salt`; there is none where that is None. Without a `time_zone` the company's counts. The token of an open
    invitation is good until `invitation_expires_at`, once; only its hash is stored.

    `identity_sha256` is a digest of the issuer, `identity_issuer`, and of the subject by which it knows the person.
    """

    name: str
    email: str
    state: UserState = "invited"
    time_zone: str | None = None
    external_record_id: str | None = None
    password_hash: str | None = None
    second_factor_salt: str | None = None
    invitation_sha256: str | None = None
    invitation_expires_at: Instant | None = None
    identity_issuer: str | None = None
    identity_sha256: str | None = None


ProviderChannel = Literal["call", "sms", "email"]


class ProviderConfiguration(Body, frozen=True, kw_only=True):
    """An account with a provider, which reaches people for the company on one channel.

    `settings` are those of the provider's kind. `sealed_secrets` are encrypted with the deployment's key; a change sets the
    named ones, and null removes one. It is used for commands from its `number_ids`; without any, for all. Of several the
    one with the lowest `fallback_order` is asked first. A new `callback_generation` ends the callback URL before.
    """

    name: str
    channel: ProviderChannel
    provider: str
    settings: dict[str, Any] = {}
    sealed_secrets: dict[str, str] = {}
    number_ids: tuple[int, ...] = ()
    fallback_order: int = 100
    callback_generation: int = 1
    paused: bool = False
    external_record_id: str | None = None


class SuppressionList(Body, frozen=True, kw_only=True):
    """People who are not contacted for the company, the offers and the schedules, or by the buyers, that name the list.

    Who is on it, is a fact of each contact; the list itself is but the name.
    """

    name: str
    description: str | None = None
    external_record_id: str | None = None


class Holiday(Body, frozen=True, kw_only=True):
    """Dates on which nobody is contacted by the company's schedules, or by those named, in the zones of the person.

    `last_date` None: one date. A promised call is no contact of a schedule: it is made, as the law allows.
    """

    name: str
    first_date: str
    last_date: str | None = None
    schedule_ids: tuple[int, ...] = ()
    external_record_id: str | None = None


ContactFieldKind = Literal["text", "number", "date", "boolean", "choice"]


class ContactField(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A token that an agent fills in: what people call it, and which values it takes; `options` are those of a choice."""

    key: str
    label: str | None = None
    kind: ContactFieldKind = "text"
    options: tuple[str, ...] = ()


class ContactFieldType(Body, frozen=True, kw_only=True):
    """What agents say to a person, and what they ask: a script, and the fields that they fill in.

    It holds for the leads and calls whose `contact_field_type` is its id.
    """

    name: str
    script: str | None = None
    fields: tuple[ContactField, ...] = ()
    external_record_id: str | None = None


class RingPool(Body, frozen=True, kw_only=True):
    """Numbers that are shown to visitors of pages: to each one of their own, so that a call says which visitor makes it.

    A number is held for a visitor for `hold_seconds` from the latest impression that asked for one, and goes to no other
    visitor for `grace_seconds` more. Where all are held, `default_number_id` is shown, or none where that is None. A number
    belongs to one pool.
    """

    name: str
    number_ids: tuple[int, ...] = ()
    hold_seconds: int = 1_800
    grace_seconds: int = 300
    default_number_id: int | None = None
    description: str | None = None
    external_record_id: str | None = None


HeldChannel = Literal["call", "sms", "email", "webhook"]


class ContactHold(Body, frozen=True, kw_only=True):
    """While it is there, gateways give nothing of these channels to a provider; it is made once, and deleted to release it.

    Without `channels` it holds calls, texts and e-mails. Of webhooks the steps wait; those that were emitted are posted.
    With `hang_up` calls under way end as well. That of company 0 holds every company, those made meanwhile included.
    `request_id` is that of the request that made it, by which its sender finds it.
    """

    reason: str
    channels: tuple[HeldChannel, ...] = ()
    hang_up: bool = False
    user_id: int | None = None
    request_id: str | None = None

    def covers(self, channel: str) -> bool:
        """Return whether nothing of a channel may go out."""
        return channel in (self.channels or HELD_BY_DEFAULT)


HELD_BY_DEFAULT = ("call", "sms", "email")
"""Webhooks reach no person: they are held where they are named."""

EVERY_COMPANY = 0
"""The id of no company: its holds are those of the deployment."""

RECORD_BODIES: dict[str, type[Body]] = {
    "company": Company,
    "offer": Offer,
    "schedule": Schedule,
    "buyer": Buyer,
    "buyer_group": BuyerGroup,
    "traffic_source": TrafficSource,
    "number": Number,
    "outgoing_webhook": OutgoingWebhook,
    "api_key": ApiKey,
    "call_disposition": CallDisposition,
    "action_group": ActionGroup,
    "rule_pack": RulePack,
    "buyer_fleet": BuyerFleet,
    "unblock_contact_job": UnblockContactJob,
    "access_control_list": AccessControlList,
    "call_center": CallCenter,
    "agent_status": AgentStatus,
    "agent": Agent,
    "agent_message": AgentMessage,
    "subscription": Subscription,
    "user": User,
    "provider_configuration": ProviderConfiguration,
    "suppression_list": SuppressionList,
    "holiday": Holiday,
    "contact_field_type": ContactFieldType,
    "ring_pool": RingPool,
    "contact_hold": ContactHold,
}


CAPPED_TYPES = frozenset({"buyer", "buyer_group", "traffic_source", "number"})
"""Types of records that may have caps, with the time zone of their periods."""


class Record(Entity, kw_only=True):
    """One version of one record. `sequence` is the account decision that made it; a deleted one keeps its last body.

    `body` holds the fields as plain values, so that a record reads the same in JSON and in MessagePack; `body_of` gives the
    struct of its type. `wake_at` is when its account changes it by itself: when its pause ends.
    """

    type: str
    id: int
    uuid: str
    company_id: int
    version: int
    sequence: int = 0
    created_at: Instant
    updated_at: Instant
    user_updated_at: Instant | None = None
    deleted_at: Instant | None = None
    body: dict[str, Any]
    wake_at: Instant | None = None


def body_of(record: Record) -> Body:
    """Return the fields of a record as the struct of its type. Raises `msgspec.ValidationError` where they are none."""
    return from_builtins(record.body, RECORD_BODIES[record.type])


def plain(body: Body) -> dict[str, Any]:
    """Return a body as it stands in `Record.body`: plain values, defaults left out."""
    fields: dict[str, Any] = msgspec.to_builtins(body, builtin_types=(Decimal,))
    return {name: _plain_numbers(value) for name, value in fields.items()}


def _plain_numbers(value: Any) -> Any:
    """Return prices and caps as numbers of JSON, from whose digits they are read again: nothing is added to them."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return {name: _plain_numbers(part) for name, part in value.items()} if isinstance(value, dict) else value


def rules_key(record: Record) -> str:
    """Return the key of a record version on `accounts.rules`: no version replaces another."""
    return f"{record.type}/{record.id}@{record.version}"


def ring_pool_numbers(pool: RingPool) -> tuple[int, ...]:
    """Return the numbers that belong to a ring pool: those that are held for visitors, and the default."""
    return pool.number_ids if pool.default_number_id is None else (*pool.number_ids, pool.default_number_id)


def called(record_type: str) -> str:
    """Return what a sentence calls one record of a type, such as `an offer` or `a buyer group`."""
    words = record_type.replace("_", " ").replace("api key", "API key")
    return f"{'an' if words[0].lower() in 'aeiou' else 'a'} {words}"


__all__ = [
    "CAPPED_TYPES",
    "RECORD_BODIES",
    "AccessControlList",
    "ActionGroup",
    "Agent",
    "AgentMessage",
    "AgentStatus",
    "ApiKey",
    "Body",
    "Buyer",
    "BuyerFleet",
    "BuyerGroup",
    "CallCenter",
    "CallDisposition",
    "Company",
    "ContactField",
    "ContactFieldType",
    "ContactHold",
    "Holiday",
    "LeadFilters",
    "Number",
    "Offer",
    "OutgoingWebhook",
    "Permission",
    "ProviderChannel",
    "ProviderConfiguration",
    "Record",
    "RecordType",
    "RingPool",
    "RulePack",
    "Schedule",
    "Subscription",
    "SuppressionList",
    "TokenFilter",
    "TrafficSource",
    "TriggerFields",
    "UnblockContactJob",
    "User",
    "UserState",
    "body_of",
    "called",
    "plain",
    "ring_pool_numbers",
    "rules_key",
]
