"""What does Twilio do with a call? What TwiML says: connect a telephone or stream, wait and ask again, say a text, end."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from msgspec import Struct

CONTENT_TYPE = "text/xml"

ASK_AGAIN_SECONDS = 1
"""A caller hears ringing meanwhile."""

VOICEMAIL_SECONDS_MAX = 120


def hang_up() -> bytes:
    """Return the instruction to end the call."""
    return _document(ET.Element("Hangup"))


def nothing() -> bytes:
    """Return an answer without an instruction."""
    return _document()


def ask_again(url: str) -> bytes:
    """Return the instruction to wait a second and ask again."""
    redirect = ET.Element("Redirect", {"method": "POST"})
    redirect.text = url
    return _document(ET.Element("Pause", {"length": str(ASK_AGAIN_SECONDS)}), redirect)


def say(text: str) -> bytes:
    """Return the instruction to say a text and hang up."""
    return _document(_said(text), ET.Element("Hangup"))


def whisper(*texts: str) -> bytes:
    """Return the instruction to say texts to who has answered, who is connected then."""
    return _document(*map(_said, texts))


def record(text: str | None, *, then: str, recorded: str) -> bytes:
    """Return the instruction to take a message: `then` is asked what follows, `recorded` is called with the recording."""
    said = _said(text or "Please leave a message after the tone.")
    about = {"maxLength": str(VOICEMAIL_SECONDS_MAX), "playBeep": "true", "action": then, "method": "POST"}
    callback = {"recordingStatusCallback": recorded, "recordingStatusCallbackMethod": "POST"}
    return _document(said, ET.Element("Record", {**about, **callback}))


def reject() -> bytes:
    """Return the instruction not to answer the call."""
    return _document(ET.Element("Reject"))


class Leg(Struct, frozen=True):
    """A telephone or SIP address to ring; `answered` is called when it answers, `digits` are pressed then.

    `heard` is asked what it hears before it is connected.
    """

    target: str
    digits: str | None = None
    answered: str | None = None
    heard: str | None = None


class TalkRecording(Struct, frozen=True):
    """What both hear before their talk is recorded, and what is called with the recording."""

    announcement: str
    recorded: str


def dial(
    legs: Sequence[Leg],
    *,
    timeout_seconds: int,
    caller_id: str | None,
    action: str,
    recording: TalkRecording | None = None,
) -> bytes:
    """Return the instruction to ring these at once and connect the first that answers."""
    about = {"timeout": str(timeout_seconds), "action": action, "method": "POST", "answerOnBridge": "true"}
    if caller_id is not None:
        about["callerId"] = caller_id
    if recording is not None:
        about |= {"record": "record-from-answer-dual", "recordingStatusCallback": recording.recorded}
        about["recordingStatusCallbackMethod"] = "POST"
    element = ET.Element("Dial", about)
    for leg in legs:
        is_sip = leg.target.lower().startswith("sip")
        element_of_leg = ET.SubElement(element, "Sip" if is_sip else "Number")
        element_of_leg.text = leg.target
        if leg.digits and not is_sip:
            element_of_leg.set("sendDigits", leg.digits)
        if leg.answered is not None:
            element_of_leg.set("statusCallback", leg.answered)
            element_of_leg.set("statusCallbackEvent", "answered")
            element_of_leg.set("statusCallbackMethod", "POST")
        if leg.heard is not None:
            element_of_leg.set("url", leg.heard)
            element_of_leg.set("method", "POST")
    return _document(*([] if recording is None else [_said(recording.announcement)]), element)


def stream(url: str, *, status: str, names: Mapping[str, str]) -> bytes:
    """Return the instruction to connect a media stream, and to hang up when it ends; `status` is called with its states."""
    connect = ET.Element("Connect")
    element = ET.SubElement(connect, "Stream", {"url": url, "statusCallback": status, "statusCallbackMethod": "POST"})
    for name, value in names.items():
        ET.SubElement(element, "Parameter", {"name": name, "value": value})
    return _document(connect, ET.Element("Hangup"))


def with_query(url: str, fields: Mapping[str, str]) -> str:
    """Return a URL with fields."""
    return f"{url}?{urlencode(fields)}"


def _said(text: str) -> ET.Element:
    element = ET.Element("Say")
    element.text = text
    return element


def _document(*instructions: ET.Element) -> bytes:
    response = ET.Element("Response")
    response.extend(instructions)
    found: bytes = ET.tostring(response, encoding="utf-8", xml_declaration=True)
    return found
