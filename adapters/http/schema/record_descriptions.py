"""What does each field of an account record mean? A sentence each, for requests and answers."""

from collections.abc import Mapping

from engine.account.epc import EPC_CALLS_MIN, EPC_DAYS
from engine.account.groups import METRICS_OF, PERIODS

_EVERYWHERE: Mapping[str, str] = {
    "id": "internal id",
    "legacy_id": "always null",
    "type": "its record type",
    "uuid": "taken in paths as the id is",
    "created_at": "when it was created",
    "updated_at": "when it was changed last",
    "deleted_at": "when it was deleted; else null",
    "user_updated_at": "when a user changed it last",
    "routes_show_path": "its path",
    "routes_edit_path": "its path for changes",
    "company_id": "the company that it belongs to",
    "version": "one more with each change",
    "external_record_id": "its id in your system, unique in its type",
    "name": "name for people",
    "description": "notes for people",
    "lead_token": "token that submissions name; given by us",
    "require_auth": "true: its lead token is good only together with a key",
    "hours_to_expire": "whole hours from its submission until a lead expires, unless it says so itself; null: never",
    "buyers_count": "how many buyers it names",
    "tier": "lower ones are called first; may be below zero",
    "weight": "share of the calls among those of the same tier",
    "concurrency_cap_limit": "calls at the same time; 0 takes none, null any number",
    "business_hours": "when it takes calls, as [{days, open, close}] in its time_zone; none: always",
}

_METRICS: Mapping[str, str] = {
    "attempt": "calls, those under way among them,",
    "offer_conversion": "conversions of offers",
    "buyer_conversion": "conversions of buyers",
    "connection": "calls that a buyer answered, or may yet answer,",
    "earned_revenue": "revenue less payout",
    "revenue": "revenue",
}
_PERIODS: Mapping[str, str] = {"hourly": "an hour", "daily": "a day", "monthly": "a month", "total": "in total"}
_NOW: Mapping[str, str] = {
    "hourly": "of this hour",
    "daily": "of today",
    "monthly": "of this month",
    "total": "since total_caps_reset_at",
}

_STOPS: Mapping[str, str] = {
    "attempt": "never passed",
    "connection": "never passed",
    **dict.fromkeys(("buyer_conversion", "offer_conversion", "earned_revenue", "revenue"), "calls under way may pass it"),
}


_EARNED: Mapping[str, str] = {
    "epc": f"revenue by connected call of the last {EPC_DAYS} days (in UTC, today included), however it was routed; null: "
    f"there was none. Routing by EPC counts only calls routed by it, and not before there are {EPC_CALLS_MIN}",
    "epc_calls_count": "connected calls that epc is of",
}


def _caps(record_type: str) -> Mapping[str, str]:
    """Return the sentences about the caps of a type of record."""
    sentences = {
        f"{metric}_{period}_{what}": sentence
        for metric in METRICS_OF[record_type]
        for period in PERIODS
        for what, sentence in (
            ("limit", f"cap of {_METRICS[metric].partition(',')[0]} {_PERIODS[period]}, {_STOPS[metric]}; null: none"),
            ("used", f"{_METRICS[metric]} {_NOW[period]}"),
        )
    }
    return {
        "total_caps_reset_at": "from when on total caps are counted; null: from the beginning",
        "reset_total_caps": "true: count the total caps from now on",
        "concurrency_cap_used": "calls that it takes now",
        "maxed_out": "true: a cap is used up, or no further call is taken at the same time",
        **sentences,
    }


_OF_TYPE: Mapping[str, Mapping[str, str]] = {
    "company": {
        "suppression_list_ids": "lists of people who are not contacted at all; a new list of ids replaces the old one",
        "time_zone": "zone of dates without an offset and of days, weeks and months, where a request names no time_zone",
        "country": "where national numbers are read as being of, unless an offer says another",
        "paused": "true: nothing is done for any lead; they wait as company_paused",
        "optout_confirmation": "the one text that answers an opt-out by text; null: none",
        "optout_scope": "how far an opt-out reaches: everything of the company, the offer, or the channel that it came on",
        "allow_auth_token": "false: keys are taken in the Authorization header only, not as the field auth_token",
        "recording_retention_days": "how many days after a recording was made it is deleted",
        "wrap_up_seconds": "how long after a call an agent is available again by itself; null: once the agent says so",
        "sign_in_issuer": "OpenID Connect issuer that users sign in with; null: passwords alone",
        "sign_in_client_id": "our client_id there",
        "sign_in_client_secret": "its secret, stored encrypted; another issuer or client needs it again",
        "has_sign_in_client_secret": "true: it is set",
        "sign_in_name": "what the button says",
        "sign_in_email_domain": "e-mail domain that the issuer must vouch for; null: any",
        "sign_in_required": "true: superusers alone sign in with passwords",
        "unknown_parameters": "ignore: a parameter that an operation does not know is ignored; refuse: it is answered 422",
    },
    "offer": {
        "suppression_list_ids": "lists of people who are not contacted for its leads; a new list replaces the old one",
        "time_zone": "zone of calls to its leads that are on no schedule and whose zone and country are unknown",
        "country": "where national numbers of its leads are read as being of",
        "paused": "true: nothing is done for its leads; they wait as offer_paused",
        "buyer_group_ids": "buyer groups that take calls of its leads: of a step without connect, and inbound calls",
        "buyer_ids": "buyers that take those calls where none of the groups does",
        "route_by_type": "which buyer of one tier gets a call: tier: by weight; revenue: the highest bid_price; epc: the "
        "highest revenue by connected call of seven days",
        "no_buyer_action": "what a gateway does with an inbound call that no buyer takes",
        "no_buyer_message": "what it says to the person then; null: its own words",
        "rotate_lead_token": "true: give a new lead token; the old one is unknown from then on",
    },
    "schedule": {
        "suppression_list_ids": "lists of people who are not contacted by it; a new list of ids replaces the old one",
        "offer_id": "offer that its leads are of",
        "paused": "true: nothing is done for its leads; they wait as schedule_paused",
        "duplicate_policy": "what a submission does for a person who has a live lead here, where it does not say so itself",
        "time_zone": "zone of an until whose zone is schedule, and of unknown_zone default_zone",
        "max_contact_attempts": "calls and texts until a lead ends, unless it says so itself; null: any number",
        "close_margin_seconds": "seconds before the end of any hours in which nothing begins any more",
        "on_conversion": "what a conversion does: exit, continue, or {action: move, schedule_id}",
        "end_steps_may_contact": "true: end steps may call and text a lead that has expired, at the next lawful hour",
        "on_reply": "what a text of the person does: {action, duration}, the action being pause, continue or exit",
        "on_inbound_connected": "what a connected call of the person does: {action, delay}, the action being continue, "
        "exit, or move with schedule_id",
        "purpose": "what its contacts are for, by which the legal limits are chosen",
        "min_spacing": "least time between contacts to one person, as {call, sms, email, any}, each such as 4h",
        "jitter_seconds": "contacts after the first are spread over up to so many seconds, never past the close",
        "window_miss": "what becomes of a step whose hours are missed",
        "pauses": "dates on which nobody is contacted, as [{from, to}]",
        "unknown_zone": "which hours hold for a number that could be anywhere in its country",
        "real_time_priority": "true: its first calls go before those of other schedules",
        "priority_aging": "taken off a lead's priority for every hour that it is overdue or waits for a line",
        "migrate": "by_step_id: leads in flight go over to this version, at the step of the same id; none: they stay",
        "windows": "hours of each channel, as {call: [{days, open, close}]}; a channel without any has its legal ones",
        "steps": "the steps, in this order",
        "end_steps": "the steps after a lead's end",
        "triggers": "what takes a lead out, or to another step, wherever it stands: [{on, type, goto}]",
        "draft": "true: keep the change in draft_fields until it is published",
        "draft_fields": "changes that are not published yet",
        "unpublished": "true: it was never published, and takes no leads",
        "published_at": "when the present version was published",
        "rotate_lead_token": "true: give a new lead token; the old one is unknown from then on",
    },
    "buyer": {
        "suppression_list_ids": "lists of people whose calls it does not get; a new list of ids replaces the old one",
        "number": "telephone number or sip: address that is called",
        "user_buyer_id": "its id in a system of yours, of no other buyer",
        "timeout_seconds": "how long its telephone rings before the call is given up",
        "time_zone": "zone of its business_hours, and of the days and months of its caps",
        "paused": "true: it gets no calls",
        "unpause_at": "when its pause ends by itself",
        "buyer_fleet_ids": "buyer fleets that it belongs to; a new list replaces the old one",
        "bid_price": "what it pays for a call, in the company's currency; decides where route_by_type is revenue",
        "spacing_seconds": "how long after a call the next one may come at the earliest",
        "dtmf_tones": "keys pressed once its telephone answers, such as an extension: 0-9, *, #, A-D, w for a pause",
        "filters": "which leads it takes: all must hold, such as state:FL|GA; a new list replaces the old one",
        **_EARNED,
        **_caps("buyer"),
    },
    "buyer_fleet": {
        "user_fleet_id": "lowercase letters, digits and _, by which filters name it as fleet:<user_fleet_id>; of no other "
        "fleet; it stays while a filter names it",
        "buyers_count": "how many buyers belong to it",
        "buyer_ids": "buyers that belong to it: those whose buyer_fleet_ids name it",
    },
    "buyer_group": {
        "buyer_ids": "its buyers; a new list replaces the old one",
        "add_buyer_ids": "buyers to add; the others stay",
        "remove_buyer_ids": "buyers to take out",
        "add_user_buyer_ids": "buyers to add, by user_buyer_id",
        "remove_user_buyer_ids": "buyers to take out, by user_buyer_id",
        "generate_team": "true, for a new group: make a team that reads the group, its buyers, their leads and calls",
        "team_users_emails": "people of that team, by the e-mail addresses of their keys",
        "team_offer_ids": "offers whose leads alone that team sees",
        "tier": "the lowest tier of groups that take calls is called; its calls show it as dial_tier; may be below zero",
        "weight": "its share of the calls among groups of the same tier",
        "spacing_seconds": "how long after a call to it the next one may come at the earliest",
        "dial_buyers_type": "sequentially: one buyer for each call; simultaneously: all of its lowest tier ring, and the "
        "first that answers gets the call",
        "time_zone": "zone of its business_hours, and of the days and months of its caps",
        "paused": "true: its buyers get no calls through it",
        "unpause_at": "when its pause ends by itself",
        "paused_at": "when it was paused last",
        "unpaused_at": "when its last pause ended",
        "paused_by_user_id": "the user who paused it last; null where a key of no user did",
        **_EARNED,
        **_caps("buyer_group"),
    },
    "traffic_source": {
        "user_traffic_source_id": "its id in a system of yours",
        "first_name": "of whom to speak to",
        "last_name": "of whom to speak to",
        "company_name": "of the firm behind it",
        "paused": "true: submissions that name it are refused; the leads that it has sent go on",
        "time_zone": "zone of the days and months of its caps",
        **_caps("traffic_source"),
    },
    "number": {
        "number": "telephone number of the company",
        "offer_id": "offer whose leads it calls and texts, and that calls to it are for; null: of offers without numbers",
        "voice": "true: leads are called from it",
        "sms": "true: leads are texted from it",
        "paused": "true: leads are called and texted from other numbers, unless a step names this one",
    },
    "outgoing_webhook": {
        "url": "where it is sent to",
        "method": "how it is sent",
        "headers": "headers to send in addition to ours",
        "body_template": "text of the body, with {{tokens}} of the lead, escaped for JSON, a form or XML; null: all as JSON",
        "secret_generation": "1 with the first secret, one more with each new one",
        "secret": "signs what is sent; shown to keys with the scope outgoing_webhook:secret",
        "paused": "true: nothing is sent",
        "rotate_secret": "true: sign with a new secret from now on",
    },
    "subscription": {
        "url": "where events are posted to",
        "events": "names of events; the page on subscriptions says when each happens, and what before_call asks",
        "on_error": "what holds where before_call or before_sms is not answered: deny, the default, or allow",
        "timeout_seconds": "seconds for the answer to before_call or before_sms: 1 to 10, default 2",
        "trigger_fields": "values that the call, else the lead, of an event must have, such as an offer_id; none: all",
        "secret_generation": "1 with the first secret, one more with each new one",
        "secret_rotated_at": "when the secret was made; for a day from then events are signed with the one before, too",
        "secret": "signs what is sent; shown to keys with the scope subscription:secret",
        "paused": "true: events are stored, and sent once it is false",
        "rotate_secret": "true: sign with a new secret from now on",
        "waiting_count": "events that are stored and not delivered yet",
        "failed_count": "events of the last 30 days that were given up",
        "last_delivered_at": "when the receiver accepted an event last",
        "failing_since": "since when no event was accepted; null: the last one was",
        "disabled_at": "when we stopped sending because nothing was accepted any more; null: we send",
        "disabled_reason": "why we stopped",
        "dropped_count": "events that were not stored because too many were waiting",
        "dropped_since": "when the first of these happened",
    },
    "provider_configuration": {
        "channel": "what it carries: call, sms or email; fixed",
        "provider": "name of an installed provider, such as twilio; fixed",
        "settings": "settings of that provider; the page on providers lists them",
        "secrets": "secrets of that provider by name, encrypted before they are stored and never shown; null removes one",
        "secret_names": "names of the secrets that are set",
        "number_ids": "numbers whose calls or texts it carries; none: all",
        "fallback_order": "lower ones are asked first, after those that name the number",
        "callback_generation": "1 with the first callback URL, one more with each new one",
        "callback_url": "where the vendor reports to us; shown to keys with the scope provider_configuration:secret",
        "rotate_callback_url": "true: take reports at another URL from now on, and none at the one before",
        "paused": "true: nothing is given to it; what was given before still reports",
    },
    "api_key": {
        "public_key": "the half that names the key; given by us",
        "private_key": "the half that proves it; shown once, when the key is created",
        "scopes": "what it may do, such as lead:read, lead:*, *:read or *; no more than the key that gives them may",
        "ip_allow_list": "addresses and networks from which the key is taken; none: from anywhere",
        "expires_at": "until when it is good; null: for ever",
        "revoked_at": "any moment takes the key out of use at once, null brings it back",
        "origins": "origins of pages, such as https://www.example.com, that may post impressions with the public half alone",
        "user_email": "person for whom the key acts: a team of that person must grant what it does; null: no team limits it",
    },
    "user": {
        "email": "address by which the user signs in, and teams and keys know the person; of no other user",
        "state": "invited: has no way in yet; active: may sign in; disabled: sessions and keys of the person end at once",
        "time_zone": "zone of dates without an offset where the user names no time_zone; null: the company's",
        "password": "at least 12 characters; only its hash is stored, none is shown; an invited user becomes active with it",
        "has_password": "true: the user has a password",
        "has_second_factor": "true: to sign in takes a code of the user's authenticator app, too",
        "invitation_expires_at": "until when the link of the user's invitation is good; null: there is none that is open",
        "identity_issuer": "issuer that the user signs in with",
        "remove_identity": "true: unlink it",
        "remove_second_factor": "true: to sign in takes no code any more, as where a telephone was lost",
    },
    "call_disposition": {
        "code": "letters, digits and _, by which filters of steps name it, else its name; of no other disposition",
        "sortable_order": "its place where dispositions are listed for agents",
        "system": "true: one of ours",
        "category": "what it says of the call: callback promises one, dnc puts the person on the do-not-call list, "
        "wrong_number closes the number",
        "is_final": "true: the lead ends",
        "counts_as_contact": "false: the lead does not count as connected by this call",
        "retry_delay_seconds": "call again after so many seconds",
        "retry_max": "how often to call again; null: once",
        "action_group_id": "action group whose steps are done at once, as far as they contact nobody",
        "sets_opt_out": "true: the person is opted out",
        "sets_suppression": "true: the person is put on the do-not-call list",
        "requires_callback_time": "true: it is refused without a time to call back",
    },
    "rule_pack": {
        "rules": "rows like those of the shipped law; they can only be stricter, unless they override one and say why",
        "holiday_sets": "days that its rows may name as holidays",
    },
    "holiday": {
        "first_date": "the date, in every zone where a lead may be, on which no schedule contacts it",
        "last_date": "last of several dates; null: first_date alone",
        "schedule_ids": "schedules that it holds for; none: all",
    },
    "contact_field_type": {
        "script": "what agents say; {{first_name}} stands for a token, on the page of the agent",
        "fields": "tokens of the call that agents fill in; a new list replaces the old one",
    },
    "ring_pool": {
        "number_ids": "numbers that are held for visitors; each belongs to one pool. One that is taken out is held no more",
        "hold_seconds": "how long a number is held for a visitor from the latest impression that asked for one",
        "grace_seconds": "how long after that it goes to no other visitor, and a call is attributed still",
        "default_number_id": "number that is shown where all others are held; null: none is",
        "held_count": "numbers that go to no other visitor now",
        "overflow_count": "impressions that found all numbers held",
        "last_overflow_at": "when the latest of them came",
    },
    "unblock_contact_job": {
        "blocked_at_from": "lift blocks set at or after this",
        "blocked_at_to": "lift blocks set before this; those set after the job was made stay in any case",
        "confirm_all": "true: lift every block of the company; needed where neither bound is given",
        "request_ip": "address of whom you act for; kept and shown, never taken for that of the sender",
        "last_contact_id": "contact unblocked last; until there is one, what the sender gave",
        "user_id": "the user who made it; null where a key of no user did",
        "state": "pending until a partition has begun; running; succeeded, or failed where a block could not be lifted; "
        "canceled where it was deleted before its end",
        "unblock_count": "contacts unblocked so far",
        "failed_count": "contacts whose block could not be lifted",
        "succeeded_at": "when the last partition was done; null while one is not, or where a contact failed",
    },
    "access_control_list": {
        "users_emails": "addresses of its members; keys with one of them as user_email act for that person",
        "superuser": "true: its members may do everything that their keys may",
        "permissions": "model -> actions, and a scope of ids where only some records are meant; teams of one person unite",
        "lead_filters": "which leads and calls its members see: those that fit every list; null: all",
    },
    "call_center": {},
    "agent_status": {
        "key": "what it is, for programs",
        "sortable_order": "its place where statuses are listed for agents",
    },
    "agent": {
        "user_email": "address of the person, of no other agent; keys with this user_email act for the agent",
        "call_center_id": "where the agent works",
        "buyer_ids": "buyers for whom the agent takes calls; a new list replaces the old one",
        "number": "telephone or sip: address at which a gateway reaches the agent; null: it knows by itself",
        "agent_status_id": "status that was set last; null: none was, or no record has its key",
        "agent_status_key": "what the status says to programs, such as available; null: none was set",
        "agent_widget_id": "page of the agent where it was set",
        "status_changed_at": "when it was set",
    },
    "agent_message": {
        "content": "text that agents read; blank: it reaches nobody",
        "agent_status_id": "for agents in this status; null: in any",
        "buyer_ids": "for agents of these buyers",
        "buyer_group_ids": "for agents of the buyers of these groups",
        "call_center_ids": "for agents of these call centers; without buyers, groups and call centers: for all agents",
        "user_id": "the user who wrote it; null where a key of no user did",
        "agent_widget_count": "how many agents have acknowledged it",
    },
    "action_group": {"steps": "what stands in a schedule in the place of the group"},
}


def sentence_of(record_type: str, name: str) -> str:
    """Return the description of a field or column of a record type; a test holds that each has one."""
    return _OF_TYPE.get(record_type, {}).get(name) or _EVERYWHERE.get(name, "")
