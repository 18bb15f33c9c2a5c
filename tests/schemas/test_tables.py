"""Do the tables that everything reads agree with each other?"""

import pytest

from schemas.commands import COMMAND_KINDS
from schemas.outcomes import GATE_OUTCOMES, OUTCOME_TIMEOUT, OUTCOMES
from schemas.problems import PROBLEMS
from schemas.records import RECORD_BODIES, Record, body_of, plain, rules_key
from schemas.requests import ACCOUNT_REQUESTS, CONTACT_REQUESTS, REQUEST_TYPES
from schemas.schedule import STEP_KINDS
from schemas.state import (
    ENTITIES,
    SEEN_PREFIX,
    call_key,
    claim_key,
    head_key,
    kind_of,
    lead_key,
    record_key,
    referrers_key,
    relay_key,
    seen_key,
    slots_key,
    stream_key,
    taken_key,
)
from schemas.topics import COMMAND_TOPICS, TOPICS
from tests.schemas.corpus import sample


def test_topics_have_names_of_their_own_and_a_way_to_end() -> None:
    assert len({topic.name for topic in TOPICS}) == len(TOPICS)
    assert all((topic.cleanup == "compact") == (topic.retention_ms is None) for topic in TOPICS)


def test_every_kind_of_command_has_a_topic_outcomes_and_a_timeout() -> None:
    assert set(COMMAND_KINDS.values()) == COMMAND_TOPICS.keys() == OUTCOMES.keys() == OUTCOME_TIMEOUT.keys()
    assert COMMAND_TOPICS.keys() <= STEP_KINDS.keys()


def test_every_step_kind_is_the_tag_of_its_struct() -> None:
    assert all(kind.__struct_config__.tag == name for name, kind in STEP_KINDS.items())


def test_an_outcome_that_ends_a_channel_or_the_person_is_not_good() -> None:
    outcomes = [outcome for table in OUTCOMES.values() for outcome in table.values()]
    assert not any(outcome.good and (outcome.opts_out or outcome.disables_channel) for outcome in outcomes)
    assert all("unknown" in table and "not_placed" in table for table in OUTCOMES.values())
    assert not any(GATE_OUTCOMES & table.keys() for table in OUTCOMES.values())


def test_requests_are_known_by_one_name() -> None:
    assert len(REQUEST_TYPES) == len(CONTACT_REQUESTS) + len(ACCOUNT_REQUESTS)


STATUSES: dict[int, str] = {
    400: "malformed_json malformed_body bad_cursor bad_date",
    401: "unauthenticated invalid_signature stale_signature",
    403: "forbidden",
    404: "not_found unknown_lead_token",
    405: "method_not_allowed",
    409: """
        duplicate_lead idempotency_conflict too_many_leads lead_not_live call_in_progress call_ended version_conflict
        record_in_use last_superuser duplicate_value projection_job_open on_hold replayed_signature
    """,
    410: "deleted",
    413: "too_large",
    415: "unsupported_media_type",
    416: "range_not_satisfiable",
    421: "unknown_host",
    422: """
        validation_failed per_page_requires_cursor suppressed_contact quiet_hours outside_hours frequency_cap
        schedule_inactive invalid_number invalid_schedule not_supported unknown_type malformed_envelope
        wrong_partition
    """,
    429: "rate_limited number_recently_dialed",
    500: "internal_error decision_failed",
    503: """
        requests_unread events_unavailable reads_unavailable reports_busy streams_busy reads_too_slow commands_open
        recording_pending
    """,
}
"""Codes by status: senders branch on both, so neither changes after a release."""


def test_every_problem_keeps_the_status_that_senders_know() -> None:
    known = {code: status for status, codes in STATUSES.items() for code in codes.split()}
    assert {code: problem.status for code, problem in PROBLEMS.items()} == known


def test_only_our_own_faults_full_queues_and_what_is_on_its_way_may_be_tried_again() -> None:
    assert {code for code, problem in PROBLEMS.items() if problem.retryable} == {
        "rate_limited",
        "number_recently_dialed",
        "requests_unread",
        "internal_error",
        "events_unavailable",
        "reads_unavailable",
        "reports_busy",
        "streams_busy",
        "reads_too_slow",
        "commands_open",
        "recording_pending",
    }
    assert all(400 <= problem.status < 600 and problem.title for problem in PROBLEMS.values())


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (head_key("1|+13055550123"), "head"),
        (lead_key(7), "lead"),
        (call_key(7), "call"),
        (relay_key("c"), "relay"),
        (record_key("offer", 7), "record"),
        (slots_key(1, "buyer_group/7"), "slots"),
        (claim_key(1, "r"), "claim"),
        (taken_key(1, "number", "+1/x"), "taken"),
        (referrers_key("offer", 7), "referrers"),
        (seen_key(1, "abcdef"), "seen"),
        (stream_key("leads.inbox/x/3"), "stream"),
    ],
)
def test_a_key_says_what_lives_under_it(key: str, kind: str) -> None:
    assert kind_of(key) is ENTITIES[kind]


def test_requests_seen_are_spread_over_buckets() -> None:
    assert len(seen_key(1, "abcdef")) == len("seen/1/") + SEEN_PREFIX


@pytest.mark.parametrize("record_type", RECORD_BODIES)
def test_a_record_gives_back_the_body_that_it_was_given(record_type: str) -> None:
    body = sample(RECORD_BODIES[record_type])
    record = Record(
        type=record_type, id=7, uuid="u", company_id=1, version=3, created_at=1, updated_at=2, body=plain(body)  # type: ignore[arg-type]
    )  # fmt: skip
    assert body_of(record) == body
    assert rules_key(record) == f"{record_type}/7@3"
