"""What does one good request of each operation look like? Shown in the documentation, and sent by a test unchanged.

The ids and tokens are placeholders; the test replaces them with real ones and changes nothing else.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

RECORDED = Path(__file__).with_name("recorded.json")
"""Recorded answers to the examples; `python -m tests.api.record` records them again."""


class RecordedAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recorded answer: its status, its body as JSON, and the first lines of the same as CSV."""

    status: int = 200
    body: Any = None
    csv: str = ""


@cache
def read_recorded_answers() -> dict[str, RecordedAnswer]:
    """Return every recorded answer by `operation method`; empty if nothing was recorded."""
    return msgspec.json.decode(RECORDED.read_bytes(), type=dict[str, RecordedAnswer]) if RECORDED.is_file() else {}


def find_recorded_answer(operation: str, method: str) -> RecordedAnswer:
    """Return the recorded answer to the example of an operation."""
    return read_recorded_answers().get(f"{operation} {method}", RecordedAnswer())


class Example(Struct, frozen=True, kw_only=True):
    """The parts of one request: `path` fills the placeholders, `query` and `body` are fields."""

    path: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    body: Mapping[str, Any] = {}


SCHEDULE_TOKEN = "lt_exampleOfOneSchedule"  # noqa: S105 - opens nothing
OFFER_TOKEN = "lt_exampleOfOneOffer"  # noqa: S105 - opens nothing
NUMBER = "+13055550123"
COMPANY_NUMBER = "+12125550188"
"""A number that the company calls from and is called on."""
DOUBTER = "+13055550166"
"""A person whose text waits for a review."""
LEAD = "70001"
PAGE_KEY = "pk_exampleOfAPage"
PAGE_ORIGIN = "https://roofs.example.com"
"""The key of the examples that pages use, and the origin of these pages."""

MANUAL_FIRE = "70030"
DELIVERY = "70031"
BUYER_CONVERSION = "70032"
OFFER_CONVERSION = "70033"
WEBHOOK_LOG = "70034"
LEAD_BULK_JOB = "70036"
LEAD_IMPORT = "70037"
SCHEDULED_CALLBACK = "70051"
KEPT_SUBMISSION = "70057"
REQUEST = "01934b1e-0000-8000-8000-00000000000a"
NEW_EMAIL = "grace@example.com"
"""The address of the user that is created."""
OWN_KEY = "70039"
"""The token of the user who is signed in."""
OWN_VIEW = "70054"
"""A view of leads that the user who is signed in has saved."""
OWN_EMAIL = "ada@example.com"
"""The address of the user who signs in."""
INVITATION = f"iv_70042.{'example_only'.ljust(43, '_')}"
"""The token of an invitation."""
PASSWORD = "correct horse battery staple"  # noqa: S105 - of an example
RECORDS: Mapping[str, str] = {
    "schedule": "70002",
    "offer": "70003",
    "buyer": "70004",
    "buyer_group": "70005",
    "traffic_source": "70006",
    "number": "70007",
    "outgoing_webhook": "70008",
    "api_key": "70009",
    "call_disposition": "70012",
    "rule_pack": "70013",
    "action_group": "70014",
    "buyer_fleet": "70015",
    "unblock_contact_job": "70020",
    "contact_hold": "70040",
    "access_control_list": "70021",
    "call_center": "70022",
    "agent_status": "70023",
    "agent": "70024",
    "agent_message": "70025",
    "subscription": "70026",
    "user": "70027",
    "provider_configuration": "70028",
    "suppression_list": "70029",
    "holiday": "70050",
    "contact_field_type": "70052",
    "ring_pool": "70060",
}
CALL = "70010"
RECORDED_CALL = "70053"
"""A call whose recording is stored."""

STEPS: list[dict[str, Any]] = [
    {
        "id": "call-1",
        "kind": "call",
        "connect": {"buyer_group_id": int(RECORDS["buyer_group"])},
        "retry": {"busy": {"delay": "15m", "max": 3}, "no_answer": {"delay": "2h", "max": 2}},
    },
    {"id": "text-1", "kind": "sms", "template": "Hi {{first_name}}, we tried to reach you from {{svc_number}}."},
    {"id": "pause", "kind": "wait", "duration": "1d"},
]

_LEAD = {
    "lead_token": SCHEDULE_TOKEN,
    "caller_id": NUMBER,
    "email": "ada@example.com",
    "time_zone": "America/New_York",
    "data": {"first_name": "Ada", "roof": "flat"},
}

_CREATED: Mapping[str, Mapping[str, Any]] = {
    "schedule": {
        "name": "Solar five days",
        "offer_id": int(RECORDS["offer"]),
        "time_zone": "America/New_York",
        "hours_to_expire": 120,
        "max_contact_attempts": 6,
        "windows": {"call": [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "20:00"}]},
        "steps": STEPS,
    },
    "offer": {"name": "Solar", "country": "US", "buyer_group_ids": [int(RECORDS["buyer_group"])]},
    "buyer": {"name": "Sunny Roofs", "number": "+12125550140", "timeout_seconds": 25, "concurrency_cap_limit": 4},
    "buyer_group": {"name": "Roofers", "buyer_ids": [int(RECORDS["buyer"])], "attempt_daily_limit": 200},
    "traffic_source": {"name": "Search ads", "user_traffic_source_id": "ads-1"},
    "number": {"number": "+13055550188", "sms": True},
    "outgoing_webhook": {"name": "CRM", "url": "https://crm.example.com/leads"},
    "api_key": {"name": "CRM reader", "scopes": ["lead:read"], "expires_at": "2099-01-01 00:00:00 +0000"},
    "call_disposition": {"name": "Call me later", "category": "callback", "requires_callback_time": True},
    "rule_pack": {
        "name": "Our counsel's hours",
        "rules": [
            {
                "id": "counsel-florida-evenings",
                "country": "US",
                "state": "FL",
                "purposes": ["telemarketing"],
                "channels": ["call", "sms"],
                "windows": [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "19:00"}],
                "source_url": "https://counsel.example.com/memorandum",
                "reviewed_at": "2026-01-15",
            }
        ],
    },
    "action_group": {"name": "Goodbye", "steps": [{"id": "bye", "kind": "sms", "template": "Thank you, {{first_name}}."}]},
    "buyer_fleet": {"name": "VIP roofers", "user_fleet_id": "vip_roofers"},
    "unblock_contact_job": {
        "description": "Blocked by mistake on New Year's Day",
        "blocked_at_from": "2026-01-01 00:00:00 +0000",
        "blocked_at_to": "2026-01-02 00:00:00 +0000",
    },
    "contact_hold": {"reason": "Wrong prices in the text of July", "channels": ["sms"]},
    "access_control_list": {
        "name": "Solar agents",
        "users_emails": ["ada@example.com"],
        "permissions": {"lead": {"actions": ["read", "update"]}, "call": {"actions": ["read"]}},
        "lead_filters": {"offer_ids": [int(RECORDS["offer"])]},
    },
    "call_center": {"name": "Tampa", "description": "Second floor"},
    "agent_status": {"name": "At lunch", "key": "lunch"},
    "agent": {"name": "Ada", "call_center_id": int(RECORDS["call_center"]), "buyer_ids": [int(RECORDS["buyer"])]},
    "agent_message": {"content": "New script from noon on.", "call_center_ids": [int(RECORDS["call_center"])]},
    "subscription": {
        "name": "CRM",
        "url": "https://crm.example.com/events",
        "events": ["lead_ended", "call_ended"],
        "trigger_fields": {"offer_id": int(RECORDS["offer"])},
    },
    "user": {"name": "Grace", "email": NEW_EMAIL, "time_zone": "America/New_York"},
    "provider_configuration": {
        "name": "Twilio, calls",
        "channel": "call",
        "provider": "twilio",
        "settings": {"account_sid": "AC0123456789abcdef0123456789abcdef"},
        "secrets": {"auth_token": "the token of that account"},
        "number_ids": [int(RECORDS["number"])],
    },
    "suppression_list": {"name": "Complained", "description": "Who wrote to us or to the regulator"},
    "holiday": {"name": "Year's end", "first_date": "2026-12-24", "last_date": "2027-01-01"},
    "contact_field_type": {
        "name": "Roofs",
        "script": "Hello {{first_name}}, this is Sunny Roofs.",
        "fields": [{"key": "roof", "label": "Kind of roof", "kind": "choice", "options": ["flat", "steep"]}],
    },
    "ring_pool": {"name": "Roofs, website", "number_ids": [int(RECORDS["number"])], "hold_seconds": 900},
}
_CHANGED: Mapping[str, Mapping[str, Any]] = {
    "schedule": {"paused": True},
    "offer": {"description": "Roofs in Florida"},
    "buyer": {"paused": True},
    "buyer_group": {"weight": 3, "remove_buyer_ids": [int(RECORDS["buyer"])]},
    "traffic_source": {"paused": True},
    "number": {"paused": True},
    "outgoing_webhook": {"name": "CRM 2"},
    "api_key": {"name": "CRM, old"},
    "call_disposition": {"sortable_order": 3},
    "rule_pack": {"description": "Reviewed every spring"},
    "action_group": {"description": "At the end of every schedule"},
    "buyer_fleet": {"description": "Who answers within a minute"},
    "access_control_list": {"users_emails": ["ada@example.com", "grace@example.com"]},
    "call_center": {"description": "First floor"},
    "agent_status": {"sortable_order": 3},
    "agent": {"buyer_ids": []},
    "agent_message": {"content": "New script from one o'clock on."},
    "subscription": {"events": ["lead_ended"], "paused": True},
    "user": {"password": PASSWORD},
    "provider_configuration": {"fallback_order": 200, "secrets": {"auth_token": "a newer token"}},
    "suppression_list": {"name": "Complained in 2026"},
    "holiday": {"last_date": "2027-01-03"},
    "contact_field_type": {"script": "Hello {{first_name}}, this is Sunny Roofs. Is your roof flat or steep?"},
    "ring_pool": {"grace_seconds": 600},
}
_LISTED = {
    "number": "id",
    "contact_hold": "id,reason,channels",
    "unblock_contact_job": "id,state,unblock_count",
    "agent_message": "id,content",
}
_ROOTS = {"api_key": ("key", "keys"), "agent_status": ("agent_status", "agent_statuses")}


def _records() -> dict[str, Example]:
    found: dict[str, Example] = {}
    for kind, record_id in RECORDS.items():
        root, collection = _ROOTS.get(kind, (kind, f"{kind}s"))
        path = {"id": record_id}
        found |= {
            f"list_{collection}": Example(query={"per_page": "10", "columns": _LISTED.get(kind, "id,name")}),
            f"build_{root}": Example(),
            f"create_{root}": Example(body=_CREATED[kind]),
            f"show_{root}": Example(path=path),
            f"delete_{root}": Example(path=path),
        }
        if kind in _CHANGED:
            found[f"update_{root}"] = Example(path=path, body=_CHANGED[kind])
    return found


EXAMPLES: Mapping[str, Example] = {
    "submit_lead": Example(body={**_LEAD, "hours_to_expire": 72}),
    "create_or_update_lead": Example(body={**_LEAD, "lead_token": OFFER_TOKEN}),
    "list_leads": Example(query={"status": "scheduled", "created_at_label": "Last Hour", "columns": "id,caller_id,status"}),
    "new_lead": Example(),
    "show_lead": Example(path={"id": LEAD}),
    "buyer_is_available": Example(path={"id": LEAD}),
    "show_lead_by_caller_number": Example(path={"lead_token": SCHEDULE_TOKEN, "caller_number": NUMBER}),
    "update_lead": Example(path={"id": LEAD}, body={"email": "ada@example.org", "data": {"roof": "steep", "color": None}}),
    "delete_lead": Example(path={"id": LEAD}),
    "caller_opt_out": Example(path={"id": NUMBER}, body={"lead_token": SCHEDULE_TOKEN}),
    "caller_remove": Example(path={"id": NUMBER}, body={"lead_token": SCHEDULE_TOKEN}),
    "caller_move_to_end_of_schedule": Example(path={"id": NUMBER}, body={"lead_token": SCHEDULE_TOKEN}),
    "list_contacts": Example(query={"opted_out": "false", "columns": "id,uuid,caller_id,opted_out,blocked"}),
    "show_contact": Example(path={"id": NUMBER}),
    "list_opt_out_reviews": Example(query={"columns": "id,caller_id,body,review_until"}),
    "decide_opt_out_review": Example(path={"id": DOUBTER}, body={"opt_out": True}),
    "caller_block": Example(path={"id": NUMBER}, body={"hangup_live": True}),
    "caller_unblock": Example(path={"id": NUMBER}),
    "list_suppression_entries": Example(
        path={"id": RECORDS["suppression_list"]}, query={"columns": "caller_id,source,expires_at"}
    ),
    "add_suppression_entries": Example(
        path={"id": RECORDS["suppression_list"]},
        body={"entries": [{"caller_id": NUMBER, "source": "regulator", "expires_at": "2099-01-01T00:00:00Z"}]},
    ),
    "import_suppression_entries": Example(
        path={"id": RECORDS["suppression_list"]},
        body={"content": "caller_id,source\n+13055550123,regulator\n12,regulator\n"},
    ),
    "remove_suppression_entries": Example(
        path={"id": RECORDS["suppression_list"]}, body={"entries": [{"caller_id": NUMBER}]}
    ),
    "show_calling_hours": Example(
        query={"channel": "call", "at": "2026-03-09 12:00:00 -0400", "time_zone": "America/New_York"}
    ),
    "report_queues": Example(),
    "forecast_leads": Example(query={"hours": "24", "limit": "500"}),
    "forecast_schedule_change": Example(
        body={
            "schedule_id": int(RECORDS["schedule"]),
            "windows": {"call": [{"days": ["mon", "tue", "wed", "thu", "fri", "sat"], "open": "08:00", "close": "21:00"}]},
            "min_spacing": {"call": "2h"},
            "max_contact_attempts": 8,
            "limit": 500,
        }
    ),
    "why_lead": Example(path={"id": LEAD}, query={"at": "2026-11-26 08:00:00 -0500"}),
    "report_channels": Example(query={"due_before": "2026-03-09 10:00:00 -0400"}),
    "report_outcomes": Example(query={"recorded_at_from": "2026-03-09 09:00:00 -0400"}),
    "report_steps": Example(query={"schedule_id": RECORDS["schedule"]}),
    "list_lead_events": Example(path={"id": LEAD}, query={"limit": "100"}),
    "publish_schedule": Example(path={"id": RECORDS["schedule"]}, body={"migrate": "by_step_id"}),
    "list_schedule_versions": Example(path={"id": RECORDS["schedule"]}, query={"columns": "version,published_at,steps"}),
    "preview_lead_map": Example(
        body={
            "lead_token": SCHEDULE_TOKEN,
            "lead_map": {
                "fields": {
                    "caller_id": "user_column_data[column_id=PHONE_NUMBER].string_value",
                    "full_name": "user_column_data[column_id=FULL_NAME].string_value",
                },
                "idempotency_key": "lead_id",
                "is_test": "is_test",
            },
            "sample": {
                "lead_id": "TeSter-123",
                "is_test": True,
                "user_column_data": [
                    {"column_id": "PHONE_NUMBER", "string_value": NUMBER},
                    {"column_id": "FULL_NAME", "string_value": "Ada Lovelace"},
                ],
            },
        }
    ),
    "preview_schedule": Example(
        body={
            "schedule": {
                "time_zone": "America/New_York",
                "steps": [
                    {"id": "call-1", "kind": "call", "retry": {"no_answer": {"delay": "2h", "max": 2}}},
                    {"id": "text-1", "kind": "sms", "template": "Hi {{first_name}}, we tried to reach you."},
                ],
            },
            "lead": {"caller_id": NUMBER},
            "at": "2026-03-07 21:30:00 -0500",
            "outcomes": {"call": "no_answer"},
            "history": [{"kind": "call", "at": "2026-03-07 12:00:00 -0500", "outcome": "no_answer"}],
            "limit": 20,
        }
    ),
    "list_calls": Example(query={"created_at_label": "This Week", "columns": "id,status,caller_number", "per_page": "100"}),
    "start_call": Example(body={"from": COMPANY_NUMBER, "to": NUMBER, "lead_id": int(LEAD)}),
    "make_call": Example(body={"lead_id": int(LEAD)}),
    "receive_call": Example(
        body={"from": NUMBER, "to": COMPANY_NUMBER, "call_ref": "pbx-7781", "state": "ringing", "provider": "our pbx"}
    ),
    "receive_text": Example(body={"from": NUMBER, "to": COMPANY_NUMBER, "text_ref": "sms-5512", "body": "Yes, call me."}),
    "list_scheduled_callbacks": Example(query={"columns": "id,lead_id,caller_id,callback_at"}),
    "report_scheduled_callbacks": Example(query={"category": "agent_id", "pivot": "promised_at_day"}),
    "create_scheduled_callback": Example(
        body={"lead_id": int(LEAD), "schedule_callback_in_seconds": "3600", "callback_buyer_id": int(RECORDS["buyer"])}
    ),
    "show_scheduled_callback": Example(path={"id": SCHEDULED_CALLBACK}),
    "move_scheduled_callback": Example(path={"id": SCHEDULED_CALLBACK}, body={"schedule_callback_in_seconds": "7200"}),
    "delete_scheduled_callback": Example(path={"id": SCHEDULED_CALLBACK}),
    "list_kept_submissions": Example(query={"columns": "id,lead_id,email,data"}),
    "accept_kept_submission": Example(path={"id": KEPT_SUBMISSION}),
    "discard_kept_submission": Example(path={"id": KEPT_SUBMISSION}),
    "list_buyer_conversions": Example(query={"taken_back": "false", "columns": "id,created_at,call_id,buyer_id,amount"}),
    "show_buyer_conversion": Example(path={"id": BUYER_CONVERSION}),
    "list_offer_conversions": Example(query={"columns": "id,created_at,call_id,traffic_source_id,amount,taken_back"}),
    "show_offer_conversion": Example(path={"id": OFFER_CONVERSION}),
    "list_webhook_manual_fires": Example(query={"columns": "id,created_at,outgoing_webhook_id,lead_id,outcome"}),
    "build_webhook_manual_fire": Example(query={"created_at": "2026-03-07 21:30:00 -0500"}),
    "create_webhook_manual_fire": Example(
        body={"outgoing_webhook_id": int(RECORDS["outgoing_webhook"]), "lead_id": int(LEAD)}
    ),
    "show_webhook_manual_fire": Example(path={"id": MANUAL_FIRE}),
    "create_session": Example(body={"email": OWN_EMAIL, "password": PASSWORD, "code": "492039", "company_id": 1}),
    "show_session": Example(),
    "delete_session": Example(),
    "change_own_password": Example(body={"current_password": PASSWORD, "password": "a better one, and longer"}),
    "begin_second_factor": Example(body={"current_password": PASSWORD}),
    "list_access_tokens": Example(),
    "create_access_token": Example(body={"name": "Laptop", "expires_at": "2026-12-31 00:00:00 +0000"}),
    "delete_access_token": Example(path={"id": OWN_KEY}),
    "list_lead_views": Example(),
    "save_lead_view": Example(
        body={"name": "Due in New York", "query": {"status": "scheduled", "states": "NY", "columns": "name,next_action_at"}}
    ),
    "delete_lead_view": Example(path={"id": OWN_VIEW}),
    "create_invitation": Example(body={"email": NEW_EMAIL, "name": "Grace", "expires_in_hours": 48}),
    "accept_invitation": Example(body={"token": INVITATION, "password": PASSWORD}),
    "finish_second_factor": Example(body={"code": "492039"}),
    "list_lead_bulk_jobs": Example(query={"columns": "id,created_at,action,state,leads_count,done_count"}),
    "create_lead_bulk_job": Example(
        body={
            "action": "stop",
            "filter": {"schedule_id": int(RECORDS["schedule"]), "tag": "old"},
            "leads_max": 250,
            "description": "Stop what last year's campaign left",
        }
    ),
    "show_lead_bulk_job": Example(path={"id": LEAD_BULK_JOB}),
    "list_lead_bulk_results": Example(path={"id": LEAD_BULK_JOB}, query={"state": "refused", "columns": "id,code,detail"}),
    "cancel_lead_bulk_job": Example(path={"id": LEAD_BULK_JOB}),
    "list_lead_imports": Example(query={"columns": "id,created_at,state,line,last_line,good_count,refused_count"}),
    "create_lead_import": Example(
        body={
            "lead_token": SCHEDULE_TOKEN,
            "content": "phone,First Name,roof\n+13055550123,Ada,flat\n",
            "mapping": {"phone": "caller_id", "roof": None},
        }
    ),
    "show_lead_import": Example(path={"id": LEAD_IMPORT}),
    "list_lead_import_errors": Example(path={"id": LEAD_IMPORT}, query={"columns": "line,field,problem"}),
    "cancel_lead_import": Example(path={"id": LEAD_IMPORT}),
    "list_webhook_logs": Example(
        query={
            "outgoing_webhook_id": RECORDS["outgoing_webhook"],
            "accepted": "false",
            "columns": "id,created_at,status,detail",
        }
    ),
    "list_circuits": Example(),
    "show_webhook_log": Example(path={"id": WEBHOOK_LOG}),
    "list_audit_logs": Example(query={"record_type": "buyer", "columns": "id,action,record_id,key_id"}),
    "list_agent_status_timestamps": Example(query={"created_at_from": "2026-03-07 00:00:00 -0500", "columns": "id,key"}),
    "set_agent_status": Example(
        body={
            "collaborator_id": int(RECORDS["agent"]),
            "agent_status_id": int(RECORDS["agent_status"]),
            "agent_widget_id": 1,
        }
    ),
    "list_messages_of_agent": Example(path={"id": RECORDS["agent"]}, query={"columns": "id,content"}),
    "send_agent_heartbeat": Example(path={"id": RECORDS["agent"]}),
    "follow_agent": Example(path={"id": RECORDS["agent"]}, query={"last_event_id": "0"}),
    "list_subscription_deliveries": Example(
        path={"id": RECORDS["subscription"]}, query={"state": "failed", "columns": "id,event,lead_id,attempts,last_detail"}
    ),
    "show_subscription_delivery": Example(path={"id": RECORDS["subscription"], "delivery_id": DELIVERY}),
    "replay_subscription": Example(
        path={"id": RECORDS["subscription"]}, body={"occurred_at_from": "2026-03-07 21:30:00 -0500", "only_failed": True}
    ),
    "enable_subscription": Example(path={"id": RECORDS["subscription"]}),
    "acknowledge_agent_message": Example(
        path={"id": RECORDS["agent_message"]}, body={"collaborator_id": int(RECORDS["agent"])}
    ),
    "list_impressions": Example(query={"per_page": "100", "columns": "id,uuid,created_at,visitor_id,page_url"}),
    "record_impressions_of_page": Example(
        query={"publishable_key": PAGE_KEY},
        body={"visitor_id": "v-8c1f", "page_url": f"{PAGE_ORIGIN}/solar", "utm_source": "search"},
    ),
    "record_impressions": Example(
        body={
            "visitor_id": "v-8c1f",
            "uuid": "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
            "offer_id": int(RECORDS["offer"]),
            "page_url": "https://roofs.example.com/solar",
            "utm_source": "search",
            "ip": "192.0.2.17",
        }
    ),
    "show_company": Example(query={"columns": "name,time_zone,optout_scope"}),
    "update_company": Example(body={"optout_scope": "company", "allow_auth_token": "true"}),
    "show_call": Example(path={"id": CALL}, query={"columns": "id,status,caller_number,talk_duration"}),
    "list_call_events": Example(path={"id": CALL}),
    "update_call": Example(
        path={"id": CALL},
        body={
            "revenue": "45.00",
            "buyer_converted": True,
            "agent_call_disposition_notes": "Wants a quote by Friday.",
            "post_call_tokens": {"roof": "flat"},
        },
    ),
    "update_calls_by_caller_id": Example(
        path={"id": NUMBER}, body={"offer_token": OFFER_TOKEN, "call_timeframe": 60, "add_revenue": "12.50"}
    ),
    "send_key_press": Example(body={"id": int(CALL), "digits": "1"}),
    "play_recording": Example(path={"id": RECORDED_CALL}),
    "delete_recording": Example(path={"id": RECORDED_CALL}, body={"confirm": "delete"}),
    "show_recording_link": Example(path={"id": RECORDED_CALL}, query={"expires_in_seconds": "600"}),
    "show_transcription": Example(path={"id": RECORDED_CALL}),
    "delete_call": Example(path={"id": CALL}),
    "report_leads": Example(query={"category": "status", "pivot": "created_at_day", "created_at_label": "This Week"}),
    "report_calls": Example(query={"category": "created_at_hour", "created_at_label": "Today"}),
    "stats_of_calls": Example(
        query={
            "group_by": "status",
            "stat": "count",
            "created_at_from": "2026-03-07 00:00:00 -0500",
            "created_at_to": "2026-03-14 00:00:00 -0400",
        }
    ),
    "list_live_calls": Example(query={"columns": "id,caller_number,status"}),
    "list_calls_by_caller_number": Example(path={"caller_number": NUMBER}),
    "show_request": Example(path={"id": REQUEST}),
    "list_time_zones": Example(),
    **_records(),
}
"""Operation -> its example."""
