"""What does a producer write to an inbox, or post to `/api/v1/leads`? The known fields; any other is a token.

This only describes the JSON. `engine.submission` reads submissions: it accepts text for every type and reports all faults
at once.
"""

from typing import Any

from schemas.wire import Message


class Submission(Message, frozen=True, kw_only=True):
    """A lead for the offer or schedule of `lead_token`; `caller_id` or `email` is needed, other fields become tokens.

    Date-times are RFC 3339 or `YYYY-MM-DD HH:MM:SS +ZZZZ`. Columns (`time_zone` to `remote_ip`) may stand in `data` too.
    """

    lead_token: str
    caller_id: str | None = None
    email: str | None = None
    time_zone: str | None = None
    country: str | None = None
    state_province: str | None = None
    state: str | None = None
    zip_postal_code: str | None = None
    zip: str | None = None
    full_name: str | None = None
    name: str | None = None
    sub_id: str | None = None
    traffic_source_id: int | None = None
    external_record_id: str | None = None
    remote_ip: str | None = None
    contact_field_type: str | None = None
    next_action_at: str | None = None
    schedule_callback_at: str | None = None
    schedule_callback_in_seconds: int | str | None = None
    hours_to_expire: int | None = None
    max_contact_attempts: int | None = None
    lead_import_id: int | None = None
    lead_priority: float | None = None
    blocked: bool | None = None
    opt_out: bool | None = None
    update_only: bool = False
    update_all_matching_leads: bool = False
    apply_to: str | None = None
    expire_existing: bool = False
    delete_existing: bool = False
    restart_schedule: bool = False
    unblock_contact: bool = False
    assign_svc_number: bool = False
    svc_assign_number: bool = False
    assign_trackdrive_number: bool = False
    assign_sms_number: bool = False
    auto_format_nested_fields: bool = False
    data: dict[str, Any] = {}
