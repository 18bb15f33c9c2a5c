"""Is a recording fetched from each vendor, kept, played to whom it may be played to, and deleted when it must be?

In a folder and in a bucket alike.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio
from msgspec import structs

from adapters.gateway.addresses import networks
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.recordings import transcribing
from adapters.recordings.bucket import BucketRecordings
from adapters.recordings.download import RecordingDownloads
from adapters.recordings.keeping import ATTEMPTS_MAX, RecordingKeeper
from adapters.recordings.links import RecordingLink, RecordingLinks
from adapters.recordings.ports import MissingFileError
from adapters.recordings.transcribing import RecordingTranscription
from adapters.recordings.transcription_service import TranscriptionService
from schemas.instant import SECOND
from tests.adapters.http.asterisk_carrier import AsteriskCarrier
from tests.adapters.http.carrier import PUBLIC, Carrier, carried, seen_in_time
from tests.adapters.http.conftest import SECRET_KEY, Town
from tests.adapters.http.test_teams import person, team
from tests.adapters.http.test_telnyx_orders import HANGUP, TelnyxCarrier
from tests.adapters.providers.asterisk_office import until
from tests.adapters.providers.fake_asterisk import PASSWORD, FakeAsterisk
from tests.adapters.providers.fake_telnyx import FakeTelnyx
from tests.adapters.providers.fake_twilio import ACCOUNT, read_twiml
from tests.adapters.recordings.s3_server import S3Server
from tests.adapters.recordings.speech_server import KEY, SpeechServer

pytestmark = pytest.mark.asyncio(loop_scope="session")

PERSON, OURS = "+13055550123", "+12125550188"
AUDIO = b"RIFF\x24\x10\x00\x00WAVEfmt " + bytes(range(256)) * 40

Message = Callable[[str], Awaitable[str]]
"""Lets a person leave a message by a vendor, under a name; returns the vendor's reference of the call."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def town(own_town: Town) -> Town:
    """Alone: a gateway of this file carries out the commands of all companies."""
    return own_town


@asynccontextmanager
async def by_twilio(town: Any, company: Any) -> AsyncIterator[tuple[Carrier, Message]]:
    async with carried(town, company) as carrier:
        url = (await carrier.configure())["callback_url"]

        async def leave(name: str) -> str:
            form = {"CallSid": name, "CallStatus": "ringing", "Direction": "inbound", "From": PERSON, "To": OURS}
            said = (await carrier.twilio.report(url, form)).text
            while "<Redirect" in said:
                said = (await carrier.twilio.report(_url_in(said, "<Redirect[^>]*>([^<]*)"), form)).text
            after = await carrier.twilio.report(_url_in(said, 'action="([^"]*)"'), {**form, "CallStatus": "in-progress"})
            assert "<Hangup" in after.text
            callback = _url_in(said, 'recordingStatusCallback="([^"]*)"')
            assert PERSON[1:] not in callback, "URLs are logged"
            assert (await carrier.twilio.recorded(callback, name, AUDIO)).status_code == 200
            assert (await carrier.twilio.report(url, {**form, "CallStatus": "completed"})).status_code == 200
            return name

        yield carrier, leave


@asynccontextmanager
async def by_telnyx(town: Any, company: Any) -> AsyncIterator[tuple[Carrier, Message]]:
    async def post(url: str, content: bytes, headers: Mapping[str, str]) -> Any:
        return await town.client.post(url.replace(PUBLIC, "http://10.0.0.7:8080"), content=content, headers=headers)

    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    async with FakeTelnyx(post) as telnyx:
        carrier = TelnyxCarrier(town, company, telnyx, http)
        url = (await carrier.configure())["callback_url"]

        async def leave(_name: str) -> str:
            leg = telnyx.rings(PERSON, OURS, url)
            assert (await telnyx.event(leg, "call.initiated", direction="incoming")).status_code == 200
            for name in ("call.answered", "call.speak.ended"):
                assert (await telnyx.event(leg, name)).status_code == 200
            assert [action for _, action, _ in telnyx.actions][-1] == "record_start"
            assert (await telnyx.recorded(leg, AUDIO)).status_code == 200
            assert (await telnyx.event(leg, "call.hangup", **HANGUP)).status_code == 200
            return str(leg["call_control_id"])

        yield carrier, leave
    await http.close()


@asynccontextmanager
async def by_asterisk(town: Any, company: Any) -> AsyncIterator[tuple[Carrier, Message]]:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    async with FakeAsterisk() as asterisk:
        carrier = AsteriskCarrier(town, company, http, asterisk.url, PASSWORD)
        await carrier.configure()

        async def leave(name: str) -> str:
            asterisk.calls_in(name, PERSON, OURS)
            await until(lambda: any("voicemail" in playback for playback in asterisk._plays), what="the greeting")
            asterisk.played(next(iter(asterisk._plays)))
            await until(lambda: asterisk.recordings, what="the message")
            (recording,) = asterisk.recordings
            assert PERSON[1:] not in recording, "the file stays in Asterisk's spool"
            asterisk.recorded(recording, AUDIO)
            await until(lambda: not asterisk.channels, what="the end of the call")
            return name

        async with carrier.listened():
            await until(lambda: asterisk.listeners, what="a listener")
            yield carrier, leave
    await http.close()


VENDORS = {"twilio": by_twilio, "telnyx": by_telnyx, "asterisk": by_asterisk}


def _url_in(twiml: str, pattern: str) -> str:
    found = re.search(pattern, twiml)
    assert found is not None, twiml
    return found[1].replace("&amp;", "&")


@pytest.fixture(autouse=True, params=["folder", "bucket"])
def store(town: Any, s3_server: S3Server, request: pytest.FixtureRequest) -> Iterator[None]:
    """Where the deployment keeps recordings."""
    folder = town.recordings.files
    if request.param == "bucket":
        structs.force_setattr(town.recordings, "files", BucketRecordings(s3_server.bucket()))
    yield
    structs.force_setattr(town.recordings, "files", folder)


async def has_file(town: Any, name: str) -> bool:
    try:
        return [part async for part in town.recordings.files.read(name, 0, 1)] != []
    except MissingFileError:
        return False


@pytest_asyncio.fixture(loop_scope="session")
async def keep(town: Any, company: Any) -> AsyncIterator[Callable[..., RecordingKeeper]]:
    """Makes what a gateway fetches and deletes with."""
    await company.record("numbers", {"number": OURS})
    opened: list[RecordingDownloads] = []

    def make(carrier: Carrier, **more: Any) -> RecordingKeeper:
        opened.append(RecordingDownloads(**{"allowed": networks(["127.0.0.1"]), **more}))
        return RecordingKeeper(
            town.recordings.recordings,
            town.recordings.files,
            downloads=opened[-1],
            connections=carrier.connections,
            requests=town.requests,
            rules=town.context.rules,
        )

    yield make
    await town.pool.execute("TRUNCATE work.recordings CASCADE")  # the next test's keeper knows another vendor
    for downloads in opened:
        await downloads.close()


async def row_of(town: Any, company: Any, call: Mapping[str, Any]) -> Any:
    found = await town.recordings.recordings.find(company.id, call["recording_url"])
    assert found is not None
    return found


async def play(company: Any, call: Mapping[str, Any], **more: Any) -> Any:
    return await company.send(more.pop("method", "GET"), f"/api/v1/calls/{call['id']}/recording", **more)


@asynccontextmanager
async def kept(town: Any, company: Any, keep: Any, reference: str) -> AsyncIterator[tuple[Carrier, RecordingKeeper, Any]]:
    """A message by Twilio, whose recording is stored."""
    async with by_twilio(town, company) as (carrier, leave):
        call = await carrier.inbound(await leave(reference), has_recording=True)
        keeper = keep(carrier)
        await keeper.fetch()
        assert (await row_of(town, company, call)).state == "stored"
        yield carrier, keeper, call


@pytest.mark.parametrize("vendor", VENDORS)
async def test_a_message_is_fetched_from_its_vendor_and_played(town: Any, company: Any, keep: Any, vendor: str) -> None:
    async with VENDORS[vendor](town, company) as (carrier, leave):
        call = await carrier.inbound(await leave(f"{vendor}-{company.id}"), has_recording=True)
        before = await play(company, call)
        await keep(carrier).fetch()
        after = await play(company, call)

    assert (before.status_code, before.json()["code"], before.headers["retry-after"]) == (503, "recording_pending", "15")
    assert (after.status_code, after.content, after.headers["content-type"]) == (200, AUDIO, "audio/wav")
    assert after.headers["content-disposition"] == f'inline; filename="call-{call["id"]}.wav"'
    assert (after.headers["cache-control"], after.headers["content-length"]) == ("private, no-store", str(len(AUDIO)))
    stored = await row_of(town, company, call)
    assert (stored.state, stored.size) == ("stored", len(AUDIO))
    assert PERSON[1:] not in stored.name


async def test_a_talk_that_asterisk_recorded_is_fetched(town: Any, company: Any, keep: Any) -> None:
    http = GuardedProviderHttp(allowed=networks(["127.0.0.1"]))
    async with FakeAsterisk() as asterisk:
        carrier = AsteriskCarrier(town, company, http, asterisk.url, PASSWORD)
        await carrier.configure(settings={"records": True, "announcement": "sound:leadclock/recorded"})
        async with carrier.listened():
            await until(lambda: asterisk.listeners, what="a listener")
            command = await carrier.command("call", machine="continue")
            await carrier.providers("call").place(command, carrier.report)
            lead = f"lc.{command.command_id}"
            asterisk.answers(lead)
            await until(lambda: f"{lead}.b0" in asterisk.channels, what="the buyer's leg")
            asterisk.answers(f"{lead}.b0")
            await until(lambda: lead in asterisk._plays, what="the announcement")
            assert asterisk.recordings == {}, "nothing is recorded before it was announced"
            asterisk.played(lead)
            await until(lambda: lead in asterisk.recordings, what="the recording")
            asterisk.recorded(lead, AUDIO)
            asterisk.ends(lead)
            call = await carrier.call(command, outcome="connected_buyer", has_recording=True)

            await keep(carrier).fetch()

    assert (await play(company, call)).content == AUDIO
    await http.close()


async def test_a_talk_that_twilio_recorded_is_fetched_after_its_end(town: Any, company: Any, keep: Any) -> None:
    async with carried(town, company) as carrier:
        settings = {"account_sid": ACCOUNT, "base_url": carrier.twilio.url, "agent_number": "+12125550177"}
        await carrier.configure(settings={**settings, "records": True, "announcement": "This call is recorded."})
        command = await carrier.command("call", machine="continue")
        await carrier.providers("call").place(command, carrier.report)
        sid, placed = list(carrier.twilio.calls.items())[-1]
        answer = await carrier.twilio.report(placed["url"], {"CallSid": sid, "CallStatus": "in-progress"})
        dial = read_twiml(answer.text).find("Dial")
        assert dial is not None
        await carrier.twilio.report(
            dial.attrib["action"], {"CallSid": sid, "DialCallStatus": "completed", "DialCallDuration": "42"}
        )
        await carrier.twilio.status(sid, "completed", CallDuration="50")
        ended = await carrier.call(command, outcome="connected_buyer")
        assert (await carrier.twilio.recorded(dial.attrib["recordingStatusCallback"], sid, AUDIO)).status_code == 200
        call = await carrier.call(command, has_recording=True)
        await keep(carrier).fetch()

    assert not ended["has_recording"]
    assert (call["ended_at"], call["talk_duration"]) == (ended["ended_at"], 42)
    assert (await play(company, call)).content == AUDIO


async def test_a_player_gets_the_part_that_it_asks_for(town: Any, company: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CArange{company.id}") as (_, _, call):
        some = await play(company, call, headers={"Range": "bytes=100-199"})
        rest = await play(company, call, headers={"Range": f"bytes={len(AUDIO) - 5}-"})
        last = await play(company, call, headers={"Range": "bytes=-7"})
        behind = await play(company, call, headers={"Range": f"bytes={len(AUDIO)}-"})
        strange = await play(company, call, headers={"Range": "lines=1-2"})
        head = await play(company, call, method="HEAD")

    assert (some.status_code, some.content) == (206, AUDIO[100:200])
    assert some.headers["content-range"] == f"bytes 100-199/{len(AUDIO)}"
    assert (rest.content, last.content) == (AUDIO[-5:], AUDIO[-7:])
    assert (behind.status_code, behind.headers["content-range"]) == (416, f"bytes */{len(AUDIO)}")
    assert (strange.status_code, strange.content) == (200, AUDIO)
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(AUDIO)))


async def test_only_who_sees_the_call_and_the_field_hears_it(town: Any, company: Any, other: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CAteams{company.id}") as (_, _, call):
        offer = await company.record("offers", {"name": "Another"})
        made = await team(company, permissions={"call": {"actions": ["read"]}})
        ada = await person(town, company)
        path = f"/api/v1/calls/{call['id']}/recording"
        assert (await ada.get(path)).content == AUDIO
        link = (await ada.get(f"{path}_link")).json()["recording_link"]["url"]
        followed = link.removeprefix(PUBLIC)
        assert (await town.client.get(followed)).content == AUDIO

        for change, code in (
            ({"permissions": {"call": {"actions": ["read"], "fields": {"recording_url": "none"}}}}, 403),
            ({"permissions": {"call": {"actions": ["read"]}}, "lead_filters": {"offer_ids": [offer["id"]]}}, 404),
            ({"permissions": {"lead": {"actions": ["read"]}}}, 403),
        ):
            answer = await company.send("PUT", f"/api/v1/access_control_lists/{made['id']}", json=change)
            assert answer.status_code == 200, answer.text
            await town.context.rules.refresh()
            assert (await ada.get(path)).status_code == code, change
            assert (await ada.get(f"{path}_link")).status_code == code, change
            assert (await town.client.get(followed)).status_code == code, "a link asks when it is used"

        assert (await play(other, call)).status_code == 404
        assert (await other.send("DELETE", path, json={"confirm": "delete"})).status_code == 404
        assert (await town.client.get(path)).status_code == 401
        assert (await play(company, call)).content == AUDIO


async def test_a_link_expires_and_cannot_be_made_up(town: Any, company: Any, other: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CAlink{company.id}") as (_, _, call):
        path = f"/api/v1/calls/{call['id']}/recording_link"
        made = (await company.send("GET", path, params={"expires_in_seconds": "60"})).json()["recording_link"]
        refused = await company.send("GET", path, params={"expires_in_seconds": "5"})
        good = await town.client.get(made["url"].removeprefix(PUBLIC))
        changed = await town.client.get(f"{made['url'].removeprefix(PUBLIC)[:-2]}xx")

        now = town.context.clock.now()
        key_id = (await company.send("GET", "/api/v1/keys")).json()["keys"][0]["id"]
        links, foreign = RecordingLinks(SECRET_KEY, ""), RecordingLinks("the secret of another deployment", "")
        old = RecordingLink(company.id, call["id"], now - SECOND, key_id, None)
        theirs = RecordingLink(other.id, call["id"], now + 60 * SECOND, key_id, None)
        answers = [await town.client.get(url) for url in (links.url(old), links.url(theirs), foreign.url(old))]

    assert made["url"].startswith(f"{PUBLIC}/recordings/")
    assert (good.status_code, good.content) == (200, AUDIO)
    assert (refused.status_code, changed.status_code) == (422, 404)
    assert [answer.status_code for answer in answers] == [410, 404, 404]


async def test_a_deleted_recording_is_gone_and_does_not_come_back(town: Any, company: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CAdelete{company.id}") as (carrier, keeper, call):
        path = f"/api/v1/calls/{call['id']}/recording"
        name = (await row_of(town, company, call)).name
        unsure = await company.send("DELETE", path, json={})
        assert (unsure.status_code, list(unsure.json()["errors"])) == (422, ["confirm"])
        assert (await play(company, call)).content == AUDIO

        deleted = await company.send("DELETE", path, json={"confirm": "delete"})
        await keeper.delete()

        assert (deleted.status_code, deleted.json()["call"]["recording_url"]) == (200, None)
        assert (await play(company, call)).status_code == 404
        assert not await has_file(town, name)
        # The vendor reports it again.
        await town.recordings.recordings.owe(
            company_id=company.id,
            configuration_id=(await carrier.configurations())[0]["id"],
            contact_key=f"{company.id}|{PERSON}",
            call_id=None,
            recording_url=call["recording_url"],
        )
        assert await keeper.fetch() == 0
        events = (await company.send("GET", f"/api/v1/calls/{call['id']}/events")).json()["call"]["events"]
        (changed,) = [event for event in events if event.get("event") == "call.updated"]
        assert changed["fields"] == ["recording_url"]
        assert not any(event["type"] == "CallRecording" for event in events)


async def test_a_recording_is_deleted_when_it_is_as_old_as_its_company_says(town: Any, company: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CAold{company.id}") as (_, keeper, call):
        await town.pool.execute("UPDATE work.recordings SET owed_at = owed_at - interval '40 days'")
        name = (await row_of(town, company, call)).name
        await keeper.sweep()
        await keeper.delete()
        assert (await play(company, call)).content == AUDIO, "90 days where a company says nothing"

        answer = await company.send("PUT", "/api/v1/company", json={"recording_retention_days": 30})
        assert answer.status_code == 200, answer.text
        assert await keeper.sweep() == 1
        assert (await play(company, call)).json()["code"] == "deleted"
        await keeper.delete()

        async def look() -> Any:
            return (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]

        shown = await seen_in_time(look, lambda found: found["recording_url"] is None)
        assert shown["has_recording"] is False
        assert not await has_file(town, name)


async def test_a_process_that_is_killed_in_between_loses_no_recording(town: Any, company: Any, keep: Any) -> None:
    async with by_twilio(town, company) as (carrier, leave):
        call = await carrier.inbound(await leave(f"CAkill{company.id}"), has_recording=True)
        keeper, rows = keep(carrier), town.recordings.recordings

        async def half() -> AsyncIterator[bytes]:
            yield AUDIO

        (taken,) = await rows.take_owed(10, 600.0)
        await town.recordings.files.put(taken.name, half())  # killed before the row says so
        assert await keeper.fetch() == 0, "the lease of the one that was killed"
        await town.pool.execute("UPDATE work.recordings SET due_at = clock_timestamp()")
        await asyncio.gather(keeper.fetch(), keep(carrier).fetch())

        assert (await row_of(town, company, call)).attempts == 2
        assert (await play(company, call)).content == AUDIO


async def test_a_vendor_that_is_away_is_asked_again_and_not_for_ever(town: Any, company: Any, keep: Any) -> None:
    async with by_twilio(town, company) as (carrier, leave):
        call = await carrier.inbound(await leave(f"CAaway{company.id}"), has_recording=True)
        keeper = keep(carrier)
        carrier.twilio.fails = 1
        await keeper.fetch()
        failed = await row_of(town, company, call)
        assert (failed.state, failed.attempts, failed.reason) == ("owed", 1, "the vendor answered 503")
        assert await keeper.fetch() == 0, "not before its wait is over"

        await town.pool.execute("UPDATE work.recordings SET due_at = clock_timestamp(), attempts = $1", ATTEMPTS_MAX - 1)
        carrier.twilio.fails = 1
        await keeper.fetch()

        refused = await play(company, call)
        assert (refused.status_code, (await row_of(town, company, call)).state) == (404, "failed")
        assert "the vendor answered 503" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("more", "content", "becomes"),
    [
        ({}, b"<html>Sign in</html>", ("owed", "no audio")),
        ({"bytes_max": 1_000}, AUDIO, ("failed", "larger than 1000 bytes")),
        ({"allowed": ()}, AUDIO, ("owed", "not allowed")),
    ],
)
async def test_what_is_not_a_recording_from_an_allowed_address_is_not_kept(
    town: Any, company: Any, keep: Any, *, more: Any, content: bytes, becomes: tuple[str, str]
) -> None:
    async with by_twilio(town, company) as (carrier, leave):
        call = await carrier.inbound(await leave(f"CAbad{company.id}"), has_recording=True)
        carrier.twilio.recordings = dict.fromkeys(carrier.twilio.recordings, content)

        await keep(carrier, **more).fetch()

        found = await row_of(town, company, call)
        assert found.state == becomes[0]
        assert becomes[1] in (found.reason or "")
        assert not await has_file(town, found.name)


async def test_a_callback_whose_recording_is_not_written_down_is_not_confirmed(town: Any, company: Any, keep: Any) -> None:
    async with by_twilio(town, company) as (carrier, leave):
        await town.pool.execute("ALTER TABLE work.recordings RENAME TO recordings_away")
        try:
            with pytest.raises(AssertionError):
                await leave(f"CAdown{company.id}")
        finally:
            await town.pool.execute("ALTER TABLE work.recordings_away RENAME TO recordings")
        call = await carrier.inbound(await leave(f"CAdown{company.id}"), has_recording=True)

        await keep(carrier).fetch()
        assert (await play(company, call)).content == AUDIO


async def test_a_recording_of_a_gateway_of_ones_own_stays_there(company: Any) -> None:
    body = {
        "call_ref": "own-1",
        "state": "ended",
        "from": PERSON,
        "to": OURS,
        "recording_url": "https://pbx.example.com/1.wav",
    }
    answer = await company.send("POST", "/api/v1/calls/received", json=body)
    assert answer.status_code in {200, 201}, answer.text

    refused = await play(company, answer.json()["call"])

    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert "recording_url" in refused.json()["detail"]


async def transcription_of(company: Any, call: Mapping[str, Any]) -> Any:
    return await company.send("GET", f"/api/v1/calls/{call['id']}/transcription")


async def ask_for_transcription(company: Any, call: Mapping[str, Any], **headers: str) -> Any:
    path = f"/api/v1/calls/{call['id']}"
    answer = await company.send("POST", path, json={"manual_transcribe": True}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["call"]


@asynccontextmanager
async def transcribed(town: Any) -> AsyncIterator[tuple[SpeechServer, RecordingTranscription]]:
    """A service of transcription, and what a gateway asks it with."""
    async with SpeechServer() as server:
        service = TranscriptionService(server.url, key=KEY, model="whisper-1", allowed=networks(["127.0.0.1"]))
        of_town = town.recordings
        yield server, RecordingTranscription(of_town.transcriptions, of_town.files, service, town.requests)
        await service.close()


async def status_in_time(company: Any, call: Mapping[str, Any], status: str | None) -> None:
    """Wait until the call has this transcription_status."""

    async def look() -> Any:
        return (await company.send("GET", f"/api/v1/calls/{call['id']}")).json()["call"]["transcription_status"]

    await seen_in_time(look, lambda found: found == status)


async def test_what_was_said_is_written_down_once_somebody_asks(town: Any, company: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CAtext{company.id}") as (_, _, call), transcribed(town) as (server, gateway):
        server.says("Hello, this is about the roof.")
        unasked = await transcription_of(company, call)
        assert await gateway.transcribe() == 0

        pending = await ask_for_transcription(company, call)
        waiting = await transcription_of(company, call)
        assert await gateway.transcribe() == 1
        await status_in_time(company, call, "completed")
        done = await transcription_of(company, call)

    assert (unasked.status_code, "manual_transcribe=true" in unasked.json()["detail"]) == (404, True)
    assert pending["transcription_status"] == "pending"
    assert waiting.json()["transcription"].items() >= {"status": "pending", "text": None}.items()
    assert server.heard == [AUDIO]
    shown = done.json()["transcription"]
    assert (shown["status"], shown["text"], shown["reason"]) == ("completed", "Hello, this is about the roof.", None)
    assert done.headers["cache-control"] == "private, no-store"


async def test_what_was_said_stands_in_no_topic(town: Any, company: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CAtopic{company.id}") as (_, _, call), transcribed(town) as (server, gateway):
        server.says("my card number is")
        await ask_for_transcription(company, call)
        await gateway.transcribe()
        await status_in_time(company, call, "completed")
        events = await company.send("GET", f"/api/v1/calls/{call['id']}/events")

    changes = [event["fields"] for event in events.json()["call"]["events"] if event.get("event") == "call.updated"]
    assert changes == [["transcription_status"]] * 2
    assert "my card" not in events.text


async def test_one_that_is_asked_for_again_is_made_once(town: Any, company: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CAonce{company.id}") as (_, _, call), transcribed(town) as (server, gateway):
        server.says("hello")
        await ask_for_transcription(company, call, **{"Idempotency-Key": "once"})
        await ask_for_transcription(company, call)
        await gateway.transcribe()
        await status_in_time(company, call, "completed")
        await ask_for_transcription(company, call, **{"Idempotency-Key": "once"})
        again = await ask_for_transcription(company, call)

        assert again["transcription_status"] == "completed"
        assert await gateway.transcribe() == 0
        assert len(server.heard) == 1


async def test_a_service_that_is_out_of_order_is_asked_again_and_a_refusal_is_final(
    town: Any, company: Any, keep: Any
) -> None:
    async with kept(town, company, keep, f"CAfail{company.id}") as (_, _, call), transcribed(town) as (server, gateway):
        server.is_overloaded()
        await ask_for_transcription(company, call)
        await gateway.transcribe()
        waiting = (await transcription_of(company, call)).json()["transcription"]
        assert (waiting["status"], "it answered 429" in waiting["reason"]) == ("pending", True)
        assert await gateway.transcribe() == 0, "it waits before it asks again"

        server.refuses()
        await town.pool.execute("UPDATE work.transcriptions SET due_at = clock_timestamp()")
        await gateway.transcribe()
        await status_in_time(company, call, "failed")
        failed = (await transcription_of(company, call)).json()["transcription"]
        assert (failed["status"], failed["text"]) == ("failed", None)
        assert "Invalid file format" in failed["reason"]
        assert KEY not in failed["reason"]

        server.says("hello")
        assert (await ask_for_transcription(company, call))["transcription_status"] == "pending"
        await gateway.transcribe()
        await status_in_time(company, call, "completed")


async def test_a_service_that_stays_out_of_order_is_given_up(
    town: Any, company: Any, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcribing, "ATTEMPTS_MAX", 1)
    async with kept(town, company, keep, f"CAgive{company.id}") as (_, _, call), transcribed(town) as (server, gateway):
        server.is_overloaded()
        await ask_for_transcription(company, call)
        await gateway.transcribe()
        await status_in_time(company, call, "failed")


async def test_a_gateway_that_ends_after_the_text_was_stored_lets_the_next_one_say_so(
    town: Any, company: Any, keep: Any
) -> None:
    async with kept(town, company, keep, f"CAcrash{company.id}") as (_, _, call), transcribed(town) as (server, gateway):
        await ask_for_transcription(company, call)
        row = await row_of(town, company, call)
        await town.recordings.transcriptions.add_text(row.id, "hello")
        hidden = (await transcription_of(company, call)).json()["transcription"]

        assert await gateway.transcribe() == 1
        await status_in_time(company, call, "completed")

    assert hidden["text"] is None
    assert server.heard == [], "the service is not asked twice"


async def test_a_recording_that_ends_each_gateway_that_has_it_transcribed_is_given_up(
    town: Any, company: Any, keep: Any
) -> None:
    async with kept(town, company, keep, f"CAends{company.id}") as (_, _, call), transcribed(town) as (server, gateway):
        await ask_for_transcription(company, call)
        await town.pool.execute("UPDATE work.transcriptions SET attempts = $1", transcribing.ATTEMPTS_MAX)

        assert await gateway.transcribe() == 1
        await status_in_time(company, call, "failed")
        failed = (await transcription_of(company, call)).json()["transcription"]

    assert (server.heard, "a gateway ended" in failed["reason"]) == ([], True)


async def test_a_recording_whose_file_is_gone_is_not_transcribed(town: Any, company: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CAfile{company.id}") as (_, _, call), transcribed(town) as (_, gateway):
        await ask_for_transcription(company, call)
        await town.recordings.files.delete((await row_of(town, company, call)).name)
        await gateway.transcribe()
        await status_in_time(company, call, "failed")


async def test_what_is_heard_of_a_recording_that_is_deleted_meanwhile_is_not_kept(
    town: Any, company: Any, keep: Any
) -> None:
    async with kept(town, company, keep, f"CAmean{company.id}") as (_, keeper, call), transcribed(town) as (server, gateway):
        server.says("my card number is")
        await ask_for_transcription(company, call)
        server.receiver.delay_seconds = 1.0
        asked = asyncio.ensure_future(gateway.transcribe())

        async def heard() -> int:
            return len(server.receiver.received)

        await seen_in_time(heard, lambda count: count == 1)
        await company.send("DELETE", f"/api/v1/calls/{call['id']}/recording", json={"confirm": "delete"})
        await asked
        await keeper.delete()

        await status_in_time(company, call, "none")
        assert await town.pool.fetchval("SELECT count(*) FROM work.transcriptions WHERE text IS NOT NULL") == 0


async def test_a_text_is_gone_with_its_recording(town: Any, company: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CAgone{company.id}") as (_, keeper, call), transcribed(town) as (server, gateway):
        server.says("my card number is")
        await ask_for_transcription(company, call)
        await gateway.transcribe()
        await status_in_time(company, call, "completed")

        await company.send("DELETE", f"/api/v1/calls/{call['id']}/recording", json={"confirm": "delete"})
        await keeper.delete()

        assert (await transcription_of(company, call)).status_code == 404
        await status_in_time(company, call, "none")
        assert await town.pool.fetchval("SELECT count(*) FROM work.transcriptions WHERE company_id = $1", company.id) == 0


async def test_only_who_may_hear_a_recording_reads_what_was_said(town: Any, company: Any, other: Any, keep: Any) -> None:
    async with kept(town, company, keep, f"CAread{company.id}") as (_, _, call), transcribed(town) as (server, gateway):
        server.says("hello")
        await ask_for_transcription(company, call)
        await gateway.transcribe()
        made = await team(company, permissions={"call": {"actions": ["read", "update"]}})
        ada = await person(town, company)
        path = f"/api/v1/calls/{call['id']}"
        assert (await ada.get(f"{path}/transcription")).json()["transcription"]["text"] == "hello"

        hides = {"permissions": {"call": {"actions": ["read", "update"], "fields": {"recording_url": "none"}}}}
        await company.send("PUT", f"/api/v1/access_control_lists/{made['id']}", json=hides)
        await town.context.rules.refresh()

        assert (await ada.get(f"{path}/transcription")).status_code == 403
        assert (await ada.send("POST", path, json={"manual_transcribe": True})).status_code == 403
        assert (await other.send("GET", f"{path}/transcription")).status_code == 404
        assert (await town.client.get(f"{path}/transcription")).status_code == 401
