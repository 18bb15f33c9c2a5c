"""How is Asterisk asked? By its REST interface (ARI): each request answers at once, and what follows comes as an event."""

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import structlog

from adapters.providers.ports import HttpAnswer, ProviderFailedError, ProviderHttp

OK, CLIENT_ERROR, SERVER_ERROR = 200, 400, 500
UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT = 401, 403, 404, 409

ALLOCATION_FAILED = "Allocation failed"
"""The 500 of a channel that was not made: Asterisk knows no such endpoint, or nobody is registered there."""

logger = structlog.get_logger(__name__)


class Ari:
    """Sends requests to the ARI of one Asterisk. Raises what `ProviderHttp` raises, and `ProviderFailedError` for a 5xx."""

    def __init__(self, http: ProviderHttp, url: str, user: str, secret: str) -> None:
        self._http = http
        self.url = f"{url.rstrip('/')}/ari"
        self.authorization = f"Basic {base64.b64encode(f'{user}:{secret}'.encode()).decode()}"

    def recording_url(self, name: str) -> str:
        """Return where the file of a recording is."""
        return f"{self.url}/recordings/stored/{quote(name, safe='')}/file"

    async def send(
        self, method: str, *path: str, body: Mapping[str, Any] | None = None, query: Mapping[str, str] | None = None
    ) -> HttpAnswer:
        """Return the answer to a request, whatever its status. Parts of the path are quoted."""
        url = "/".join((self.url, *(quote(part, safe="") for part in path)))
        headers = {"authorization": self.authorization, "accept": "application/json"}
        content = b""
        if body is not None:
            headers["content-type"], content = "application/json", msgspec.json.encode(body)
        return await self._http.send(method, f"{url}?{urlencode(query)}" if query else url, headers=headers, content=content)

    async def act(self, method: str, *path: str, body: Mapping[str, Any] | None = None, **query: str | int) -> bool:
        """Return whether Asterisk has done something; False where what it is about has ended, or cannot be done."""
        answer = await self.send(method, *path, body=body, query={name: str(value) for name, value in query.items()})
        if answer.status in {UNAUTHORIZED, FORBIDDEN} or (answer.status >= SERVER_ERROR and not is_unallocated(answer)):
            raise ProviderFailedError(f"Asterisk answered {answer.status} to {method} {path[0]}")
        if answer.status >= CLIENT_ERROR:
            logger.info("call.action_refused", action="/".join((method, *path)), status=answer.status, says=said(answer))
        return answer.status < CLIENT_ERROR

    async def read(self, *path: str, **query: str) -> Any:
        """Return an object, None where there is none. Raises `ProviderFailedError`."""
        answer = await self.send("GET", *path, query=query)
        if answer.status == NOT_FOUND:
            return None
        if answer.status != OK:
            raise ProviderFailedError(f"Asterisk answered {answer.status}: {said(answer)}")
        return object_of(answer)

    async def read_variable(self, channel: str, name: str) -> str:
        """Return a variable of a channel; empty where neither is there. Raises `ProviderFailedError`."""
        found = await self.read("channels", channel, "variable", variable=name)
        return str(found.get("value") or "") if isinstance(found, dict) else ""

    async def set_variable(self, channel: str, name: str, value: str) -> None:
        """Set a variable of a channel, if that is still there. Raises `ProviderFailedError`."""
        await self.act("POST", "channels", channel, "variable", variable=name, value=value)


def object_of(answer: HttpAnswer) -> Any:
    """Return the JSON of an answer, an empty object where it is none."""
    try:
        return msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return {}


def said(answer: HttpAnswer) -> str:
    """Return why Asterisk refuses."""
    found = object_of(answer)
    return str(found.get("message") or found.get("error") or "") if isinstance(found, dict) else ""


def is_unallocated(answer: HttpAnswer) -> bool:
    """Return whether an answer says that a channel was not made."""
    return answer.status == SERVER_ERROR and said(answer) == ALLOCATION_FAILED
