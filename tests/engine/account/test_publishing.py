"""Does a draft affect no lead until it is published, and does publishing report what it did?"""

from typing import Any, cast

from schemas.records import Schedule
from tests.engine.account.conftest import AccountWorld

STEPS = [{"id": "text-1", "kind": "sms", "template": "Hi"}]
OTHERS = [{"id": "text-2", "kind": "sms", "template": "Hello"}]
TOKEN = "a-token-of-one-schedule"


def schedule(account: AccountWorld, record_id: int) -> Schedule:
    return cast("Schedule", account.body("schedule", record_id))


def made(account: AccountWorld, **fields: Any) -> int:
    return account.create("schedule", name="Solar", lead_token=TOKEN, steps=STEPS, **fields)


def test_an_update_is_published_at_once(account: AccountWorld) -> None:
    record_id = made(account)
    first = schedule(account, record_id).published_at
    account.now += 1000

    account.update("schedule", record_id, steps=OTHERS)

    assert schedule(account, record_id).steps[0].id == "text-2"
    assert (first, schedule(account, record_id).published_at) == (account.now - 1000, account.now)


def test_drafts_are_laid_over_each_other_and_published_together(account: AccountWorld) -> None:
    record_id = made(account)
    account.update("schedule", record_id, draft=True, steps=OTHERS)
    account.update("schedule", record_id, draft=True, hours_to_expire=12)
    before = schedule(account, record_id)
    assert (before.steps[0].id, before.hours_to_expire) == ("text-1", None)

    account.change("publish", "schedule", record_id)

    after = schedule(account, record_id)
    assert (after.steps[0].id, after.hours_to_expire, after.draft_fields) == ("text-2", 12, {})


def test_what_is_published_beside_a_draft_leaves_it_waiting(account: AccountWorld) -> None:
    record_id = made(account)
    account.update("schedule", record_id, draft=True, steps=OTHERS)
    account.update("schedule", record_id, paused=True)
    assert schedule(account, record_id).draft_fields == {"steps": OTHERS}

    account.change("publish", "schedule", record_id)

    assert (schedule(account, record_id).paused, schedule(account, record_id).steps[0].id) == (True, "text-2")


def test_a_draft_that_refers_to_what_has_gone_is_refused_when_it_is_published(account: AccountWorld) -> None:
    record_id = made(account)
    hook = account.create("outgoing_webhook", name="CRM", url="https://example.com/hook")
    step = {"id": "hook", "kind": "webhook", "outgoing_webhook_id": hook}
    account.update("schedule", record_id, draft=True, steps=[step])
    account.delete("outgoing_webhook", hook)

    answer = account.change("publish", "schedule", record_id)

    assert (answer.code, list(answer.errors)) == ("invalid_schedule", ["steps[0].outgoing_webhook_id"])
    assert schedule(account, record_id).steps[0].id == "text-1"


def test_taking_leads_along_is_said_of_one_version_only(account: AccountWorld) -> None:
    record_id = made(account)
    account.update("schedule", record_id, steps=OTHERS, migrate="by_step_id")
    assert schedule(account, record_id).migrate == "by_step_id"

    account.update("schedule", record_id, paused=True)

    assert schedule(account, record_id).migrate == "none"


def test_a_draft_takes_no_leads_along(account: AccountWorld) -> None:
    record_id = made(account)

    answer = account.update("schedule", record_id, draft=True, steps=OTHERS, migrate="by_step_id")

    assert (answer.code, list(answer.errors)) == ("validation_failed", ["migrate"])
    new = account.change("create", "schedule", draft=True, name="New", lead_token="t", steps=OTHERS, migrate="by_step_id")
    assert list(new.errors) == ["migrate"]


def test_a_draft_may_be_sent_back_with_what_the_schedule_was_published_with(account: AccountWorld) -> None:
    record_id = made(account)
    account.update("schedule", record_id, steps=OTHERS, migrate="by_step_id")

    assert account.update("schedule", record_id, draft=True, paused=True, migrate="by_step_id").status == 200


def test_saying_what_stands_already_makes_no_version(account: AccountWorld) -> None:
    record_id = made(account)
    account.update("schedule", record_id, steps=OTHERS, migrate="by_step_id")

    account.update("schedule", record_id, steps=OTHERS)
    account.change("publish", "schedule", record_id)

    assert account.record("schedule", record_id).version == 2


def test_what_only_publishing_writes_cannot_be_sent(account: AccountWorld) -> None:
    record_id = made(account)

    answer = account.update("schedule", record_id, unpublished=True, published_at=1, draft_fields={})

    assert answer.code == "validation_failed"
    assert set(answer.errors) == {"unpublished", "published_at", "draft_fields"}


def test_only_a_schedule_is_published(account: AccountWorld) -> None:
    buyer_id = account.buyer()

    assert account.change("publish", "buyer", buyer_id).code == "validation_failed"


def test_a_draft_is_true_or_false(account: AccountWorld) -> None:
    record_id = made(account)

    assert list(account.update("schedule", record_id, draft="perhaps", steps=OTHERS).errors) == ["draft"]
