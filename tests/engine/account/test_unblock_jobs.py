"""Which unblock contact jobs may a company make? Of a span that has begun, or of all blocks where that is confirmed."""

from typing import Any

import pytest

from schemas.account import UnblockTally
from schemas.records import UnblockContactJob
from schemas.requests import UnblockSweepEnded
from schemas.state import unblocked_key
from tests.engine.account.conftest import AccountWorld

JOB = "unblock_contact_job"
SINCE = "2020-01-01T00:00:00Z"
UNTIL = "2020-01-02T00:00:00Z"


@pytest.mark.parametrize(
    "fields",
    [
        {"blocked_at_from": SINCE},
        {"blocked_at_to": UNTIL},
        {"blocked_at_from": SINCE, "blocked_at_to": UNTIL, "description": "", "request_ip": "", "last_contact_id": ""},
        {"confirm_all": True},
    ],
)
def test_a_job_has_a_bound_or_confirms_that_it_means_all(account: AccountWorld, fields: dict[str, Any]) -> None:
    body = account.body(JOB, account.create(JOB, **fields))

    assert isinstance(body, UnblockContactJob)
    assert (body.description, body.request_ip, body.last_contact_id) == (None, None, None)


@pytest.mark.parametrize(
    ("fields", "named", "word"),
    [
        ({}, ["blocked_at_from", "blocked_at_to"], "confirm_all=true"),
        ({"confirm_all": False}, ["blocked_at_from", "blocked_at_to"], "confirm_all=true"),
        ({"blocked_at_from": "", "blocked_at_to": None}, ["blocked_at_from", "blocked_at_to"], "confirm_all=true"),
        ({"blocked_at_from": UNTIL, "blocked_at_to": SINCE}, ["blocked_at_to"], "after blocked_at_from"),
        ({"blocked_at_from": SINCE, "blocked_at_to": SINCE}, ["blocked_at_to"], "after blocked_at_from"),
        ({"blocked_at_from": "2999-01-01T00:00:00Z"}, ["blocked_at_from"], "in the past"),
        ({"blocked_at_from": "yesterday"}, ["blocked_at_from"], "date and time"),
        ({"confirm_all": "maybe"}, ["confirm_all"], "true"),
        ({"confirm_all": True, "request_ip": "office"}, ["request_ip"], "192.0.2.7"),
        ({"confirm_all": True, "last_contact_id": "9" * 65}, ["last_contact_id"], "64"),
        ({"confirm_all": True, "unblock_count": 3}, ["unblock_count"], "is no field of an unblock contact job"),
    ],
)
def test_a_job_that_is_wrong_is_refused_by_field(
    account: AccountWorld, fields: dict[str, Any], named: list[str], word: str
) -> None:
    errors = account.change("create", JOB, **fields).errors

    assert sorted(errors) == named
    assert all(word in sentences[0] for sentences in errors.values())


def test_a_job_is_made_once_and_never_changed(account: AccountWorld) -> None:
    record_id = account.create(JOB, blocked_at_from=SINCE)

    refused = account.change("update", JOB, record_id, blocked_at_from=UNTIL, description="x")

    assert sorted(refused.errors) == ["blocked_at_from", "description"]
    assert account.delete(JOB, record_id).status == 200


def ended(account: AccountWorld, job_id: int, count: int, failed: int = 0, *, company_id: int = 1) -> None:
    """Let one of two partitions report that it is done."""
    report = UnblockSweepEnded(
        company_id=company_id, job_id=job_id, contact_partitions=2, unblock_count=count, failed_count=failed
    )
    assert account.ask(report).decision.error is None


def finished(account: AccountWorld) -> list[dict[str, Any]]:
    return [fact.data for fact in account.facts if fact.type == "unblock_job.finished"]


def test_the_last_partition_finishes_the_job() -> None:
    account = AccountWorld()
    job_id = account.create(JOB, confirm_all=True)

    ended(account, job_id, 3)
    assert finished(account) == []
    ended(account, job_id, 4, failed=1)

    assert finished(account) == [{"record_type": JOB, "record_id": job_id, "unblock_count": 7, "failed_count": 1}]
    assert account.state.get(unblocked_key(job_id), UnblockTally) is None


def test_a_job_that_is_deleted_is_never_finished() -> None:
    account = AccountWorld()
    job_id = account.create(JOB, confirm_all=True)
    ended(account, job_id, 3)

    assert account.delete(JOB, job_id).status == 200
    assert account.state.get(unblocked_key(job_id), UnblockTally) is None
    ended(account, job_id, 4)

    assert finished(account) == []
    assert account.state.get(unblocked_key(job_id), UnblockTally) is None


def test_a_report_about_the_job_of_another_company_counts_nothing() -> None:
    account = AccountWorld()
    account.create("company", company_id=2, name="Rainy")
    job_id = account.create(JOB, confirm_all=True)

    for _ in range(2):
        ended(account, job_id, 1, company_id=2)

    assert finished(account) == []
