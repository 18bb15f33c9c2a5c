"""Does a person hear a call on the page of its lead, and read why there is nothing to hear?"""

import asyncio
import io
import wave
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Locator, expect

from tests.adapters.http.browser.conftest import TELEPHONE, Windows
from tests.adapters.http.furnished import NUMBER, OURS, keep_recording, record_call, submit

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.browser]

RATE, SECONDS = 8_000, 30
PLAY_SECONDS, LOOK_SECONDS = 20.0, 0.1


def telephone_audio() -> bytes:
    """Return silence as a telephone records it."""
    file = io.BytesIO()
    with wave.open(file, "wb") as audio:
        audio.setnchannels(1)
        audio.setsampwidth(2)
        audio.setframerate(RATE)
        audio.writeframes(bytes(2 * RATE * SECONDS))
    return file.getvalue()


async def until_played(player: Locator, seconds: float) -> None:
    """Wait until a recording has played beyond a moment. Playwright's own wait evaluates text, which the page refuses."""
    async with asyncio.timeout(PLAY_SECONDS):
        while await player.evaluate("(one) => one.currentTime") <= seconds:
            await asyncio.sleep(LOOK_SECONDS)


async def recorded_lead(town: Any, company: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a lead whose person was called, and the call, whose recording is still at its vendor."""
    await company.record("numbers", {"number": OURS})
    lead = await submit(company, await company.schedule(), NUMBER, full_name="Ada Lovelace")
    call = await record_call(town, company, NUMBER)
    assert call["lead_id"] == lead["id"]
    return lead, call


async def test_a_person_hears_a_call_and_goes_on_in_it_while_the_page_renews_itself(
    town: Any, company: Any, windows: Windows
) -> None:
    lead, call = await recorded_lead(town, company)
    await keep_recording(town, company, call, telephone_audio())
    async with windows.of(company) as window:
        page = await window.open(f"/console/leads/{lead['id']}")
        await page.get_by_role("button", name="Listen").click()
        player = page.locator("audio")
        await expect(player).to_be_visible()
        await expect(player).to_be_focused()
        await until_played(player, 0)
        assert await player.evaluate("(one) => Math.round(one.duration)") == SECONDS
        assert await player.evaluate("(one) => new URL(one.src).origin") == windows.base
        await player.evaluate("(one) => new Promise((done) => { one.onseeked = done; one.currentTime = 20; })")
        assert await player.evaluate("(one) => one.currentTime") >= 20

        async with page.expect_response(lambda answer: urlsplit(answer.url).path == f"/console/leads/{lead['id']}/part"):
            pass  # the timeline has renewed itself
        await until_played(player, 20.1)
        assert await window.axe() == []
        await page.set_viewport_size(TELEPHONE)
        assert await window.axe() == []
        assert await window.violations() == []


async def test_a_recording_that_is_still_at_its_vendor_is_not_played_and_the_page_says_so(
    town: Any, company: Any, windows: Windows
) -> None:
    lead, call = await recorded_lead(town, company)
    async with windows.of(company) as window:
        page = await window.open(f"/console/leads/{lead['id']}")
        await page.get_by_role("button", name=f"Listen to call {call['id']}").click()
        await expect(page.get_by_text("The recording is still at the vendor.")).to_be_visible()
        assert await page.locator("audio").count() == 0
        assert await window.axe() == []
