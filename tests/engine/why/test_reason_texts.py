"""Does every reason have its words, and do they read as a person would say them?"""

import re
from pathlib import Path

import pytest

from engine.contact.commands import slots
from engine.contact.lifecycle import walk
from engine.contact.lifecycle.effects import LOOP_GUARD
from engine.contact.timing import contact_hours, earliest, holding, plan
from engine.contact.timing.places import SECTOR_BARRED, UNREVIEWED_COUNTRY
from engine.law import pack
from engine.law.caps import FREQUENCY_CAP_CODE
from engine.submission.dialling import COUNTRY_NOT_DIALLED, NUMBER_NOT_DIALLED
from engine.why.reason_texts import LAW_CODES, REASON_TEXTS, cap_text, clock, describe_reason, describe_wait, hours_text
from schemas.instant import Instant
from schemas.law import CapRow
from schemas.schedule import Window
from tests.engine.contact.world import at

DOMAIN_CODES = (
    "quiet_hours_federal", "quiet_hours_state", "preferred_window", "holiday", "frequency_cap", "min_spacing",
    "max_attempts_pending_outcome", "schedule_paused", "offer_paused", "company_paused", "awaiting_outcome",
    "awaiting_disposition", "callback_pending", "callback_owner_unavailable", "concurrency_cap", "rate_limited",
    "no_buyer_available", "no_number_available", "window_never_open", "timezone_unknown", "consent_missing", "rnd_pending",
    "suppression_lookup_failed", "provider_backoff", "move_loop_guard", "manual_hold", "reply_pause", "inbound_pause",
)  # fmt: skip
"""The codes that the API documents."""

ENGINE_CODES = [
    earliest.REPLY_PAUSE, earliest.INBOUND_PAUSE, earliest.INBOUND_MISSED, earliest.OPTOUT_REVIEW, earliest.MIN_SPACING,
    earliest.NEVER_OPEN, plan.EXPIRES_FIRST, plan.SCHEDULE_PAUSED, contact_hours.PREFERRED_CODE, contact_hours.PAUSED_CODE,
    contact_hours.HOLIDAY_CODE,
    contact_hours.UNKNOWN_ZONE_CODE, slots.WAITS_FOR_SLOT, walk.EVENT_AWAITED, holding.SIBLING_CALLED,
    walk.DISPOSITION_AWAITED, LOOP_GUARD, FREQUENCY_CAP_CODE, pack.QUIET_HOURS_FEDERAL, pack.QUIET_HOURS_STATE, pack.HOLIDAY,
    *holding.CAPS_USED_UP, NUMBER_NOT_DIALLED, COUNTRY_NOT_DIALLED, UNREVIEWED_COUNTRY, SECTOR_BARRED,
    earliest.REFUSAL_PAUSE,
]  # fmt: skip

NOW = at("2026-07-15 12:00")


@pytest.mark.parametrize("code", sorted({*DOMAIN_CODES, *ENGINE_CODES}))
def test_every_code_has_a_sentence(code: str) -> None:
    words = REASON_TEXTS[code]
    assert words.waiting
    assert words.waiting[0].islower()
    assert words.sentence[0].isupper()
    assert not words.sentence.endswith(".")
    assert (words.rule is not None) == (code in LAW_CODES or code == "preferred_window")


def test_a_lead_is_held_for_no_reason_without_words() -> None:
    """Every code that the contact's rooms pass to `hold` literally."""
    found = {
        code
        for path in Path(plan.__file__).parents[1].rglob("*.py")
        for code in re.findall(r'\bhold\(person, \w+, (?:[\w.]+ or )?"(\w+)"\)', path.read_text())
    }
    assert found
    assert found <= REASON_TEXTS.keys()


def test_a_code_that_is_not_known_here_stands_for_itself() -> None:
    assert describe_wait("a_new_code") == "a_new_code"
    assert describe_wait(None) == "held"
    assert describe_reason("a_new_code", None, (), "call") == "It is held back (a_new_code)"


def window(days: str, opens: str, closes: str) -> Window:
    return Window(days=tuple(days.split()), open=opens, close=closes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("windows", "text"),
    [
        ([], ""),
        ([window("mon tue wed thu fri sat sun", "08:00", "20:00")], "from 8:00 to 20:00"),
        ([window("mon tue wed thu fri", "09:00", "17:30")], "Mon-Fri from 9:00 to 17:30"),
        ([window("mon wed", "09:00", "12:00")], "Mon, Wed from 9:00 to 12:00"),
        (
            [window("mon tue wed thu fri sat", "08:00", "20:00"), window("sun", "12:00", "24:00")],
            "Mon-Sat from 8:00 to 20:00 and Sun from 12:00 to 24:00",
        ),
        ([window("sat", "08:00", "20:00"), window("sun", "08:00", "20:00")], "Sat, Sun from 8:00 to 20:00"),
    ],
)
def test_hours_read_as_a_person_says_them(windows: list[Window], text: str) -> None:
    assert hours_text(windows) == text


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (NOW, "Wed 12:00"),
        (at("2026-07-16 08:00"), "Thu 8:00"),
        (at("2026-07-21 08:05"), "Tue 8:05"),
        (at("2026-07-22 08:00"), "Wed 22 Jul 8:00"),
        (at("2026-07-01 20:14"), "Wed 1 Jul 20:14"),
        (at("2027-01-04 08:00"), "Mon 4 Jan 2027 8:00"),
    ],
)
def test_a_moment_is_written_no_longer_than_it_must_be(moment: Instant, text: str) -> None:
    assert clock(moment, NOW, "America/New_York") == text


def test_a_cap_says_what_it_counts() -> None:
    assert cap_text(CapRow(count=3, period="24h", unit="person", counts=("call", "sms"))) == (
        "3 calls and texts in 24h to one number"
    )


PRESENT = re.compile(r"\b(?:is|are|has|have|waits|allows|allow|pauses|goes)\b")
OF_ALL_TIMES = (
    "no contact is made without it", "nothing is done without it", "as fast as is allowed", "were to be called back when",
)  # fmt: skip


@pytest.mark.parametrize("code", REASON_TEXTS)
def test_what_was_is_said_in_the_past_tense(code: str) -> None:
    text = REASON_TEXTS[code]
    for said in (text.past, text.past_rule or ""):
        rest = said
        for phrase in OF_ALL_TIMES:
            rest = rest.replace(phrase, "")
        assert not PRESENT.search(rest), said
    assert (text.rule is None) == (text.past_rule is None)
