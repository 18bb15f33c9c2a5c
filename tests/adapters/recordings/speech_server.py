"""What transcribes in the tests? A real HTTP server that reads forms by Python's own parser of MIME messages."""

import json
from email.parser import BytesParser
from email.policy import HTTP
from typing import Self

from tests.adapters.gateway.receiver import Receiver

PATH = "/v1/audio/transcriptions"
KEY = "sk-of-the-operator"


class SpeechServer:
    """A `Recogniser` of the contract, with the interface of OpenAI's."""

    def __init__(self) -> None:
        self.receiver = Receiver("whsec_bm9uZQ==")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.receiver.port}{PATH}"

    @property
    def heard(self) -> list[bytes]:
        """The files, in the order in which they came."""
        return [form["file"] for form in self.forms]

    @property
    def forms(self) -> list[dict[str, bytes]]:
        """Field -> value of each form; `filename` and `content_type` are those of the file."""
        return [_form(one.headers["content-type"], one.body) for one in self.receiver.received]

    def says(self, text: str) -> None:
        self._answer(200, json.dumps({"text": text, "usage": {"type": "duration", "seconds": 3}}))

    def refuses(self) -> None:
        self._answer(400, json.dumps({"error": {"message": f"Invalid file format, key {KEY}"}}))

    def is_overloaded(self) -> None:
        self._answer(429, json.dumps({"error": {"message": "Rate limit reached"}}))

    def _answer(self, status: int, body: str) -> None:
        self.receiver.answers, self.receiver.body = [status], body.encode()

    async def __aenter__(self) -> Self:
        await self.receiver.start()
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self.receiver.stop()


def _form(content_type: str, body: bytes) -> dict[str, bytes]:
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    fields: dict[str, bytes] = {}
    for part in message.iter_parts():
        content, name = part.get_payload(decode=True), part.get_filename()
        assert isinstance(content, bytes)
        fields[str(part.get_param("name", header="content-disposition"))] = content
        if name is not None:
            fields["filename"] = name.encode()
            fields["content_type"] = part.get_content_type().encode()
    return fields
