"""Is a text that comes in parts read as one, in any sequence of them, and does a stop in a part count at once?"""

from collections.abc import Iterable
from typing import Any

import pytest

from engine.contact.requests.text_parts import PARTS_MAX, TEXTS_MAX, WAIT_FOR_PARTS
from engine.contact.schedule.text_codings import GSM, LATIN_1, UCS_2
from engine.partition.draft import RefusedError
from schemas.commands import SendSms
from schemas.contact import IncompleteTexts
from schemas.instant import MINUTE, SECOND
from schemas.records import Company
from schemas.requests import CallStartRequested, SmsReceived, TextPart
from schemas.state import incomplete_key
from tests.engine.contact.world import KEY, NEW_YORK, NOON, NUMBER, World

REST = {"id": "rest", "kind": "wait", "duration": "1m"}
CALL = {"id": "call", "kind": "call"}
SENT = "Hi Ada, your quote for the roof is ready to be picked up today. Reply STOP to end"
OURS, OTHER = "+13055550100", "+13055550101"


def part(world: World, number: int, count: int, body: str | bytes, coding: int = GSM, **fields: Any) -> str | None:
    """Receive a part, and return the meaning that its sender is answered."""
    octets = body if isinstance(body, bytes) else body.encode("utf-16-be" if coding == UCS_2 else "latin-1")
    reference, to = fields.pop("reference", "udh1-7"), fields.pop("to_number", OURS)
    place = TextPart(reference=reference, number=number, count=count, octets=octets, data_coding=coding)
    given = {"company_id": 1, "contact_key": KEY, "received_at": world.now, "to_number": to, "part": place, **fields}
    world.ask(SmsReceived(body="one part", **given))
    assert world.answer is not None
    meaning: str | None = world.answer.extra["meaning"]
    return meaning


def texts(world: World) -> list[tuple[str, str]]:
    return [(fact.data["body"], fact.data["meaning"]) for fact in world.facts if fact.type == "sms.received"]


def stored(world: World, key: str = KEY) -> IncompleteTexts | None:
    return world.state.get(incomplete_key(key), IncompleteTexts)


@pytest.fixture
def world() -> World:
    found = World()
    found.schedule(REST, CALL)
    found.submit()
    return found


@pytest.mark.parametrize("sequence", [(1, 2, 3), (3, 2, 1), (2, 3, 1), (1, 1, 3, 2, 2)])
def test_parts_are_read_as_one_text_in_whatever_sequence_they_come(world: World, sequence: Iterable[int]) -> None:
    bodies = {1: "I would like to kn", 2: "ow more about the ro", 3: "of, thanks"}
    for number in sequence:
        part(world, number, 3, bodies[number])
    expected = [("I would like to know more about the roof, thanks", "reply")]
    left = 1 if tuple(sequence)[-1] == 2 and len(tuple(sequence)) > 3 else 0  # a repeat behind the last part waits alone
    assert texts(world) == expected
    assert len(() if stored(world) is None else stored(world).texts) == left  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("first", "second", "coding", "text"),
    [
        ("Привет 😀".encode("utf-16-be")[:-2], "😀".encode("utf-16-be")[-2:], UCS_2, "Привет 😀"),
        ("Größe".encode("utf-16-be")[:5], "Größe".encode("utf-16-be")[5:], UCS_2, "Größe"),
        (b"5 \x1b", b"\x65 ok", GSM, "5 € ok"),
        ("Jos\u00e9".encode()[:-1], "\u00e9".encode()[-1:] + b" here", 4, "Jos\u00e9 here"),
        (b"J\xf6rg", b" hier", LATIN_1, "J\u00f6rg hier"),
    ],
    ids=["a surrogate pair", "an odd octet", "an escape", "UTF-8", "Latin-1"],
)
def test_a_character_that_two_parts_share_is_whole(
    world: World, first: bytes, second: bytes, coding: int, text: str
) -> None:
    part(world, 2, 2, second, coding)
    part(world, 1, 2, first, coding)
    assert texts(world) == [(text, "reply")]


def test_parts_of_two_alphabets_are_each_read_in_theirs(world: World) -> None:
    part(world, 1, 2, "plain ")
    part(world, 2, 2, "привет", UCS_2)
    assert texts(world) == [("plain привет", "reply")]


def test_nothing_is_sent_while_parts_are_missing_and_then_the_plan_goes_on(world: World) -> None:
    world.now += 55 * SECOND
    part(world, 1, 2, "Do you als")
    lead = world.lead()
    held = (lead.status_wait, lead.next_action_at) == ("text_incomplete", world.now + WAIT_FOR_PARTS)
    assert held, "the plan went on while parts were missing"
    with pytest.raises(RefusedError) as refused:
        world.ask(CallStartRequested(company_id=1, contact_key=KEY, caller_id=NUMBER, lead_id=lead.id, force=True))
    assert refused.value.extra["reason"] == "text_incomplete"
    part(world, 2, 2, "o do gutters?")
    assert world.lead().status_wait == "reply_pause", "the answer decides"
    assert world.head().incomplete_until is None


def test_what_was_on_its_way_is_called_off_when_a_part_comes() -> None:
    world = World()
    world.schedule({"id": "text", "kind": "sms", "template": "Hi"})
    world.submit()
    part(world, 1, 2, "Please do not te")
    assert {fence.reason for fence in world.fences} == {"text_incomplete"}


@pytest.mark.parametrize(("number", "words"), [(1, "STOP texting me"), (2, "STOP texting me")])
def test_a_part_that_is_a_stop_stops_at_once(world: World, number: int, words: str) -> None:
    assert part(world, number, 2, words) == "opt_out"
    assert (world.lead().status, world.head().opted_out_at) == ("opt_out", NOON)
    assert part(world, 3 - number, 2, " and have a nice day, ") == "opt_out"
    assert [meaning for _, meaning in texts(world)] == ["opt_out"]


def test_a_stop_that_two_parts_share_is_one(world: World) -> None:
    assert part(world, 1, 2, "please ST") is None
    assert world.lead().status != "opt_out"
    assert part(world, 2, 2, "OP") == "opt_out"
    assert world.lead().status == "opt_out"


def test_after_two_minutes_what_is_there_is_read(world: World) -> None:
    part(world, 3, 3, "my list")
    part(world, 1, 3, "take me o")
    world.wait(121)
    (fact,) = [fact for fact in world.facts if fact.type == "sms.received"]
    assert (fact.data["body"], fact.data["missing_parts"]) == ("take me o \u2026 my list", 1)
    assert (stored(world), world.head().incomplete_until) == (None, None)


def test_a_stop_without_its_other_part_holds_and_the_plan_of_a_reply_goes_on(world: World) -> None:
    part(world, 2, 2, "call me tomorrow please")
    world.wait(121)
    assert texts(world)[0][1] == "reply"
    assert world.lead().status_wait == "reply_pause"


def test_the_same_reference_of_another_person_or_to_another_number_is_another_text(world: World) -> None:
    other = "1|+13055550199"
    part(world, 1, 2, "I am ")
    part(world, 1, 2, "We are ", contact_key=other)
    part(world, 1, 2, "You are ", to_number=OTHER)
    part(world, 2, 2, "here")
    part(world, 2, 2, "there", contact_key=other)
    part(world, 2, 2, "everywhere", to_number=OTHER)
    assert [body for body, _ in texts(world)] == ["I am here", "We are there", "You are everywhere"]


def test_two_texts_of_one_person_may_come_at_once(world: World) -> None:
    part(world, 1, 2, "first ", reference="udh1-1")
    part(world, 1, 2, "second ", reference="udh1-2")
    part(world, 2, 2, "one", reference="udh1-1")
    assert world.head().incomplete_until is not None
    part(world, 2, 2, "two", reference="udh1-2")
    assert [body for body, _ in texts(world)] == ["first one", "second two"]


def test_a_reference_that_is_used_again_begins_another_text(world: World) -> None:
    part(world, 1, 2, "old ")
    part(world, 1, 2, "new ")
    part(world, 2, 2, "text")
    assert [body for body, _ in texts(world)] == ["old ", "new text"]


def test_the_same_part_reported_twice_under_one_name_is_a_repeat(world: World) -> None:
    part(world, 1, 2, "one ", provider="smpp", provider_ref="a")
    part(world, 1, 2, "one ", provider="smpp", provider_ref="a")
    assert world.answer is not None
    assert world.answer.extra["repeated"] is True
    part(world, 2, 2, "two", provider="smpp", provider_ref="b")
    assert [body for body, _ in texts(world)] == ["one two"]


def test_what_cannot_be_joined_is_read_by_itself(world: World) -> None:
    assert part(world, 1, 1, "alone") == "reply"
    assert part(world, 1, PARTS_MAX + 1, "of a book") == "reply"
    assert part(world, 1, 2, b"x" * 400) == "reply"
    assert stored(world) is None


def test_one_text_too_many_lets_the_oldest_be_read(world: World) -> None:
    for number in range(TEXTS_MAX + 1):
        part(world, 1, 2, f"text {number}", reference=f"udh1-{number}")
    assert [body for body, _ in texts(world)] == ["text 0"]
    found = stored(world)
    assert found is not None
    assert len(found.texts) == TEXTS_MAX


@pytest.mark.parametrize("cut", [40, 60, 78])
def test_a_reaction_in_parts_is_one_and_the_quoted_stop_is_not_the_persons(cut: int) -> None:
    world = World()
    world.schedule({"id": "text", "kind": "sms", "template": SENT}, REST, CALL)
    world.submit()
    world.outcome("delivered")
    whole = f"Loved \u201c{SENT}\u201d"
    assert part(world, 1, 2, whole[:cut], UCS_2) is None
    assert part(world, 2, 2, whole[cut:], UCS_2) == "reply"
    assert world.lead().status != "opt_out"


def test_a_stop_behind_a_quotation_in_parts_counts() -> None:
    world = World()
    world.schedule({"id": "text", "kind": "sms", "template": SENT}, REST, CALL)
    world.submit()
    world.outcome("delivered")
    part(world, 1, 2, f"\u201c{SENT}\u201d", UCS_2)
    assert part(world, 2, 2, " STOP", UCS_2) == "opt_out"


def test_the_confirmation_of_a_stop_waits_for_the_missing_parts() -> None:
    world = World()
    world.add("company", 1, Company(name="Sunny", time_zone=NEW_YORK, optout_confirmation="You hear no more."), version=2)
    world.schedule(REST, CALL)
    world.submit()
    part(world, 1, 2, "STOP")
    assert world.commands == []
    world.now += MINUTE
    part(world, 2, 2, " it now")
    assert [command.body for command in world.commands if isinstance(command, SendSms)] == ["You hear no more."]
    part(world, 1, 2, "STOP", reference="udh1-8")
    part(world, 2, 2, " it now", reference="udh1-8")
    assert len(world.commands) == 1
