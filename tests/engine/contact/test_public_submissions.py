"""What may a stranger do who has nothing but a lead token and somebody's number?"""

from typing import Any

import pytest

from engine.contact.commands.numbers import public_number
from engine.contact.facts.kept_submissions import KEPT_MAX
from engine.contact.facts.public_contacts import withhold
from engine.contact.requests.public_submission import PUBLIC_LEADS_MAX
from engine.partition.draft import RefusedError
from schemas.commands import SendEmail, SendSms
from schemas.contact import KeptSubmission
from schemas.instant import DAY, HOUR, MINUTE
from schemas.records import Company, Number, Offer
from schemas.requests import CallerActed, CallReceived, KeptSubmissionDecided, LeadSubmitted
from schemas.state import kept_key
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World

REST = {"id": "rest", "kind": "wait", "duration": "1h"}
CALL = {"id": "call", "kind": "call"}
TEXT = {"id": "text", "kind": "sms", "template": "Hi {{first_name}}"}
MAIL = {"id": "mail", "kind": "email", "subject": "Hello", "template": "Dear {{full_name}}, about policy {{policy}}"}


@pytest.fixture
def world() -> World:
    made = World()
    made.schedule(REST, MAIL, CALL)
    return made


def stranger(world: World, **fields: Any) -> None:
    world.submit(with_key=False, **fields)


def kept(world: World) -> list[KeptSubmission]:
    found = [world.state.get(kept_key(kept_id), KeptSubmission) for kept_id in world.head().kept_ids]
    return [one for one in found if one is not None]


def action_of(world: World) -> str | None:
    assert world.answer is not None
    assert world.answer.status == 201
    return world.answer.dedupe_action


def test_a_stranger_makes_a_lead_as_a_form_does(world: World) -> None:
    stranger(world, data={"first_name": "Ann"}, email="ann@example.com")
    lead = world.lead()
    assert (action_of(world), lead.status, lead.data, lead.is_capped) == (
        "created",
        "scheduled",
        {"first_name": "Ann"},
        False,
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"email": "eve@example.com"},
        {"columns": {"time_zone": "Asia/Tokyo"}, "zones": ("Asia/Tokyo",), "zone_source": "stated"},
        {"columns": {"full_name": "Eve"}, "data": {"policy": None, "consent": "yes"}},
        {"create_or_update": True, "data": {"policy": "E"}},
        {"schedule_callback_at": NOON + 2 * HOUR},
    ],
)
@pytest.mark.parametrize("policy", ["update", "restart"])
def test_what_a_stranger_brings_for_a_stored_lead_changes_nothing_of_it(policy: str, fields: dict[str, Any]) -> None:
    world = World()
    world.schedule(REST, MAIL, duplicate_policy=policy)
    before = world.submit(email="ann@example.com", columns={"full_name": "Ann"}, data={"policy": "A-1"})
    world.now += MINUTE
    stranger(world, **fields)
    assert (action_of(world), world.lead_ids(), world.lead()) == ("kept", [before.id], before)
    assert [one.lead_id for one in kept(world)] == [before.id]
    world.wait(2 * 3600)
    (mail,) = world.commands
    assert isinstance(mail, SendEmail)
    assert (mail.to, "Dear Ann, about policy A-1" in mail.body) == ("ann@example.com", True)


def test_a_double_click_is_kept_once_and_a_repeat_of_the_lead_not_at_all(world: World) -> None:
    stranger(world, data={"first_name": "Ann"}, columns={"country": "US"})
    stranger(world, data={"first_name": "Ann"}, columns={"country": "US"})
    assert (action_of(world), kept(world)) == ("unchanged", [])
    for seconds in (300, 301):
        stranger(world, data={"first_name": "Anna"}, schedule_callback_at=world.now + seconds * 1_000)
        world.now += 1_000
    assert len(kept(world)) == 1
    assert world.fact_types().count("submission.kept") == 1


def test_the_oldest_of_ten_makes_room_and_is_counted(world: World) -> None:
    world.submit()
    for number in range(KEPT_MAX + 3):
        stranger(world, data={"n": number})
    assert [one.data["n"] for one in kept(world)] == list(range(3, KEPT_MAX + 3))
    assert world.head().kept_dropped == 3


def test_the_schedule_decides_whether_a_duplicate_makes_a_lead_or_is_dropped() -> None:
    world = World()
    world.schedule(REST, CALL, duplicate_policy="create")
    first = world.submit(data={"policy": "A-1"}, columns={"full_name": "Ann"})
    stranger(world, data={"x": 1})
    second = world.lead()
    assert (action_of(world), second.data, second.columns, world.lead(first.id)) == ("created", {"x": 1}, {}, first)
    for number in range(PUBLIC_LEADS_MAX):
        stranger(world, data={"x": number})
    assert (action_of(world), len(world.lead_ids())) == ("kept", PUBLIC_LEADS_MAX)
    world.schedule(REST, CALL, duplicate_policy="reject", version=2)
    stranger(world, data={"x": "dropped"})
    assert (action_of(world), [one.data["x"] for one in kept(world)][-1]) == ("rejected", PUBLIC_LEADS_MAX - 1)


def test_an_external_id_finds_no_lead_without_a_key(world: World) -> None:
    first = world.submit(columns={"external_record_id": "crm-1"})
    stranger(world, columns={"external_record_id": "crm-1"}, data={"x": 1})
    assert (action_of(world), world.lead(first.id).data) == ("kept", {})


def test_an_offer_may_let_its_forms_fill_blanks_but_never_replace_a_value(world: World) -> None:
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", public_updates=("roof", "full_name", "policy")), version=2)
    world.submit(data={"policy": "A-1"}, columns={"full_name": ""})
    stranger(
        world, data={"roof": "flat", "policy": "E", "color": "red"}, columns={"full_name": "Ann"}, email="eve@example.com"
    )
    lead = world.lead()
    assert (lead.data, lead.columns, lead.email) == ({"policy": "A-1", "roof": "flat"}, {"full_name": "Ann"}, None)
    assert kept(world)[0].data["policy"] == "E"


def test_accepting_is_an_update_by_the_user_and_discarding_changes_nothing(world: World) -> None:
    lead = world.submit(email="ann@example.con", data={"roof": "flat"})
    callback = NOON + 3 * HOUR
    stranger(
        world,
        email="ann@example.com",
        data={"roof": "steep"},
        columns={"time_zone": NEW_YORK},
        schedule_callback_at=callback,
    )
    stranger(world, data={"roof": "none"})
    first, second = kept(world)
    decide(world, second, accept=False)
    assert world.lead() == lead
    decide(world, first, accept=True)
    after = world.lead()
    assert (after.email, after.data, after.zones, after.zone_source) == (
        "ann@example.com",
        {"roof": "steep"},
        (NEW_YORK,),
        "stated",
    )
    assert (after.callback_promised_at, after.user_updated_at, kept(world)) == (callback, world.now, [])
    with pytest.raises(RefusedError) as refused:
        decide(world, first, accept=True)
    assert refused.value.code == "not_found"


def decide(world: World, one: KeptSubmission, *, accept: bool) -> None:
    world.ask(
        KeptSubmissionDecided(
            company_id=1, contact_key=KEY, submission_id=one.id, lead_id=one.lead_id, accept=accept, visible=None
        )
    )


def test_accepting_what_came_first_takes_back_no_correction_that_came_later(world: World) -> None:
    stranger(world, email="ann@example.con", data={"first_name": "Ann"})
    stranger(world, email="ann@example.con", data={"first_name": "Ann", "wish": "after 5"})
    stranger(world, email="ann@example.com", data={"first_name": "Anne"})
    wish, correction = kept(world)
    for one in (correction, wish):
        world.ask(
            KeptSubmissionDecided(company_id=1, contact_key=KEY, submission_id=one.id, lead_id=one.lead_id, accept=True)
        )
    lead = world.lead()
    assert (lead.email, lead.data) == ("ann@example.com", {"first_name": "Anne", "wish": "after 5"})


def test_what_is_kept_goes_with_a_deleted_lead(world: World) -> None:
    world.submit()
    stranger(world, data={"x": 1})
    world.submit(delete_existing=True)
    assert (kept(world), world.head().kept_ids) == ([], ())


def test_the_first_lead_of_a_day_follows_its_schedule_and_all_further_ones_share_three_contacts() -> None:
    world = World()
    for number in range(1, 6):
        world.schedule(TEXT, TEXT | {"id": "again"}, record_id=number)
    stranger(world, schedule_id=1)
    run_texts(world)
    assert len(texts(world)) == 2, "the first follows its schedule as written"
    for number in range(2, 6):
        stranger(world, schedule_id=number)
        run_texts(world)
    assert len(texts(world)) == 2 + 3
    lead = world.lead()
    assert (lead.is_capped, lead.status_wait, lead.next_action_at) == (True, "public_cap", NOON + DAY)
    for existing in world.lead_ids():
        world.update(world.lead(existing), schedule_stop=True)
    stranger(world, schedule_id=2)
    world.submit(schedule_id=3, restart_schedule=True)
    run_texts(world)
    assert len(texts(world)) <= 2 + 3 + 2, "a restart with a key is the company's own"
    world.wait(24 * 3600)
    assert len(texts(world)) > 2 + 3


def run_texts(world: World) -> None:
    for _ in range(3):
        if world.commands and world.lead().flight is not None:
            world.outcome("delivered")


def texts(world: World) -> list[SendSms]:
    return [command for command in world.commands if isinstance(command, SendSms)]


def test_a_company_may_allow_no_contact_at_all_for_further_leads() -> None:
    world = World()
    world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK, public_contacts=0), version=2)
    world.schedule(TEXT, record_id=1)
    world.schedule(TEXT, record_id=2)
    stranger(world, schedule_id=1)
    stranger(world, schedule_id=2)
    assert (len(texts(world)), world.lead().status_wait) == (1, "public_cap")


def test_an_opt_out_acts_as_that_of_the_caller_and_makes_no_lead(world: World) -> None:
    stranger_opts_out(world)
    assert (world.head().opted_out_at, world.lead_ids()) == (NOON, [])
    other = World()
    other.schedule(REST, CALL)
    lead = other.submit()
    stranger_opts_out(other)
    assert (other.lead().status, other.lead().opt_out, other.lead_ids()) == ("opt_out", True, [lead.id])


def stranger_opts_out(world: World) -> None:
    world.ask(LeadSubmitted(company_id=1, contact_key=KEY, caller_id=NUMBER, schedule_id=1, offer_id=1, opt_out=True))
    assert action_of(world) == "opted_out"


def test_an_opt_out_by_token_of_somebody_without_a_lead_is_stored(world: World) -> None:
    world.ask(CallerActed(company_id=1, contact_key=KEY, action="opt_out", schedule_id=1))
    assert world.answer is not None
    assert (world.answer.status, world.head().opted_out_at) == (404, NOON)


@pytest.mark.parametrize(
    ("value", "is_withheld"),
    [
        ("Ann", False), ("Ann O'Neil-Smith Jr.", False), ("33130-1234", False), ("2026-03-07 21:30:00 -0500", False),
        ("12/31/2026", False), (7_000_000, False), (3.5, False), (True, False), (None, False), ("1,500,000", False),
        ("win at https://evil.example/x", True), ("evil.example", True), ("bit.ly/abc", True), ("WWW.EVIL.EXAMPLE", True),
        ("call +1 305 555 0199", True), ("(305) 555-0199", True), ("3055550199", True), (3055550199, True),
        (["a", {"b": "evil.example/x"}], True), ({"evil.example": 1}, True),
    ],
)  # fmt: skip
def test_a_value_with_a_link_or_a_telephone_number_is_withheld(world: World, value: Any, is_withheld: bool) -> None:
    lead = world.submit()
    withhold(lead, {"x": value})
    assert (lead.withheld == ("x",)) is is_withheld


def test_a_message_goes_without_a_withheld_value_unless_its_template_takes_links() -> None:
    world = World()
    world.schedule(
        {
            "id": "text",
            "kind": "sms",
            "template": "Hi {{first_name}}{{note}}, see {{ site | link }}",
            "missing_token": "skip_step",
        }
    )
    address = "evil.example/x"
    stranger(world, data={"first_name": "Ann", "note": f" win at {address}", "site": address})
    assert [text.body for text in texts(world)] == [f"Hi Ann, see {address}"]
    (fact,) = [fact for fact in world.facts if fact.type == "template.value_withheld"]
    assert fact.data == {"step_id": "text", "tokens": ["note"]}


def test_a_value_that_a_key_replaces_is_withheld_no_longer() -> None:
    world = World()
    world.schedule(REST, {"id": "text", "kind": "sms", "template": "See {{site}}"})
    stranger(world, data={"site": "evil.example"})
    world.submit(data={"site": "sunny.example"})
    world.wait(3600)
    assert [text.body for text in texts(world)] == ["See sunny.example"]


def test_the_two_numbers_that_a_stranger_is_shown_are_those_of_the_lead_that_it_makes(world: World) -> None:
    for number in range(4):
        world.add("number", 20 + number, Number(number=f"+1212555010{number}", voice=True, sms=True))
    stranger(world, assign_svc_number=True, assign_sms_number=True)
    lead = world.lead()
    asked = LeadSubmitted(company_id=1, contact_key=KEY, offer_id=1, assign_svc_number=True, assign_sms_number=True)
    shown = [public_number(world.rules, asked, kind) for kind in ("voice", "sms")]
    assert [lead.svc_number, lead.sms_number] == shown
    assert None not in shown


def test_what_a_call_centre_sends_before_it_transfers_goes_to_the_call_as_unproved() -> None:
    world = World()
    world.add("number", 20, Number(number="+12125550100", voice=True, offer_id=1))
    stranger(world, offer_id=1, data={"roof": "flat"})
    stranger(world, offer_id=1, data={"roof": "steep", "reason": "leak"})
    world.now += 29 * MINUTE
    call_in(world, "c-1")
    unproved = {"roof": "steep", "reason": "leak"}
    (call_id,) = world.head().call_ids
    assert world.call(call_id).token_values == {"roof": "flat", "reason": "leak", "unproved": unproved}
    assert world.lead().data == {"roof": "flat"}
    world.now += MINUTE
    call_in(world, "c-2")
    assert world.call(world.head().call_ids[-1]).token_values == {"roof": "flat"}, "later data is about another talk"


def call_in(world: World, gateway_ref: str) -> None:
    world.ask(
        CallReceived(
            company_id=1, contact_key=KEY, gateway_ref=gateway_ref, state="ringing", from_number=NUMBER,
            number_called="+12125550100", occurred_at=world.now,
        )
    )  # fmt: skip
