"""Is each outcome of each channel done, failed or open, and are commands added up so?"""

import pytest

from engine.views.outcomes import FAILED, OPEN, OutcomeCount, count_outcomes, judge
from schemas.outcomes import GATE_OUTCOMES, OUTCOMES

JUDGED = {
    ("call", "done"): "connected_human connected_buyer voicemail no_answer busy declined abandoned_by_us caller_hung_up"
    " opted_out",
    ("call", "failed"): "congestion invalid_number not_placed",
    ("call", "open"): "canceled unknown",
    ("sms", "done"): "accepted sent delivered",
    ("sms", "failed"): "undelivered failed invalid_number opted_out not_placed",
    ("sms", "open"): "unknown",
    ("email", "done"): "accepted delivered complained unsubscribed",
    ("email", "failed"): "bounced_hard bounced_soft failed not_placed",
    ("email", "open"): "unknown",
    ("webhook", "done"): "accepted",
    ("webhook", "failed"): "failed not_placed",
    ("webhook", "open"): "unknown",
}


@pytest.mark.parametrize("channel", OUTCOMES)
def test_every_outcome_of_a_channel_is_judged(channel: str) -> None:
    expected = {name: judgement for (one, judgement), names in JUDGED.items() if one == channel for name in names.split()}
    assert {name: judge(channel, name) for name in OUTCOMES[channel]} == expected


@pytest.mark.parametrize("channel", OUTCOMES)
def test_what_a_gateway_dropped_and_what_is_not_known_is_open(channel: str) -> None:
    for outcome in (*GATE_OUTCOMES, None, "of a later release"):
        assert judge(channel, outcome) == "open"


def test_the_judgements_agree_with_what_outcomes_do() -> None:
    assert OUTCOMES.keys() == FAILED.keys()
    assert not any(OPEN & FAILED[channel] for channel in FAILED)
    for channel, table in OUTCOMES.items():
        assert FAILED[channel] <= table.keys()
        assert all(judge(channel, name) == "done" for name, outcome in table.items() if outcome.good)
        assert all(judge(channel, name) == "failed" for name, outcome in table.items() if outcome.disables_channel)


def test_commands_are_added_up_by_channel() -> None:
    found = [
        OutcomeCount("sms", "accepted", commands=2, facts=2),
        OutcomeCount("sms", "delivered", commands=3, facts=6),
        OutcomeCount("sms", "undelivered", commands=3, facts=6),
        OutcomeCount("sms", "invalid_number", commands=1, facts=1),
        OutcomeCount("sms", "expired", commands=1, facts=1),
        OutcomeCount("email", "bounced_hard", commands=0, facts=8),
    ]
    counts = count_outcomes(found, limit=16)
    texts = counts.channels["sms"]
    assert texts.judged == {"done": 5, "failed": 4, "open": 1}
    assert list(texts.outcomes.items()) == [
        ("delivered", 3),
        ("undelivered", 3),
        ("accepted", 2),
        ("expired", 1),
        ("invalid_number", 1),
    ]
    assert texts.sent == 8, "without what was dropped, and what had nowhere to go"
    assert counts.at_least == ("sms",), "of 16 facts each was looked at, and there may be more"
    assert counts.channels["email"].outcomes == {}, "the facts were of leads that are not visible"
    assert list(counts.channels) == list(OUTCOMES)
    assert counts.channels["webhook"].judged == {"done": 0, "failed": 0, "open": 0}
