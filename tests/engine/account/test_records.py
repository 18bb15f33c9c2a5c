"""Are records created, changed and deleted as requested, and is every error reported at once with nothing changed?"""

from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.account.groups import GROUP_INPUTS
from engine.identity import uuid_of
from schemas.instant import DAY
from schemas.problems import PROBLEMS
from schemas.records import (
    RECORD_BODIES,
    ApiKey,
    Buyer,
    BuyerGroup,
    Company,
    Number,
    Offer,
    OutgoingWebhook,
    Schedule,
    Subscription,
    TrafficSource,
    TriggerFields,
)
from schemas.requests import RecordChangeRequested
from schemas.schedule import STEP_KINDS, CallStep, Connect
from tests.engine.account.conftest import NOW, TOKEN, AccountWorld

HASH = "a" * 64

WHOLE: dict[str, dict[str, Any]] = {
    "offer": {"name": "Solar", "lead_token": TOKEN, "time_zone": "Eastern Time (US & Canada)", "hours_to_expire": "48"},
    "schedule": {"name": "Days", "lead_token": TOKEN, "steps": [{"id": "text", "kind": "sms", "template": "Hi"}]},
    "buyer": {"name": "Roofs", "number": "+1 (305) 555-0123", "user_buyer_id": "roofs", "tier": "-2", "weight": 3},
    "buyer_group": {"name": "Closers", "concurrency_cap_limit": 3, "attempt_hourly_limit": "10", "revenue_total_limit": 0},
    "traffic_source": {"name": "Ads", "user_traffic_source_id": "ads", "first_name": "Ada"},
    "number": {"number": "+13055550199", "sms": "no"},
    "outgoing_webhook": {"name": "CRM", "url": "https://crm.example.com/leads", "headers": {"X-Key": "1"}, "method": "PUT"},
    "subscription": {
        "name": "CRM",
        "url": "https://crm.example.com/events",
        "events": ["lead_ended", "call_ended", "lead_ended"],
        "trigger_fields": {"buyer_converted": "yes"},
    },
    "api_key": {"name": "Site", "public_key": "pk_12345678", "private_key_sha256": HASH, "scopes": ["lead:update"]},
}

BODIES = {
    "offer": Offer(name="Solar", lead_token=TOKEN, time_zone="America/New_York", hours_to_expire=48),
    "buyer": Buyer(name="Roofs", number="+13055550123", user_buyer_id="roofs", tier=-2, weight=3),
    "buyer_group": BuyerGroup(
        name="Closers", concurrency_cap_limit=3, caps={"attempt_hourly": Decimal(10), "revenue_total": Decimal(0)}
    ),
    "traffic_source": TrafficSource(name="Ads", user_traffic_source_id="ads", first_name="Ada"),
    "number": Number(number="+13055550199", sms=False),
    "outgoing_webhook": OutgoingWebhook(
        name="CRM", url="https://crm.example.com/leads", headers={"X-Key": "1"}, method="PUT"
    ),
    "subscription": Subscription(
        name="CRM",
        url="https://crm.example.com/events",
        events=("lead_ended", "call_ended"),
        trigger_fields=TriggerFields(buyer_converted=True),
    ),
    "api_key": ApiKey(name="Site", public_key="pk_12345678", private_key_sha256=HASH, scopes=("lead:update",)),
}


@pytest.mark.parametrize("record_type", WHOLE)
def test_a_record_of_each_type_is_created_updated_and_deleted(account: AccountWorld, record_type: str) -> None:
    record_id = account.create(record_type, **WHOLE[record_type])
    record = account.record(record_type, record_id)
    assert (record.version, record.created_at, record.uuid) == (1, NOW, uuid_of(record_type, record_id))
    assert record.sequence == account.decider.position.sequence
    if record_type in BODIES:
        assert account.body(record_type, record_id) == BODIES[record_type]

    account.now += 5
    field = "voice" if record_type == "number" else "name"
    answer = account.update(record_type, record_id, **{field: "no" if field == "voice" else "Other"})
    assert (answer.status, answer.extra["version"]) == (200, 2)
    record = account.record(record_type, record_id)
    assert (record.version, record.updated_at, record.created_at) == (2, NOW + 5, NOW)

    assert account.delete(record_type, record_id).status == 200
    record = account.record(record_type, record_id)
    assert (record.version, record.deleted_at) == (3, NOW + 5)
    assert account.body(record_type, record_id) is not None
    assert account.update(record_type, record_id, name="x").code == "deleted"
    assert account.delete(record_type, record_id).code == "deleted"


def test_a_company_has_the_id_that_its_creator_chose(account: AccountWorld) -> None:
    assert account.create("company", company_id=5, id=5, name="Five") == 5
    assert account.record("company", 5).company_id == 5
    assert account.change("create", "company", company_id=5, name="Again").code == "duplicate_value"
    refused = account.change("create", "company", company_id=6, id=7, name="Six")
    assert (refused.code, list(refused.errors)) == ("validation_failed", ["id"])
    assert isinstance(account.body("company", 5), Company)


def test_nothing_is_created_in_a_company_that_is_not_there(account: AccountWorld) -> None:
    assert account.change("create", "traffic_source", company_id=9, name="x").code == "not_found"
    account.create("company", company_id=9, name="Nine")
    account.change("delete", "company", 9, company_id=9)
    assert account.change("create", "traffic_source", company_id=9, name="x").code == "deleted"


def test_another_companys_record_is_as_unknown_as_a_missing_one(account: AccountWorld) -> None:
    account.create("company", company_id=2, name="Two")
    theirs = account.create("traffic_source", company_id=2, name="Theirs")
    for operation in ("update", "delete"):
        assert account.change(operation, "traffic_source", theirs, name="Mine").code == "not_found"
        assert account.change(operation, "traffic_source", 999, name="Mine").code == "not_found"
    assert account.change("create", "buyer_group", name="G", buyer_ids=[theirs]).code == "validation_failed"


@pytest.mark.parametrize(
    ("record_type", "fields", "bad"),
    [
        ("offer", {}, {"name", "lead_token"}),
        ("offer", {"name": " ", "lead_token": "short", "time_zone": "Mars", "country": "ZZ"},
         {"name", "lead_token", "time_zone", "country"}),
        ("offer", {"name": "x", "lead_token": TOKEN, "colour": "red", "paused": "maybe"}, {"colour", "paused"}),
        ("offer", {"name": "x", "lead_token": TOKEN, "buyer_ids": [99], "buyer_group_ids": "1"},
         {"buyer_ids", "buyer_group_ids"}),
        ("schedule", {"name": "x", "lead_token": TOKEN, "offer_id": 99, "max_contact_attempts": 0, "hours_to_expire": -1},
         {"offer_id", "max_contact_attempts", "hours_to_expire"}),
        ("schedule", {"name": "x", "lead_token": TOKEN, "duplicate_policy": "ignore", "on_conversion": "move"},
         {"duplicate_policy", "on_conversion"}),
        ("buyer", {"name": "x" * 256, "number": "305", "timeout_seconds": 5, "tier": "low", "weight": -1},
         {"name", "number", "timeout_seconds", "tier", "weight"}),
        ("buyer", {"name": "x", "number": "sip:nobody"}, {"number"}),
        ("buyer_group", {"name": "x", "attempt_hourly_limit": -1, "reset_total_caps": "perhaps", "caps": {}},
         {"attempt_hourly_limit", "reset_total_caps", "caps"}),
        ("buyer_group", {"name": "x", "concurrency_cap_limit": -1, "paused_at": 5, "dial_buyers_type": "all"},
         {"concurrency_cap_limit", "paused_at", "dial_buyers_type"}),
        ("buyer_group", {"name": "x", "business_hours": [{"days": ["mon"], "open": "9", "close": "17:00"}]},
         {"business_hours"}),
        ("buyer", {"name": "x", "number": "+13055550199", "business_hours": {"mon": "9-5"}}, {"business_hours"}),
        ("buyer", {"name": "x", "number": "+13055550199", "business_hours": [{"days": ["mon"], "open": "09:00"}]},
         {"business_hours"}),
        ("number", {"number": "12"}, {"number"}),
        ("outgoing_webhook", {"name": "x", "url": "ftp://x", "method": "GET", "headers": {"Host": "x"}},
         {"url", "method", "headers"}),
        ("outgoing_webhook", {"name": "x", "url": "https://user:pw@example.com", "headers": {"X": "a\r\nb"}},
         {"url", "headers"}),
        ("api_key", {"name": "x", "public_key": "p", "private_key_sha256": "plain", "scopes": [], "ip_allow_list": ["x"]},
         {"public_key", "private_key_sha256", "scopes", "ip_allow_list"}),
        ("company", {"id": 1, "name": None}, {"name"}),
    ],
)  # fmt: skip
def test_all_bad_fields_are_reported_at_once(
    account: AccountWorld, record_type: str, fields: dict[str, Any], bad: set[str]
) -> None:
    answer = account.change("create", record_type, **fields)
    assert (answer.code, answer.status) == ("validation_failed", 422)
    assert set(answer.errors) == bad
    assert all(sentences and all(sentences) for sentences in answer.errors.values())


def test_buyers_of_a_group_are_dialled_one_at_a_time_or_all_at_once(account: AccountWorld) -> None:
    group_id = account.create("buyer_group", name="Closers", dial_buyers_type="simultaneously")
    body = account.body("buyer_group", group_id)
    assert isinstance(body, BuyerGroup)
    assert body.dial_buyers_type == "simultaneously"
    assert account.update("buyer_group", group_id, dial_buyers_type="sequentially").code is None
    refused = account.update("buyer_group", group_id, dial_buyers_type="in turn")
    assert (refused.code, set(refused.errors)) == ("validation_failed", {"dial_buyers_type"})


def test_an_unknown_type_is_answered_with_those_that_are_known(account: AccountWorld) -> None:
    answer = account.change("create", "team", name="x")
    assert answer.code == "validation_failed"
    assert "buyer_group" in (answer.detail or "")


def test_a_refused_change_changes_nothing(account: AccountWorld) -> None:
    offer_id = account.create("offer", name="Solar", lead_token=TOKEN)
    before = account.record("offer", offer_id)
    account.update("offer", offer_id, name="Other", hours_to_expire=0)
    assert account.record("offer", offer_id) == before


def test_a_change_of_nothing_makes_no_version(account: AccountWorld) -> None:
    offer_id = account.create("offer", name="Solar", lead_token=TOKEN)
    assert account.update("offer", offer_id, name="Solar").extra["version"] == 1
    assert account.record("offer", offer_id).version == 1


def test_an_emptied_field_has_its_default_again(account: AccountWorld) -> None:
    buyer_id = account.buyer(tier=5, user_buyer_id="one", concurrency_cap_limit=2)
    account.update("buyer", buyer_id, tier=None, user_buyer_id="", concurrency_cap_limit=None)
    assert account.body("buyer", buyer_id) == Buyer(name="Buyer", number="+13055550100")


def test_what_was_asked_within_a_day_is_not_done_again(account: AccountWorld) -> None:
    request = RecordChangeRequested(company_id=1, type="traffic_source", operation="create", fields={"name": "Ads"})
    verdicts = []
    for later in (0, 1000, DAY):
        account.now = NOW + later
        verdicts.append(account.ask(request, request_id="once").decision.verdict)
    assert verdicts == ["done", "repeated", "done"]


def test_a_refused_request_may_be_sent_again_under_its_id(account: AccountWorld) -> None:
    assert account.change("create", "traffic_source", request_id="once").code == "validation_failed"
    assert account.change("create", "traffic_source", request_id="once", name="Ads").status == 201


def test_problems_are_those_of_the_catalogue(account: AccountWorld) -> None:
    assert {account.change("create", "offer").code, account.delete("offer", 5).code} <= PROBLEMS.keys()


class TestUniqueValues:
    def test_a_lead_token_is_of_one_offer_or_schedule(self, account: AccountWorld) -> None:
        offer_id = account.create("offer", name="Solar", lead_token=TOKEN)
        answer = account.change("create", "schedule", name="Days", lead_token=TOKEN)
        assert (answer.code, list(answer.errors)) == ("duplicate_value", ["lead_token"])
        account.update("offer", offer_id, lead_token=TOKEN + "x")
        account.create("schedule", name="Days", lead_token=TOKEN)

    def test_a_deleted_record_gives_its_values_back(self, account: AccountWorld) -> None:
        buyer_id = account.buyer(user_buyer_id="one")
        assert (
            account.change("create", "buyer", name="B", number="+13055550111", user_buyer_id="one").code == "duplicate_value"
        )
        account.delete("buyer", buyer_id)
        account.buyer(user_buyer_id="one")

    def test_another_company_may_have_the_same(self, account: AccountWorld) -> None:
        account.create("company", company_id=2, name="Two")
        account.create("number", number="+13055550199")
        account.create("number", company_id=2, number="+13055550199")

    def test_the_public_half_of_a_key_never_changes(self, account: AccountWorld) -> None:
        key_id = account.create("api_key", **WHOLE["api_key"])
        assert list(account.update("api_key", key_id, public_key="pk_87654321").errors) == ["public_key"]
        assert (
            account.update("api_key", key_id, public_key="pk_12345678", revoked_at="2026-03-07 21:30:00 -0500").status == 200
        )


class TestReferences:
    def test_what_is_referred_to_cannot_be_deleted(self, account: AccountWorld) -> None:
        buyer_id, other_id = account.buyer(), account.buyer(1)
        group_id = account.group(buyer_id)
        offer_id = account.create("offer", name="Solar", lead_token=TOKEN, buyer_group_ids=[group_id])
        hook_id = account.create("outgoing_webhook", name="CRM", url="https://crm.example.com")
        steps = [
            {"id": "call", "kind": "call", "connect": {"buyer_ids": [other_id]}},
            {"id": "tell", "kind": "webhook", "outgoing_webhook_id": hook_id},
        ]
        schedule_id = account.create("schedule", name="Days", lead_token=TOKEN + "s", offer_id=offer_id, steps=steps)
        kept = {"buyer": buyer_id, "buyer_group": group_id, "offer": offer_id, "outgoing_webhook": hook_id}
        for record_type, record_id in kept.items():
            assert account.delete(record_type, record_id).code == "record_in_use", record_type
        assert f"schedule {schedule_id}" in (account.delete("buyer", other_id).detail or "")

        account.delete("schedule", schedule_id)
        account.update("offer", offer_id, buyer_group_ids=[])
        for record_type in ("buyer_group", "buyer", "offer", "outgoing_webhook"):
            assert account.delete(record_type, kept[record_type]).status == 200, record_type
        assert account.delete("buyer", other_id).status == 200

    def test_a_schedule_that_leads_are_moved_to_stays_and_one_that_moves_to_itself_can_go(
        self, account: AccountWorld
    ) -> None:
        goal_id = account.create("schedule", name="Later", lead_token=TOKEN)
        steps = [{"id": "on", "kind": "move_to_schedule", "schedule_id": goal_id}]
        schedule_id = account.create("schedule", name="Days", lead_token=TOKEN + "s", steps=steps)
        assert account.delete("schedule", goal_id).code == "record_in_use"
        account.update("schedule", schedule_id, steps=[steps[0] | {"schedule_id": schedule_id}])
        assert account.delete("schedule", goal_id).status == 200
        assert account.delete("schedule", schedule_id).status == 200
        refused = account.change("create", "schedule", name="Days", lead_token=TOKEN, steps=steps)
        assert list(refused.errors) == ["steps[0].schedule_id"]

    def test_what_a_schedule_names_must_be_there(self, account: AccountWorld) -> None:
        steps = [
            {"id": "call", "kind": "call", "connect": {"buyer_group_id": 98}},
            {"id": "tell", "kind": "webhook", "outgoing_webhook_id": 99},
        ]
        answer = account.change("create", "schedule", name="Days", lead_token=TOKEN, steps=steps)
        assert answer.code == "invalid_schedule"
        assert set(answer.errors) == {"steps[0].connect.buyer_group_id", "steps[1].outgoing_webhook_id"}
        group_id = account.group()
        schedule_id = account.create(
            "schedule",
            name="Days",
            lead_token=TOKEN,
            steps=[{"id": "c", "kind": "call", "connect": {"buyer_group_id": group_id}}],
        )
        body = account.body("schedule", schedule_id)
        assert isinstance(body, Schedule)
        assert body.steps == (CallStep(id="c", connect=Connect(buyer_group_id=group_id)),)

    def test_a_step_may_name_several_groups_each_of_which_stays_while_it_does(self, account: AccountWorld) -> None:
        groups = [account.group(), account.group()]
        steps = [{"id": "c", "kind": "call", "connect": {"buyer_group_ids": groups}}]
        schedule_id = account.create("schedule", name="Days", lead_token=TOKEN, steps=steps)
        assert [account.delete("buyer_group", group_id).code for group_id in groups] == ["record_in_use"] * 2
        refused = account.update(
            "schedule", schedule_id, steps=[{"id": "c", "kind": "call", "connect": {"buyer_group_ids": [groups[0], 97]}}]
        )
        assert set(refused.errors) == {"steps[0].connect.buyer_group_ids"}
        account.update(
            "schedule", schedule_id, steps=[{"id": "c", "kind": "call", "connect": {"buyer_group_ids": groups[1:]}}]
        )
        assert [account.delete("buyer_group", group_id).code for group_id in groups] == [None, "record_in_use"]


class TestBuyerGroups:
    def buyers_of(self, account: AccountWorld, group_id: int) -> tuple[int, ...]:
        body = account.body("buyer_group", group_id)
        assert isinstance(body, BuyerGroup)
        return body.buyer_ids

    def test_adding_and_removing_come_after_replacing(self, account: AccountWorld) -> None:
        one, two, three = (account.buyer(n, user_buyer_id=f"b{n}") for n in range(3))
        group_id = account.group(one)
        account.update("buyer_group", group_id, buyer_ids=[two], add_buyer_ids=[three, two], remove_buyer_ids=[one])
        assert self.buyers_of(account, group_id) == (two, three)
        account.update("buyer_group", group_id, add_user_buyer_ids=["b0"], remove_user_buyer_ids=["b1"])
        assert self.buyers_of(account, group_id) == (three, one)
        account.update("buyer_group", group_id, add_buyer_ids=[one], remove_buyer_ids=[two])
        assert self.buyers_of(account, group_id) == (three, one)

    def test_adding_and_removing_commute(self, account: AccountWorld) -> None:
        one, two, three = (account.buyer(n) for n in range(3))
        changes: list[dict[str, Any]] = [{"add_buyer_ids": [two]}, {"remove_buyer_ids": [one]}, {"add_buyer_ids": [three]}]
        ends = set()
        for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
            group_id = account.group(one)
            for place in order:
                account.update("buyer_group", group_id, **changes[place])
            ends.add(frozenset(self.buyers_of(account, group_id)))
        assert ends == {frozenset({two, three})}

    def test_an_unknown_buyer_is_named(self, account: AccountWorld) -> None:
        answer = account.change(
            "create", "buyer_group", name="G", buyer_ids=[91], add_buyer_ids=[92], remove_buyer_ids=[93],
            add_user_buyer_ids=["nobody"],
        )  # fmt: skip
        assert answer.code == "validation_failed"
        assert "91" in answer.errors["buyer_ids"][0]
        assert "92" in answer.errors["add_buyer_ids"][0]
        assert "93" in answer.errors["remove_buyer_ids"][0]
        assert "nobody" in answer.errors["add_user_buyer_ids"][0]

    def test_pausing_and_resuming_are_dated(self, account: AccountWorld) -> None:
        group_id = account.group()
        account.now += 1
        account.update("buyer_group", group_id, paused="yes")
        account.now += 1
        account.update("buyer_group", group_id, paused="no", name="Other")
        body = account.body("buyer_group", group_id)
        assert isinstance(body, BuyerGroup)
        assert (body.paused, body.paused_at, body.unpaused_at) == (False, NOW + 1, NOW + 2)

    def test_a_cap_is_set_closed_and_lifted(self, account: AccountWorld) -> None:
        group_id = account.group(attempt_daily_limit=5)
        account.update("buyer_group", group_id, attempt_daily_limit=0, connection_hourly_limit="2.5")
        body = account.body("buyer_group", group_id)
        assert isinstance(body, BuyerGroup)
        assert body.caps == {"attempt_daily": 0.0, "connection_hourly": 2.5}
        account.update("buyer_group", group_id, attempt_daily_limit=None, connection_hourly_limit="")
        assert account.body("buyer_group", group_id) == BuyerGroup(name="Closers")


def test_a_record_that_no_decision_could_hold_is_refused(account: AccountWorld) -> None:
    steps = [{"id": f"mail{n}", "kind": "email", "subject": "Hi", "template": "x" * 60_000} for n in range(5)]
    answer = account.change("create", "schedule", name="Long", lead_token=TOKEN, steps=steps)
    assert (answer.code, answer.status) == ("too_large", 413)


_plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12)
_any = st.recursive(
    _plain | st.sampled_from(["call", "+13055550123", "1d", TOKEN, "UTC", "US", "https://a.example", [1], [10**30]]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_step = st.fixed_dictionaries(
    {"kind": st.sampled_from([*STEP_KINDS, "nap"])},
    optional={
        name: _any | st.sampled_from(["a", "b"])
        for name in sorted({field for kind in STEP_KINDS.values() for field in kind.__struct_fields__})
    },
)


@st.composite
def _changes(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    record_type = draw(st.sampled_from(sorted(RECORD_BODIES)))
    names = [*RECORD_BODIES[record_type].__struct_fields__, *(GROUP_INPUTS if record_type == "buyer_group" else ()), "odd"]
    fields = draw(st.dictionaries(st.sampled_from(sorted(names)), _any, max_size=6))
    if record_type == "schedule" and draw(st.booleans()):
        fields["steps"] = draw(st.lists(_step, max_size=3))
    return draw(st.sampled_from(["create", "update"])), record_type, WHOLE.get(record_type, {"name": "x"}) | fields


@settings(max_examples=300, deadline=None)
@given(st.lists(_changes(), max_size=4))
def test_whatever_is_asked_is_done_or_refused_and_never_fails(changes: list[tuple[str, str, dict[str, Any]]]) -> None:
    account = AccountWorld()
    for operation, record_type, fields in changes:
        record_id = None
        if operation == "update":
            record_id = account.change("create", record_type, **WHOLE.get(record_type, {})).record_id or 1
        request = RecordChangeRequested(company_id=1, type=record_type, operation="create", fields=fields)
        if operation == "update":
            request = msgspec.structs.replace(request, operation="update", id=record_id)
        decision = account.ask(request).decision
        assert decision.verdict in {"done", "refused"}, (decision.error, fields)
        assert decision.answer is not None
        assert decision.verdict == "done" or decision.answer.code in PROBLEMS


@pytest.mark.parametrize(
    ("record_type", "name"),
    [(kind, name) for kind in sorted(RECORD_BODIES) for name in RECORD_BODIES[kind].__struct_fields__],
)
def test_every_field_of_a_record_can_be_asked_for(record_type: str, name: str) -> None:
    for value in ("x", "2026-07-15", 7, True):
        fields = WHOLE.get(record_type, {"name": "x"}) | {name: value}
        decision = (
            AccountWorld()
            .ask(RecordChangeRequested(company_id=1, type=record_type, operation="create", fields=fields))
            .decision
        )
        assert decision.verdict in {"done", "refused"}, decision.error


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        ("https://example.com/leads", True),
        ("http://hooks_1.example.com:8080/a*b?c=d", True),
        ("https://192.0.2.1/", True),
        ("https://[2001:db8::1]/leads", True),
        ("https://example.com*/leads", False),
        ("https://exa mple.com", False),
        ("https:///leads", False),
        ("https://user:secret@example.com", False),
        ("ftp://example.com", False),
    ],
)
def test_the_address_of_a_webhook_has_a_host(url: str, is_taken: bool) -> None:
    fields = WHOLE.get("outgoing_webhook", {"name": "x"}) | {"url": url}
    asked = RecordChangeRequested(company_id=1, type="outgoing_webhook", operation="create", fields=fields)
    assert (AccountWorld().ask(asked).decision.verdict == "done") is is_taken


def test_facts_say_who_asked_and_facts_of_nobody_say_nothing(account: AccountWorld) -> None:
    actor = "key/7;ada@example.com;192.0.2.1"
    request = RecordChangeRequested(company_id=1, type="buyer_group", operation="create", fields={"name": "G"})
    by = [[fact.data.get("by") for fact in account.ask(request, actor=one).decision.facts] for one in (actor, None)]
    assert by == [[actor], [None]]
