"""Which problem codes are there? One catalogue for HTTP, dead letters and recorded answers.

`code` is stable: programs branch on it. The title says what is wrong, the detail of each answer how to correct it.
"""

from msgspec import Struct


class Problem(Struct, frozen=True):
    """One row: the HTTP status, a title, and whether the same request may succeed later without change."""

    status: int
    title: str
    retryable: bool = False


PROBLEMS: dict[str, Problem] = {
    "malformed_json": Problem(400, "The body is not valid JSON"),
    "malformed_body": Problem(400, "The body cannot be read"),
    "bad_cursor": Problem(400, "The cursor is not one that a list returned"),
    "bad_date": Problem(400, "The date cannot be read"),
    "unauthenticated": Problem(401, "Valid keys are needed"),
    "invalid_signature": Problem(401, "The signature of the form is not valid"),
    "stale_signature": Problem(401, "The form was signed too long ago"),
    "forbidden": Problem(403, "These keys may not do this"),
    "not_found": Problem(404, "There is no such record"),
    "unknown_lead_token": Problem(404, "There is no such lead token"),
    "method_not_allowed": Problem(405, "This path does not take this method"),
    "duplicate_lead": Problem(409, "The lead exists and its schedule refuses duplicates"),
    "idempotency_conflict": Problem(409, "The Idempotency-Key was used with another body"),
    "replayed_signature": Problem(409, "The signature of the form was used before"),
    "too_many_leads": Problem(409, "The person has as many live leads as one may have"),
    "lead_not_live": Problem(409, "The lead has ended"),
    "on_hold": Problem(409, "Contacting is on hold"),
    "commands_open": Problem(503, "As many calls are on their way as may be", retryable=True),
    "call_in_progress": Problem(409, "The person is being called, or is calling"),
    "call_ended": Problem(409, "The call has ended"),
    "version_conflict": Problem(409, "The record was changed in the meantime"),
    "record_in_use": Problem(409, "Other records refer to this one"),
    "last_superuser": Problem(409, "No superuser of the company would be left"),
    "duplicate_value": Problem(409, "The value is taken"),
    "projection_job_open": Problem(409, "A verification or rebuild of the projection has not ended"),
    "deleted": Problem(410, "The record was deleted"),
    "too_large": Problem(413, "The request is too large"),
    "unsupported_media_type": Problem(415, "The content type is not one that is read here"),
    "range_not_satisfiable": Problem(416, "The range begins behind the end of the file"),
    "unknown_host": Problem(421, "No company is served under this host name"),
    "validation_failed": Problem(422, "Some fields are not valid"),
    "per_page_requires_cursor": Problem(422, "More than 10 calls a page need a cursor"),
    "suppressed_contact": Problem(422, "This person must not be contacted"),
    "quiet_hours": Problem(422, "The law allows no call at this hour"),
    "outside_hours": Problem(422, "The schedule makes no calls at this hour"),
    "frequency_cap": Problem(422, "The law allows no further contact yet"),
    "schedule_inactive": Problem(422, "The schedule is paused or has no steps"),
    "invalid_number": Problem(422, "The telephone number is not valid"),
    "invalid_schedule": Problem(422, "The schedule cannot run as it is"),
    "not_supported": Problem(422, "This is not available yet"),
    "unknown_type": Problem(422, "The message type is not known"),
    "malformed_envelope": Problem(422, "The record has no valid CloudEvents headers"),
    "wrong_partition": Problem(422, "The record is not in the partition of its key"),
    "rate_limited": Problem(429, "Too many requests", retryable=True),
    "number_recently_dialed": Problem(429, "The number was dialled less than 30 s ago", retryable=True),
    "requests_unread": Problem(503, "Earlier requests about this person are still being read", retryable=True),
    "internal_error": Problem(500, "Something failed on our side", retryable=True),
    "decision_failed": Problem(500, "The request could not be decided; it is kept for inspection"),
    "events_unavailable": Problem(503, "The event log did not acknowledge the request", retryable=True),
    "reads_unavailable": Problem(503, "The database does not answer", retryable=True),
    "recording_pending": Problem(503, "The recording is still being fetched", retryable=True),
    "reports_busy": Problem(503, "Too many reports and forecasts are being made", retryable=True),
    "streams_busy": Problem(503, "Too many event streams are open", retryable=True),
    "reads_too_slow": Problem(503, "To find or add up so many records took too long", retryable=True),
}
