"""Is a person's text taken in over HTTP as the word that it is, once, and is what is none refused?"""

from typing import Any

import click
import pytest

from adapters.cli.call_in import send_text

pytestmark = pytest.mark.asyncio(loop_scope="session")

OURS = "+12125550150"
PERSON = "+13055550123"
GOOD: dict[str, Any] = {"from": PERSON, "to": OURS, "text_ref": "sms-1", "body": "yes"}
LATER = {"id": "later", "kind": "wait", "duration": "1d"}


async def _lead(company: Any) -> dict[str, Any]:
    schedule = await company.record("schedules", {"name": "Solar", "steps": [LATER]})
    answer = await company.send("POST", "/api/v1/leads", json={"lead_token": schedule["lead_token"], "caller_id": PERSON})
    assert answer.status_code == 201, answer.text
    lead: dict[str, Any] = answer.json()["lead"]
    return lead


async def _text(company: Any, **fields: Any) -> dict[str, Any]:
    answer = await company.send("POST", "/api/v1/texts/received", json={**GOOD, **fields})
    assert answer.status_code == 200, answer.text
    text: dict[str, Any] = answer.json()["text"]
    return text


async def test_an_answer_is_heard_and_a_stop_ends_all_contact(company: Any) -> None:
    lead = await _lead(company)
    answered = await _text(company)
    assert (answered["lead_id"], answered["meaning"], answered["repeated"]) == (lead["id"], "reply", False)
    shown = (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]
    assert (shown["status"], shown["has_next_action"]) == ("scheduled", True)

    stopped = await _text(company, text_ref="sms-2", body="STOP")
    assert stopped["meaning"] == "opt_out"
    shown = (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]
    assert (shown["status"], shown["opt_out"], shown["has_next_action"]) == ("opt_out", True, False)


async def test_a_text_that_is_reported_again_does_nothing_and_says_so(company: Any) -> None:
    await _lead(company)
    first, again = await _text(company), await _text(company, body="STOP")
    assert (first["repeated"], again["repeated"], again["meaning"]) == (False, True, None)
    assert first["contact_id"] == again["contact_id"]


async def test_parts_of_a_text_are_read_together_and_a_stop_in_one_counts_at_once(company: Any) -> None:
    await _lead(company)
    about = {"part_reference": "42", "part_count": 2}
    first = await _text(company, **about, part_number=2, body="OP texting me", text_ref="sms-2")
    assert (first["meaning"], first["repeated"]) == (None, False)
    last = await _text(company, **about, part_number=1, body="Please ST", text_ref="sms-1")
    assert last["meaning"] == "opt_out"


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ({"part_reference": "1"}, ["part_number", "part_count"]),
        ({"part_number": 1, "part_count": 2}, ["part_reference"]),
        ({"part_reference": "1", "part_number": 3, "part_count": 2}, ["part_number"]),
        ({"part_reference": "1", "part_number": 0, "part_count": 2}, ["part_number"]),
        ({"part_reference": "x" * 65, "part_number": 1, "part_count": 2}, ["part_reference"]),
    ],
)
async def test_a_part_that_cannot_be_is_refused(company: Any, part: dict[str, Any], named: list[str]) -> None:
    answer = await company.send("POST", "/api/v1/texts/received", json={**GOOD, **part})
    assert answer.status_code == 422
    assert sorted(answer.json()["errors"]) == sorted(named)


async def test_a_text_of_nobody_we_know_is_nobodys_leads(company: Any) -> None:
    for body in ("", "x" * 10_000):
        text = await _text(company, body=body, text_ref=f"sms-{len(body)}")
        assert (text["lead_id"], text["meaning"]) == (None, "reply")


async def test_a_report_of_a_text_that_cannot_be_is_refused(company: Any) -> None:
    missing: dict[str, Any] = dict.fromkeys(GOOD)
    for fields, status, named in [
        (missing, 422, ["from", "to", "text_ref", "body"]),
        ({"from": "nobody"}, 422, ["from"]),
        ({"to": True}, 422, ["to"]),
        ({"body": 7}, 422, ["body"]),
        ({"body": "x" * 10_001}, 422, ["body"]),
        ({"body": "a\x00"}, 422, ["body"]),
        ({"text_ref": "x" * 201}, 422, ["text_ref"]),
        ({"received_at": "noon"}, 400, ["received_at"]),
    ]:
        answer = await company.send("POST", "/api/v1/texts/received", json={**GOOD, **fields})
        assert (answer.status_code, list(answer.json()["errors"])) == (status, named), answer.text


async def test_an_opt_out_counts_whatever_the_clock_of_its_gateway_says(company: Any) -> None:
    lead = await _lead(company)
    said = {**GOOD, "body": "STOP", "received_at": "2999-01-01T00:00:00Z"}
    answer = await company.send("POST", "/api/v1/texts/received", json=said)
    assert (answer.status_code, answer.json()["text"]["meaning"]) == (200, "opt_out"), answer.text
    shown = (await company.send("GET", f"/api/v1/leads/{lead['id']}")).json()["lead"]
    assert (shown["status"], shown["opt_out"]) == ("opt_out", True)


async def test_a_demonstration_lets_a_person_text(town: Any, company: Any) -> None:
    lead = await _lead(company)
    town.client.headers.update(company.headers)
    try:
        text = await send_text(town.client, PERSON, OURS, "no mas")
        with pytest.raises(click.ClickException, match="from must be a valid telephone number"):
            await send_text(town.client, "nobody", OURS, "yes")
    finally:
        for name in company.headers:
            del town.client.headers[name]
    assert (text["lead_id"], text["meaning"]) == (lead["id"], "opt_out")
