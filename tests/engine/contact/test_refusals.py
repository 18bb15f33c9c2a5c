"""Does nobody contact a person who has refused an offer, as long as the law says, or about what it bars?

Sources: Code de la consommation D223-9 (decree 2022-1313: 60 whole days of the calendar), L223-1; PECR 21A and 21B.
"""

from typing import Any

import msgspec
import pytest

from engine.contact.facts.person import Person
from engine.contact.requests import reactions
from engine.partition.draft import RefusedError
from schemas.instant import Instant
from schemas.records import CallDisposition, Offer
from schemas.requests import CallStartRequested
from tests.engine.contact.world import World, at

PARIS = "+33142685300"
FORM = {"kind": "form", "url": "https://example.com/form"}
CONTRACT = {"kind": "contract", "text": "Order 4711"}
STEPS = [
    {"id": "call-1", "kind": "call"},
    {"id": "rest", "kind": "wait", "duration": "1h"},
    {"id": "call-2", "kind": "call"},
]
PEOPLE: dict[str, dict[str, Any]] = {
    "FR": {"caller_id": PARIS, "contact_key": f"1|{PARIS}", "zones": ("Europe/Paris",)},
    "ES": {"caller_id": "+34911234567", "contact_key": "1|+34911234567", "zones": ("Europe/Madrid",)},
    "GB": {"caller_id": "+442071838750", "contact_key": "1|+442071838750", "zones": ("Europe/London",)},
    "IT": {"caller_id": "+390669812345", "contact_key": "1|+390669812345", "zones": ("Europe/Rome",)},
    "US": {"caller_id": "+13055550123", "contact_key": "1|+13055550123", "zones": ("America/New_York",)},
}
TEN = at("2026-12-01 10:30", "Europe/Paris")


def refused(country: str, disposition: dict[str, Any], **schedule: Any) -> World:
    """Return a world in which the first call of a lead is judged by a disposition, at 10:30 in Paris on 2026-12-01."""
    world = World(now=TEN if country != "US" else at("2026-12-01 10:30"))
    world.schedule(*STEPS, **schedule)
    world.submit(**PEOPLE[country], data={"consent": [FORM]})
    world.outcome("connected_human")
    judge(world, disposition)
    return world


def judge(world: World, fields: dict[str, Any], **more: Any) -> None:
    found = msgspec.convert({"name": "Said", "code": "SAID", **fields}, CallDisposition)
    draft = world._draft()
    lead = world.lead()
    person = Person(draft, 1, lead.contact_key)
    call = person.call(lead.attempted_call_id)
    assert call is not None
    world.add("call_disposition", 9, found, version=lead.version)
    call.call_disposition_id = 9
    person.save_call(call)
    reactions.apply_disposition(person, person.lead(lead.id), call, found, **more)
    person.put()
    world._apply(draft)


SIXTY_DAYS = at("2027-02-01 10:00", "Europe/Paris")  # day 61 is Sunday, 2027-01-31: France rests until Monday
THREE_MONTHS = at("2027-03-04 09:00", "Europe/Madrid")


@pytest.mark.parametrize(
    ("country", "disposition", "purpose", "next_call"),
    [
        ("FR", {"is_refusal": True}, "telemarketing", SIXTY_DAYS),
        ("FR", {"category": "final_negative"}, "telemarketing", SIXTY_DAYS),
        ("FR", {"is_refusal": True, "category": "no_contact"}, "telemarketing", SIXTY_DAYS),
        ("FR", {"category": "contact"}, "telemarketing", None),
        ("FR", {"category": "final_positive"}, "telemarketing", None),
        ("FR", {"is_refusal": True}, "informational", None),
        ("ES", {"is_refusal": True}, "telemarketing", THREE_MONTHS),
        ("IT", {"is_refusal": True}, "telemarketing", None),
        ("GB", {"is_refusal": True}, "telemarketing", None),
        ("US", {"is_refusal": True}, "telemarketing", None),
    ],
)
def test_after_a_refusal_nobody_calls_until_the_pause_of_the_law_is_over(
    country: str, disposition: dict[str, Any], purpose: str, next_call: Instant | None
) -> None:
    world = refused(country, disposition, purpose=purpose)
    world.wait(5 * 3600)
    lead = world.lead()

    if next_call is None:
        assert world.steps() == ["call-1", "call-2"]
        return
    assert world.steps() == ["call-1"]
    assert (lead.next_action_at, lead.reasons[0]) == (next_call, "refusal_pause")
    world.wait_until(next_call - 1)
    assert world.steps() == ["call-1"]
    world.wait_until(next_call)
    assert world.steps() == ["call-1", "call-2"]


def test_a_refusal_pauses_every_lead_of_the_person_and_those_that_come_later() -> None:
    world = refused("FR", {"is_refusal": True})
    world.add("offer", 2, Offer(name="Wind", lead_token="wind"))
    world.schedule(STEPS[0], record_id=2, offer_id=2)

    lead = world.submit(**PEOPLE["FR"], schedule_id=2, data={"consent": [FORM]})

    assert world.steps() == ["call-1"]
    assert lead.next_action_at == SIXTY_DAYS
    assert "refusal_pause" in lead.reasons


def test_a_later_refusal_begins_the_pause_again() -> None:
    world = refused("FR", {"is_refusal": True})
    world.wait_until(at("2027-01-15 12:00", "Europe/Paris"))
    judge(world, {"is_refusal": True})
    world.wait_until(SIXTY_DAYS)

    assert world.steps() == ["call-1"]
    assert world.lead().next_action_at == at("2027-03-17 10:00", "Europe/Paris")


def test_a_promised_callback_is_made_at_the_hour_that_the_person_named() -> None:
    world = refused("FR", {"is_refusal": True})
    named = at("2026-12-05 18:30", "Europe/Paris")  # a Saturday, on which France lets nobody be called unasked

    world.update(schedule_callback_at=named)
    world.wait_until(named - 1)
    assert len(world.commands) == 1
    world.wait_until(named)

    assert len(world.commands) == 2


def test_nobody_calls_by_hand_within_the_pause_unless_somebody_answers_for_it() -> None:
    world = refused("FR", {"is_refusal": True})
    world.wait(5 * 3600)
    asked: dict[str, Any] = {"company_id": 1, "contact_key": f"1|{PARIS}", "caller_id": PARIS, "lead_id": world.lead().id}

    with pytest.raises(RefusedError) as found:
        world.ask(CallStartRequested(**asked, force=True))

    assert (found.value.code, found.value.extra["reason"]) == ("suppressed_contact", "refusal_pause")
    assert found.value.extra["next_allowed_at"] == "2027-01-30T23:00:00Z"
    world.ask(CallStartRequested(**asked, override_reason="She wrote that she has changed her mind.", override_key_id=1))
    assert len(world.commands) == 2


@pytest.mark.parametrize(
    ("country", "sector", "consents", "waits"),
    [
        ("FR", "energy_renovation", [FORM], "sector_barred"),
        ("FR", "home_adaptation", [FORM], "sector_barred"),
        ("FR", "training_account", [FORM], "sector_barred"),
        ("FR", "energy_renovation", [CONTRACT], None),
        ("FR", "home_adaptation", [FORM, CONTRACT], None),
        ("FR", "energy_supply", [FORM], None),
        ("FR", "other", [FORM], None),
        ("FR", None, [FORM], None),
        ("FR", "other", [CONTRACT], None),
        ("FR", "other", [], "consent_missing"),
        ("ES", "energy_supply", [CONTRACT], "consent_missing"),
        ("ES", "energy_supply", [FORM], None),
        ("IT", "energy_supply", [], "consent_missing"),
        ("IT", "energy_supply", [FORM], None),
        ("IT", "energy_renovation", [], None),
        ("IT", None, [], None),
        ("GB", "claims_management", [], "consent_missing"),
        ("GB", "claims_management", [CONTRACT], "consent_missing"),
        ("GB", "pensions", [], "consent_missing"),
        ("GB", "pensions", [CONTRACT], None),
        ("GB", "pensions", [FORM], None),
        ("GB", "energy_supply", [], None),
        ("US", "pensions", [], None),
    ],
)
def test_what_the_offer_sells_may_be_barred_or_need_consent(
    country: str, sector: Any, consents: list[dict[str, str]], waits: str | None
) -> None:
    world = World(now=TEN if country != "US" else at("2026-12-01 10:30"))
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", sector=sector), version=2)
    world.schedule(STEPS[0])

    lead = world.submit(**PEOPLE[country], data={"consent": consents} if consents else {})

    assert (world.steps() == ["call-1"]) is (waits is None)
    assert lead.status_wait == waits or waits is None


@pytest.mark.parametrize(
    ("sector", "purpose", "sent"),
    [("home_adaptation", "telemarketing", 0), ("home_adaptation", "informational", 1), ("other", "telemarketing", 1)],
)
def test_a_bar_holds_for_e_mails_where_the_law_names_them(sector: Any, purpose: str, sent: int) -> None:
    world = World(now=TEN)
    world.add("offer", 1, Offer(name="Baths", lead_token="offer", sector=sector), version=2)
    world.schedule({"id": "mail", "kind": "email", "subject": "Hi", "template": "Hi"}, purpose=purpose)

    world.submit(**PEOPLE["FR"], email="ada@example.com", data={"consent": [FORM]})

    assert len(world.commands) == sent


def test_an_offer_that_states_another_sector_lets_its_leads_go_on() -> None:
    world = World(now=TEN)
    world.add("offer", 1, Offer(name="Solar", lead_token="offer", sector="home_adaptation"), version=2)
    world.schedule(STEPS[0])
    world.submit(**PEOPLE["FR"], data={"consent": [FORM]})
    assert world.lead().status_wait == "sector_barred"

    world.add("offer", 1, Offer(name="Solar", lead_token="offer", sector="other"), version=3)
    world.wait(60)

    assert world.steps() == ["call-1"]
