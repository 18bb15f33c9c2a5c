"""Who is offered the recording of a call on the page of its lead, and what do the others see? Nothing of it."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.adapters.http.conftest import Company, Town
from tests.adapters.http.console_browser import Browser, visitor
from tests.adapters.http.furnished import NUMBER, OURS, keep_recording, keep_transcription, record_call, submit

pytestmark = pytest.mark.asyncio(loop_scope="session")

AUDIO = b"RIFF\x24\x10\x00\x00WAVEfmt " + bytes(range(256))
LEADS = {"lead": {"actions": ["read"]}}
CALLS = {**LEADS, "call": {"actions": ["read"]}}
SECTION = "<h2>Recordings</h2>"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: it empties the table of recordings."""
    return own_town


class Recorded(Struct, frozen=True):
    lead: str
    """The path of its page."""
    player: str
    call: dict[str, Any]


@pytest_asyncio.fixture(loop_scope="session")
async def recorded(town: Town, company: Company) -> AsyncIterator[Recorded]:
    await company.record("numbers", {"number": OURS})
    lead = await submit(company, await company.schedule(), NUMBER, full_name="Ada Lovelace")
    call = await record_call(town, company, NUMBER)
    await keep_recording(town, company, call, AUDIO)
    yield Recorded(f"/console/leads/{lead['id']}", f"/console/calls/{call['id']}/recording", call)
    await town.pool.execute("TRUNCATE work.recordings CASCADE")


def source(text: str) -> str:
    found = re.search(r'<audio[^>]* src="([^"]+)"', text)
    assert found is not None, text
    return found[1]


async def test_who_may_read_calls_gets_a_player_of_the_apis_own_link(
    town: Town, company: Company, recorded: Recorded
) -> None:
    reader = await visitor(town, company, permissions=CALLS)

    page = await reader.get(recorded.lead)
    part = await reader.post(recorded.player)

    assert SECTION in page.text
    assert recorded.player in page.text
    assert "media-src 'self'" in part.headers["content-security-policy"]
    link = source(part.text)
    assert link.startswith("/recordings/")
    assert (await town.client.get(link)).content == AUDIO


@pytest.mark.parametrize(
    "permissions",
    [
        LEADS,
        {**LEADS, "call": {"actions": ["read"], "fields": {"recording_url": "none"}}},
        {**LEADS, "call": {"actions": ["update"]}},
    ],
    ids=["no calls", "the field is hidden", "calls are not read"],
)
async def test_who_may_not_hear_it_sees_nothing_of_it(
    town: Town, company: Company, recorded: Recorded, permissions: dict[str, Any]
) -> None:
    person = await visitor(town, company, permissions=permissions)

    page = await person.get(recorded.lead)
    part = await person.post(recorded.player)

    assert page.status_code == 200
    assert SECTION not in page.text
    assert "recording" not in page.text.lower()
    assert part.status_code in {403, 404}
    assert "<audio" not in part.text


async def test_a_call_of_another_company_is_not_there(town: Town, other: Company, recorded: Recorded) -> None:
    stranger = await visitor(town, other)

    part = await stranger.post(recorded.player)

    assert part.status_code == 404
    assert "<audio" not in part.text


async def test_without_a_session_there_is_no_player(town: Town, recorded: Recorded) -> None:
    answer = await Browser(town).post(recorded.player)

    assert answer.status_code == 401
    assert "<audio" not in answer.text


async def test_no_page_elsewhere_and_no_link_makes_a_player(town: Town, company: Company, recorded: Recorded) -> None:
    reader = await visitor(town, company, permissions=CALLS)

    followed = await reader.get(recorded.player)
    foreign = await reader.post(recorded.player, headers={"Origin": "https://elsewhere.test"})
    forged = await reader.post(recorded.player, headers={"X-CSRF-Token": "0" * 64})

    assert [followed.status_code, foreign.status_code, forged.status_code] == [405, 403, 403]
    assert "<audio" not in followed.text + foreign.text + forged.text


async def test_a_session_that_was_just_ended_elsewhere_makes_no_player(
    town: Town, company: Company, recorded: Recorded
) -> None:
    reader = await visitor(town, company, permissions=CALLS)
    part = {"HX-Request": "true"}
    assert (await reader.get(f"{recorded.lead}/part", headers=part)).status_code == 200, "an open page has read the session"
    await town.pool.execute("DELETE FROM work.sessions WHERE company_id = $1", company.id)

    open_page = await reader.get(f"{recorded.lead}/part", headers=part)
    player = await reader.post(recorded.player, headers=part)

    assert (open_page.status_code, player.status_code) == (200, 401)
    assert "<audio" not in player.text


async def test_what_is_deleted_or_kept_elsewhere_is_said_instead(town: Town, company: Company, recorded: Recorded) -> None:
    reader = await visitor(town, company, permissions=CALLS)
    await town.recordings.recordings.begin_delete(company.id, recorded.call["recording_url"])
    deleted = await reader.post(recorded.player)
    await town.pool.execute("TRUNCATE work.recordings CASCADE")
    elsewhere = await reader.post(recorded.player)

    assert (deleted.status_code, "This recording was deleted." in deleted.text) == (200, True)
    assert (elsewhere.status_code, "is not kept here" in elsewhere.text) == (200, True)


async def test_what_was_said_stands_below_the_player_as_text(town: Town, company: Company, recorded: Recorded) -> None:
    reader = await visitor(town, company, permissions=CALLS)
    before = (await reader.post(recorded.player)).text
    await keep_transcription(town, company, recorded.call, "Hello <b>roof</b>")
    after = (await reader.post(recorded.player)).text

    assert "<p>" not in before
    assert "<p>Hello &lt;b&gt;roof&lt;/b&gt;</p>" in after
    assert source(after).startswith("/recordings/")
