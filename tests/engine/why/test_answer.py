"""Was, or will, this lead be acted on, and if not, which rule? Each answer in its sentence and in its data."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.law.pack import default_pack
from engine.preview import preview, read_trial
from engine.why.model import Explanation, shown
from schemas.contact import LIVE_STATUSES, CallbackOwner
from schemas.instant import DAY, EPOCH, HOUR, MINUTE, SECOND, Instant, to_rfc3339
from schemas.records import Agent, Buyer, BuyerGroup, CallCenter, Offer, Schedule, Subscription
from schemas.requests import CallStartRequested, SlotAnswered
from tests.engine.contact.world import KEY, NEW_YORK, NOON, at
from tests.engine.why.explained_world import TOPIC, ExplainedWorld

CALL: dict[str, Any] = {"id": "call-1", "kind": "call"}
AGAIN: dict[str, Any] = {**CALL, "retry": {"no_answer": {"delay": "2h", "max": 2}}}
TEXT: dict[str, Any] = {"id": "text-1", "kind": "sms", "template": "Hi"}
OFFICE = {"call": [{"days": ["mon", "tue", "wed", "thu", "fri"], "open": "09:00", "close": "20:00"}]}


FLORIDA = "Florida allows calls from 8:00 to 20:00"


def wait(duration: str) -> dict[str, Any]:
    return {"id": "pause", "kind": "wait", "duration": duration}


def asked(*steps: dict[str, Any], now: str = "2026-07-15 12:00", **fields: Any) -> ExplainedWorld:
    """A world with a schedule of these steps, asked at a time of New York."""
    world = ExplainedWorld(now=at(now))
    world.schedule(*steps, **fields)
    return world


def verdict_and_sentence(answer: Explanation) -> tuple[str, str]:
    return answer.verdict, answer.sentence


# -- now ---------------------------------------------------------------------------------------------------------------


def test_the_law_of_a_state_is_named_with_its_hours_and_its_source() -> None:
    world = asked(CALL, now="2026-07-15 20:14")
    world.submit(states=("FL",))
    answer = world.why()
    assert verdict_and_sentence(answer) == (
        "held",
        "Florida allows calls from 8:00 to 20:00; it is 20:14 for this lead (America/New_York). Next try: Thu 8:00.",
    )
    (reason,) = answer.reasons
    assert (reason.code, reason.until, reason.zone) == ("quiet_hours_state", at("2026-07-16 08:00"), NEW_YORK)
    assert (reason.rule, reason.source_url) == ("us-fl", default_pack().rules["us-fl"].source_url)
    assert answer.next_action_at == at("2026-07-16 08:00")
    assert (answer.step_id, answer.kind, answer.source, answer.base) == ("call-1", "call", "schedule_step", world.now)


def test_an_answer_names_the_decision_that_it_rests_on() -> None:
    world = asked(CALL, now="2026-07-15 22:00")
    world.submit()
    decision = world.why().decision
    assert decision is not None
    assert (decision.topic, decision.at, decision.type) == (TOPIC, world.now, "lead.waiting")
    assert decision.sequence == world.lead_facts[-1][1].sequence
    assert shown(world.why(), world.lead())["decision"]["data"]["constraints"] == [
        {"code": "quiet_hours_federal", "until": at("2026-07-16 08:00"), "zone": NEW_YORK, "rules": ["us-federal"]}
    ]


def test_what_the_schedule_demands_is_said_beside_the_law() -> None:
    world = asked(CALL, now="2026-07-17 21:30", windows=OFFICE)
    world.submit()
    assert world.why().sentence == (
        "US federal law allows calls from 8:00 to 21:00, and the schedule allows calls Mon-Fri from 9:00 to 20:00; "
        "it is 21:30 for this lead (America/New_York). Next try: Mon 9:00."
    )
    assert world.why(at("2026-07-18 12:00")).sentence == (
        "The schedule allows calls Mon-Fri from 9:00 to 20:00; it will be 12:00 for this lead (America/New_York). "
        "Next try: Mon 9:00."
    )


def test_before_its_time_nothing_is_due() -> None:
    world = asked(wait("3h"), TEXT)
    world.submit()
    assert verdict_and_sentence(world.why()) == (
        "not_due",
        "Nothing is due: a text (step text-1) comes at Wed 15:00; it is 12:00 for this lead (America/New_York).",
    )


def test_where_nothing_is_due_it_is_said_whether_a_contact_would_be_allowed_then() -> None:
    world = asked(wait("2d"), CALL)
    world.submit(states=("FL",))
    night, day = world.why(at("2026-07-16 20:30")), world.why(at("2026-07-16 13:00"))
    assert (night.verdict, day.verdict) == ("not_due", "not_due")
    assert night.sentence.endswith(f"Nor would a call be allowed then: {FLORIDA}.")
    assert shown(night, world.lead())["contact"]["allowed"] is False
    assert [reason["rule"] for reason in shown(night, world.lead())["contact"]["reasons"]] == ["us-fl"]
    assert shown(day, world.lead())["contact"] == {"step_id": "call-1", "kind": "call", "allowed": True, "reasons": []}
    assert "Nor would" not in day.sentence


def test_while_an_outcome_is_awaited_that_is_the_reason() -> None:
    world = asked(CALL)
    world.submit()
    world.wait(90)
    assert verdict_and_sentence(world.why()) == (
        "running",
        "A call (step call-1) has been on its way since Wed 12:00, and its outcome is not known yet.",
    )
    assert [reason.code for reason in world.why().reasons] == ["awaiting_outcome"]


@pytest.mark.parametrize(
    ("arrange", "sentence"),
    [
        ({"schedule": True}, "The schedule is paused; it is 12:00 for this lead (America/New_York)."),
        ({"buyer": True}, "No buyer is available to connect the call to; it is 12:00 for this lead (America/New_York)."),
    ],
)
def test_what_holds_a_due_lead_is_said_and_when_it_is_looked_at_again(arrange: dict[str, bool], sentence: str) -> None:
    world = asked({**CALL, "connect": {"buyer_ids": [9]}}, paused=arrange.get("schedule", False))
    world.add("buyer", 9, Buyer(name="Ann", number="+13055550199", paused=arrange.get("buyer", False)))
    world.submit()
    answer = world.why()
    looks = "" if arrange.get("schedule") else " It is looked at again at Wed 12:00."
    assert verdict_and_sentence(answer) == ("held", f"{sentence}{looks}")
    assert answer.next_action_at == world.lead().recheck_at


def test_a_lead_that_asked_for_a_line_is_held_until_there_is_room_and_the_future_assumes_room() -> None:
    world = asked({**CALL, "connect": {"buyer_group_id": 7}})
    world.add("buyer", 9, Buyer(name="Ann", number="+13055550199"))
    world.add("buyer_group", 7, BuyerGroup(name="East", buyer_ids=(9,), concurrency_cap_limit=1))
    world.submit()
    assert world.lead().slot_id is not None
    answer = world.why()
    assert answer.verdict == "would_act"  # the answer to a question for a line takes milliseconds
    assert answer.assumed

    world.wait(90)
    answer = world.why()
    assert (answer.verdict, [reason.code for reason in answer.reasons]) == ("held", ["concurrency_cap"])
    assert not answer.assumed
    assert world.why(world.now + HOUR).verdict != "held"


AGENTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "of the step": ({**CALL, "connect": {"agents": {"agent_ids": [4]}}}, {}),
    "of the offer": (CALL, {"agent_ids": (4,)}),
}


@pytest.mark.parametrize("named", AGENTS)
def test_a_lead_that_waits_for_an_agent_says_so_and_speaks_of_no_buyer(named: str) -> None:
    step, offer = AGENTS[named]
    world = asked(step)
    world.add("agent", 4, Agent(name="Ann", number="+13055550188"))
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", time_zone=NEW_YORK, **offer), version=2)
    world.submit()
    world.wait(90)
    answer = world.why()
    assert (answer.verdict, [reason.code for reason in answer.reasons]) == ("held", ["concurrency_cap"])
    assert answer.sentence.startswith("No agent who may take this call is available;")


def test_a_lead_whose_buyers_have_used_up_their_caps_is_held_until_the_reset() -> None:
    world = asked({**CALL, "connect": {"buyer_group_id": 7}})
    world.add("buyer", 9, Buyer(name="Ann", number="+13055550199"))
    world.add("buyer_group", 7, BuyerGroup(name="East", buyer_ids=(9,), caps={"attempt_hourly": Decimal("1.0")}))
    lead = world.submit()
    about: dict[str, Any] = {"company_id": 1, "contact_key": KEY, "lead_id": lead.id, "request_id": lead.slot_id or ""}
    refusal = SlotAnswered(**about, granted=False, reason="buyer_cap", until=NOON + 60 * MINUTE)
    world.ask(refusal, stream="accounts/0")
    sentence = (
        "The caps of the buyers that may take this call are used up until they are reset; "
        "it is 12:00 for this lead (America/New_York). It is looked at again at Wed 13:00."
    )
    assert verdict_and_sentence(world.why()) == ("held", sentence)
    assert world.why().next_action_at == world.lead().next_action_at == NOON + 60 * MINUTE


def test_until_somebody_says_how_a_call_went_the_lead_waits_for_that() -> None:
    world = asked({**CALL, "await_disposition": "30m"}, wait("1h"), TEXT)
    world.submit()
    world.outcome("connected_human")
    answer = world.why()
    assert (answer.verdict, [reason.code for reason in answer.reasons]) == ("held", ["awaiting_disposition"])
    assert answer.sentence.endswith("It is looked at again at Wed 12:30.")
    assert answer.next_action_at == world.lead().disposition_due_at
    assert world.why(NOON + 90 * MINUTE).verdict == "would_act"


def test_hours_that_never_meet_are_said_with_no_next_try() -> None:
    """E10."""
    world = asked(CALL, windows={"call": [{"days": ["mon"], "open": "02:00", "close": "04:00"}]})
    world.submit()
    answer = world.why()
    assert (answer.verdict, answer.next_action_at) == ("held", None)
    assert answer.sentence == (
        "The hours of the schedule never meet those that the law allows where this lead may be; "
        "it is 12:00 for this lead (America/New_York). No next try is known."
    )


def test_a_lead_that_expires_first_is_reported_in_advance() -> None:
    """E11: the expiry comes before the next legal hour."""
    world = asked(CALL, now="2026-07-15 22:00", hours_to_expire=5)
    world.submit()
    answer = world.why()
    assert (answer.verdict, answer.next_action_at) == ("held", None)
    assert answer.sentence.endswith("It expires at Thu 3:00, before the next allowed time, Thu 8:00.")
    assert world.why(at("2026-07-16 03:00")).verdict == "ended"


def test_a_step_behind_a_wait_that_ends_too_late_is_explained_with_what_it_misses() -> None:
    world = asked(wait("3h"), CALL, now="2026-07-15 18:00", hours_to_expire=8, windows=OFFICE)
    world.submit()
    assert verdict_and_sentence(world.why()) == (
        "not_due",
        (
            "Nothing is due: a call (step call-1) is planned for Wed 21:00, but US federal law allows calls from 8:00 to "
            "21:00, and the schedule allows calls Mon-Fri from 9:00 to 20:00; it is 18:00 for this lead (America/New_York). "
            "It expires at Thu 2:00, before the next allowed time, Thu 9:00."
        ),
    )


def test_a_cap_is_said_with_what_it_allows_and_to_the_second() -> None:
    """E12: the fourth contact in Florida, 24 h after the first."""
    calls = [{**CALL, "id": f"call-{number}"} for number in range(4)]
    pauses = [{**wait(span), "id": f"pause-{number}"} for number, span in enumerate(("3h", "3h", "30m"))]
    steps = [calls[0], *(step for pair in zip(pauses, calls[1:], strict=True) for step in pair)]
    world = asked(*steps, now="2026-07-15 09:00")
    world.submit(states=("FL",))
    for _ in range(3):
        world.outcome("connected_human")
        world.wait(3 * 3_600)
    world.now = at("2026-07-15 15:30")
    answer = world.why()
    assert answer.verdict == "held"
    assert answer.sentence == (
        "Florida allows 3 calls and texts in 24h to one number, and they were made; "
        "it is 15:30 for this lead (America/New_York). Next try: Thu 9:00."
    )
    assert [(reason.code, reason.rule) for reason in answer.reasons] == [("frequency_cap", "us-fl")]


def test_a_callback_goes_before_the_step_and_is_explained_as_such() -> None:
    """E3: promised for a time that the clock leaves out, kept at the first legal hour."""
    world = asked(CALL, now="2026-03-07 20:00")
    world.submit(schedule_callback_at=at("2026-03-08 03:30"))
    answer = world.why(at("2026-03-08 07:59"))
    assert (answer.verdict, answer.source, answer.kind) == ("held", "callback", "call")
    assert answer.next_action_at == at("2026-03-08 08:00")
    assert verdict_and_sentence(world.why(at("2026-03-08 08:00"))) == (
        "would_act",
        "A promised call would be ordered at Sun 8:00: it is due then, and every rule allows it.",
    )


@pytest.mark.parametrize(
    ("minute", "whose", "until"),
    [(0, "agent 70", "13:15"), (14, "agent 70", "13:15"), (15, "the agents of call center 5", "13:30")],
)
def test_a_callback_whose_owner_is_away_says_whose_it_is_and_from_when_others_may_make_it(
    minute: int, whose: str, until: str
) -> None:
    world = asked({"id": "pause", "kind": "wait", "duration": "1d"}, CALL)
    world.add("call_center", 5, CallCenter(name="Tampa"))
    world.add("agent", 70, Agent(name="Ada", call_center_id=5))
    world.submit()
    world.update(schedule_callback_at=NOON + HOUR, callback_owner=CallbackOwner(agent_id=70))
    world.wait_until(NOON + HOUR + minute * MINUTE)
    answer = world.why()

    belongs = f"The callback belongs to {whose}, who is not available"
    follows = f"Others may make the call from Wed {until}."
    sentence = f"{belongs}; it is 13:{minute:02} for this lead (America/New_York). {follows}"
    assert verdict_and_sentence(answer) == ("held", sentence)
    assert answer.next_action_at == world.lead().next_action_at == at(f"2026-07-15 {until}")
    assert [reason.code for reason in answer.reasons] == ["callback_owner_unavailable"]


def test_a_buyer_who_alone_may_make_a_callback_is_named_without_an_end() -> None:
    world = asked({"id": "pause", "kind": "wait", "duration": "1d"}, CALL)
    world.add("buyer", 7, Buyer(name="Ada", number="+13055550171", paused=True))
    world.submit()
    world.update(schedule_callback_at=NOON + HOUR, callback_owner=CallbackOwner(buyer_id=7, grace_minutes=0))
    world.wait_until(NOON + HOUR)

    assert "The callback belongs to buyer 7, who is not available" in world.why().sentence
    assert "Others" not in world.why().sentence


# -- the night in which the clock changes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ready", "opens"),
    [
        pytest.param("2026-03-07 21:30", "2026-03-08T12:00:00Z", id="E1: an hour is left out"),
        pytest.param("2026-10-31 21:30", "2026-11-01T13:00:00Z", id="E2: an hour comes twice"),
    ],
)
def test_the_next_try_is_eight_on_the_wall_after_the_clock_changed(ready: str, opens: str) -> None:
    world = asked(CALL, now=ready)
    world.submit()
    answer = world.why()
    assert answer.next_action_at is not None
    assert to_rfc3339(answer.next_action_at) == opens
    assert answer.sentence.endswith("it is 21:30 for this lead (America/New_York). Next try: Sun 8:00.")
    for offset, verdict in ((-HOUR, "held"), (-1, "would_act"), (-MINUTE, "held"), (0, "would_act"), (HOUR, "ended")):
        assert world.why(answer.next_action_at + offset).verdict == verdict
    world.wait_until(answer.next_action_at + HOUR)
    assert world.why(answer.next_action_at - HOUR).verdict == "held"
    assert world.why(answer.next_action_at).verdict == "acted"


# -- the past ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def story() -> ExplainedWorld:
    """A lead in Florida: the evening before, a call without an answer, a second try, and STOP."""
    world = asked(AGAIN, TEXT, now="2026-07-15 20:14")
    world.submit(states=("FL",))
    world.wait_until(at("2026-07-16 08:01"))
    world.outcome("no_answer")
    world.wait_until(at("2026-07-16 10:30"))
    world.outcome("connected_human")
    world.wait_until(at("2026-07-16 10:31"))
    world.act("opt_out")
    world.wait_until(at("2026-07-20 12:00"))
    return world


@pytest.mark.parametrize(
    ("moment", "verdict", "sentence"),
    [
        ("2026-07-15 20:00", "absent", "The lead was not there yet: it came at Wed 20:14 (lead's time)."),
        (
            "2026-07-15 23:00",
            "held",
            (
                "Florida allowed calls from 8:00 to 20:00; it was 23:00 for this lead (America/New_York). "
                "The next try was planned for Thu 8:00. It was acted on at Thu 8:00."
            ),
        ),
        (
            "2026-07-16 08:00",
            "acted",
            "A call was ordered at Thu 8:00 (step call-1): it was due, and every rule allowed it.",
        ),
        (
            "2026-07-16 09:00",
            "not_due",
            "Nothing was due: a call (step call-1) was planned for Thu 10:01; it was 9:00 for this lead (America/New_York).",
        ),
        (
            "2026-07-16 10:20",
            "running",
            "A call (step call-1) had been on its way since Thu 10:01, and its outcome was not known yet.",
        ),
        (
            "2026-07-18 12:00",
            "stopped",
            "This person had opted out and was not to be contacted (Thu 10:31); nothing followed.",
        ),
    ],
)
def test_a_past_instant_is_answered_from_what_was_decided_then(
    story: ExplainedWorld, moment: str, verdict: str, sentence: str
) -> None:
    answer = story.why(at(moment))
    assert verdict_and_sentence(answer) == (verdict, sentence)
    assert (answer.decision is None) == (verdict == "absent")
    if answer.decision is not None:
        assert answer.decision.at < at(moment) + MINUTE
    assert not answer.assumed


def test_a_call_by_hand_is_explained_as_such() -> None:
    world = asked(wait("3h"), TEXT)
    lead = world.submit()
    world.wait(600)
    world.ask(CallStartRequested(company_id=1, contact_key=KEY, lead_id=lead.id))
    asked_at = world.now
    world.wait(300)
    assert world.why().verdict == "running"
    world.outcome("connected_human")
    assert world.why().verdict == "not_due"
    assert verdict_and_sentence(world.why(asked_at)) == (
        "acted",
        "A call was ordered at Wed 12:10: somebody asked for it, and every rule allowed it.",
    )


def test_a_webhook_about_a_lead_is_no_action_of_it(story: ExplainedWorld) -> None:
    """A confirmation of an opt-out, a webhook that hears of the end: no plan led to them."""
    assert story.why(at("2026-07-16 10:31")).verdict == "stopped"


def test_the_explained_past_stays_when_the_rules_change(story: ExplainedWorld) -> None:
    before = story.why(at("2026-07-15 23:00"))
    story.add("schedule", 1, Schedule(name="Other", lead_token="schedule-1", time_zone="Asia/Tokyo"), version=2)
    assert story.why(at("2026-07-15 23:00")) == before


def test_an_overdue_lead_was_due() -> None:
    world = asked(wait("1h"), CALL)
    world.submit()
    world.now += 3 * HOUR
    answer = world.why(world.now - HOUR)
    due = "A call (step call-1) had been due since Wed 13:00; the scheduler had not acted on it yet"
    assert verdict_and_sentence(answer) == ("due", f"{due}; it was 14:00 for this lead (America/New_York).")
    assert world.why().sentence.endswith("It has been due since Wed 13:00: the scheduler has not acted on it yet.")


def test_a_lead_that_was_paused_then_is_in_the_past_tense() -> None:
    world = asked(CALL, paused=True)
    world.submit()
    world.wait(3_600)
    assert verdict_and_sentence(world.why(NOON + MINUTE)) == (
        "held",
        "The schedule was paused; it was 12:01 for this lead (America/New_York).",
    )


def test_hours_and_expiry_that_were_planned_then_are_in_the_past_tense() -> None:
    world = asked(CALL, now="2026-07-15 22:00", hours_to_expire=5)
    world.submit()
    world.wait_until(at("2026-07-17 12:00"))
    assert world.why(at("2026-07-15 23:00")).sentence == (
        "US federal law allowed calls from 8:00 to 21:00; it was 23:00 for this lead (America/New_York). "
        "It was to expire at Thu 3:00, before the next allowed time, Thu 8:00."
    )


def test_a_lead_that_no_step_can_reach_names_the_step_and_why() -> None:
    world = asked({"id": "mail-1", "kind": "email", "subject": "Hi", "template": "Hello"})
    world.submit(email=None)
    assert verdict_and_sentence(world.why()) == (
        "ended",
        (
            "No usable way to reach this lead was left (Wed 12:00); nothing follows. "
            "Step mail-1 failed at Wed 12:00: the lead has no number or address for it."
        ),
    )


# -- the future --------------------------------------------------------------------------------------------------------


def test_what_is_to_come_is_in_the_future_tense() -> None:
    world = asked(wait("3h"), TEXT)
    world.submit()
    assert world.why(NOON + HOUR).sentence.startswith(
        "Nothing will be due: a text (step text-1) will come at Wed 15:00; it will be"
    )
    end = world.why(NOON + DAY)
    assert (end.verdict, end.decision) == ("ended", None)
    assert end.sentence.startswith("The schedule will have come to its end")
    assert end.sentence.endswith("nothing will follow.")


def test_what_holds_a_lead_now_is_assumed_to_last() -> None:
    world = asked(CALL, paused=True)
    world.submit()
    assert verdict_and_sentence(world.why(NOON + HOUR)) == (
        "held",
        "The schedule is paused, which is assumed to last; it will be 13:00 for this lead (America/New_York).",
    )


def test_an_end_that_has_come_is_followed_by_nothing_later() -> None:
    world = asked(TEXT)
    world.submit()
    world.outcome("delivered")
    assert world.why(NOON + DAY).sentence == (
        "The schedule came to its end; every step was tried, nobody was connected (Wed 12:00); nothing will follow."
    )


def test_ended_and_captured_leads_say_so() -> None:
    world = asked(TEXT)
    world.submit()
    world.outcome("delivered")
    assert verdict_and_sentence(world.why()) == (
        "ended",
        "The schedule came to its end; every step was tried, nobody was connected (Wed 12:00); nothing follows.",
    )
    captured = world.submit(offer_id=1, caller_id="+13055550124", contact_key="1|+13055550124")
    assert world.why(lead=captured).verdict == "captured"


def test_the_future_goes_on_from_what_is_on_its_way() -> None:
    world = asked(CALL, wait("1d"), TEXT)
    world.submit()
    assert world.why(NOON + DAY).verdict == "would_act"
    assert world.why(NOON + DAY - MINUTE).verdict == "not_due"
    assert "succeed" in world.why(NOON + DAY).assumed[0] or world.why(NOON + DAY).assumed


def test_what_does_not_fit_together_is_no_failure_but_an_answer() -> None:
    world = asked(wait("3h"), CALL)
    lead = world.submit()
    world.schedule(TEXT, record_id=1, version=9)
    torn = world.case(lead).known.lead
    torn.schedule_version = 9
    assert world.why(NOON + 4 * HOUR, lead=torn).verdict == "cut"
    assert world.why(NOON + HOUR, lead=torn).verdict == "not_due"


def test_a_way_round_without_end_is_cut() -> None:
    world = asked({**TEXT}, wait("2m"), {"id": "again", "kind": "restart", "max_restarts": 1_000_000})
    world.submit()
    assert world.why(NOON + 300 * DAY).verdict in {"cut", "held"}


STEPS = st.lists(
    st.sampled_from(
        [
            CALL,
            {**CALL, "id": "call-2"},
            TEXT,
            {"id": "mail-1", "kind": "email", "subject": "Hi", "template": "Hello"},
            wait("40m"),
            {"id": "day", "kind": "wait", "duration": "1d"},
            {"id": "morning", "kind": "wait", "until": {"time": "10:00", "days": ["mon", "sat"]}},
        ]
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda step: step["id"],
)


@settings(max_examples=60, deadline=None)
@given(
    steps=STEPS,
    has_windows=st.booleans(),
    expires=st.sampled_from([None, 10, 60]),
    begins=st.sampled_from(["2026-03-06 20:30", "2026-03-07 21:30", "2026-10-31 22:00", "2026-07-15 12:00"]),
    states=st.sampled_from([(), ("FL",), ("AL",)]),
    probes=st.lists(st.integers(0, 3 * DAY // SECOND), max_size=4),
    passed=st.integers(0, 30 * HOUR // SECOND),
)
def test_what_would_be_acted_on_is_what_the_preview_orders_and_never_anything_else(
    *,
    steps: list[dict[str, Any]],
    has_windows: bool,
    expires: int | None,
    begins: str,
    states: tuple[str, ...],
    probes: list[int],
    passed: int,
) -> None:
    fields = {"windows": OFFICE if has_windows else {}, "hours_to_expire": expires, "time_zone": NEW_YORK}
    lead = {"caller_id": "+12125550123", "email": "ada@example.com", "time_zone": NEW_YORK}
    lead |= {"state": states[0]} if states else {}
    schedule = {"steps": steps, **fields}
    trial = read_trial({"schedule": schedule, "lead": lead, "at": to_rfc3339(at(begins)), "limit": 100}, now=EPOCH)
    actions = sorted({action.at for action in preview(trial).actions})

    world = asked(*steps, now=begins, **fields)
    number = {"caller_id": "+12125550123", "contact_key": "1|+12125550123", "email": "ada@example.com"}
    world.submit(states=(*states, "NY"), **number)
    good = {"call": "connected_human", "sms": "delivered", "email": "delivered"}
    done = 0

    def settle() -> None:
        nonlocal done
        while done < len(world.commands):
            command = world.commands[done]
            done += 1
            world.outcome(good[str(command.__struct_config__.tag).partition(".")[0]], command)

    settle()
    end = world.now + passed * SECOND
    for moment in [moment for moment in actions if at(begins) < moment <= end]:
        world.wait_until(moment)
        settle()
    world.wait_until(end)

    ahead = [moment for moment in actions if moment >= end]
    asked_about = {*ahead, *(moment - MINUTE for moment in ahead), *(end + probe * SECOND for probe in probes)}
    for moment in sorted(moment for moment in asked_about if moment >= end):
        answer = world.why(moment)
        ordered = [action for action in ahead if moment <= action < moment + MINUTE and (action > end or passed == 0)]
        if moment == end and end in actions:
            continue  # it was ordered already
        assert (answer.verdict == "would_act") == bool(ordered), (answer.sentence, moment, actions)
        if ordered:
            assert answer.acts_at == ordered[0]


def test_a_past_answer_is_the_one_that_was_foreseen(story: ExplainedWorld) -> None:
    """What was said would be done at eight was done at eight."""
    foreseen = asked(AGAIN, TEXT, now="2026-07-15 20:14")
    foreseen.submit(states=("FL",))
    before: Instant = at("2026-07-16 08:00")
    assert (foreseen.why(before).verdict, story.why(before).verdict) == ("would_act", "acted")
    assert foreseen.why(before).acts_at == story.why(before).acts_at


OUTCOMES = {
    "call": ["connected_human", "no_answer", "busy", "voicemail", "not_placed", "abandoned_by_us"],
    "sms": ["delivered", "undelivered"],
    "email": ["delivered", "bounced_soft"],
}
TRYING: dict[str, Any] = {**CALL, "retry": {"no_answer": {"delay": "30m", "max": 2}, "busy": {}}, "await_disposition": "20m"}


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_was_said_at_a_time_is_what_is_said_of_it_later(data: st.DataObject) -> None:
    """The facts alone say of a past instant what the state said at that instant."""
    steps = data.draw(
        st.permutations(
            [TRYING, TEXT, wait("3h"), {"id": "hope", "kind": "wait_for", "event": "converted", "timeout": "2h"}]
        )
    )
    begins = data.draw(st.sampled_from(["2026-03-07 19:00", "2026-07-15 12:00", "2026-10-31 20:30"]))
    world = asked(*steps, now=begins, hours_to_expire=data.draw(st.sampled_from([None, 20])), windows=OFFICE)
    world.submit(states=data.draw(st.sampled_from([(), ("FL",)])))
    said: list[tuple[Instant, int, Explanation]] = []
    for _ in range(data.draw(st.integers(2, 8))):
        said.append((world.now, world.sequence, world.why()))
        world.wait(61)
        _let_happen(data, world, steps, version=2 + len(said))
    for moment, sequence, then in said:
        later = world.why(moment)
        if any(fact.at == moment and fact.sequence > sequence for _, fact in world.lead_facts):
            continue  # more was decided at that very instant
        ordered = [
            fact for lead_id, fact in world.lead_facts if lead_id == world.lead().id and fact.type == "command.emitted"
        ]
        acted = [fact for fact in ordered if moment <= fact.at < moment + MINUTE]
        assert (later.verdict == "acted") == bool(acted)
        if not acted and then.verdict != "would_act":
            assert later.verdict == then.verdict, (then.sentence, later.sentence)
            assert [reason.code for reason in later.reasons] == [reason.code for reason in then.reasons]


def _let_happen(data: st.DataObject, world: ExplainedWorld, steps: list[dict[str, Any]], *, version: int) -> None:
    """Something that may happen to a lead, or some time that goes by."""
    is_live = world.lead().status in LIVE_STATUSES
    match data.draw(st.sampled_from(["wait", "wait", "outcome", "callback", "pause", "opt_out", "priority"])):
        case "wait":
            world.wait(data.draw(st.integers(61, 10 * 3_600)))
        case "outcome" if world.lead().flight is not None:
            flight = world.lead().flight
            assert flight is not None
            command = next(one for one in reversed(world.commands) if one.command_id == flight.command_id)
            world.outcome(data.draw(st.sampled_from(OUTCOMES[flight.kind])), command)
        case "callback" if is_live:
            world.update(schedule_callback_at=world.now + data.draw(st.integers(0, 5)) * HOUR)
        case "pause":
            world.schedule(*steps, version=version, windows=OFFICE, paused=data.draw(st.booleans()))
        case "opt_out" if data.draw(st.integers(0, 3)) == 0:
            world.act("opt_out")
        case "priority" if is_live:
            world.update(lead_priority=5.0)
        case _:
            world.wait(61)


# -- veto hooks --------------------------------------------------------------------------------------------------------

HOOK = Subscription(name="CRM", url="https://crm.example.com/x", events=("before_call",))


def test_a_lead_whose_hook_is_asked_or_does_not_answer_is_held_and_the_future_assumes_that_it_allows() -> None:
    world = asked(CALL)
    world.add("subscription", 31, HOOK)
    world.submit()
    assert (world.why().verdict, [reason.code for reason in world.why().reasons]) == ("held", ["veto_asked"])
    while world.lead().flight is not None or (world.lead().recheck_at or EPOCH) < world.now + 2 * MINUTE:
        if world.lead().flight is not None:
            world.outcome("failed")
        else:
            world.wait_until(world.lead().recheck_at or EPOCH)
    answer = world.why()
    assert (answer.verdict, [reason.code for reason in answer.reasons]) == ("held", ["veto_unanswered"])
    assert "did not answer, and nothing is done without it" in answer.sentence
    assert world.why(world.lead().recheck_at).verdict == "would_act"


def test_a_step_that_a_hook_denied_is_named_until_the_lead_acts_again() -> None:
    world = asked(CALL, wait("1h"), TEXT)
    world.add("subscription", 31, HOOK)
    world.submit()
    world.outcome("accepted", allows=False)
    said = "Step call-1 was skipped at Wed 12:00: the system that a subscription asks first denied this action."
    assert world.why().sentence.endswith(said)
    world.wait_until(world.now + 2 * HOUR)
    assert said not in world.why().sentence


def test_a_lead_that_ended_because_a_hook_denied_its_last_step_says_so() -> None:
    world = asked(CALL)
    world.add("subscription", 31, HOOK)
    world.submit()
    world.outcome("accepted", allows=False)
    answer = world.why()
    assert answer.verdict == "ended"
    assert "denied this action" in answer.sentence
