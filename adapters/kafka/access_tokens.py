"""Where does the token of a login by OAUTHBEARER come from? From a token endpoint (RFC 6749, section 4.4), or from a file.

A connection needs a token when it is made. The broker may close it once the token has ended; it is made again then, with
a fresh one. A token of an endpoint is used for most of its time; a file is read for each connection.
"""

import asyncio
import ssl
from pathlib import Path
from urllib.parse import quote_plus

import httpx
import msgspec
import structlog
from aiokafka import errors
from aiokafka.abc import AbstractTokenProvider

from adapters.clock import SystemClock
from adapters.kafka.connection import DEADLINE_SECONDS
from schemas.errors import DependencyError

TOKEN_BYTES_MAX = 65_536
"""Of an endpoint's answer or of a file. Tokens have some hundred bytes, with many groups some thousand."""

USED_SHARE = 0.8
"""Share of a token's time after which the next connection gets a new one, so that none ends on its way to the broker."""

UNSTATED_SECONDS = 60.0
"""For how long a token is used whose endpoint does not say how long it holds: RFC 6749 recommends that it does."""

PAUSE_SECONDS = 1.0
"""After a failure, connections fail alike for this time: the library tries again ten times a second for each of them."""

log = structlog.get_logger()


class TokenError(DependencyError, errors.KafkaConnectionError):  # type: ignore[misc]  # aiokafka has no types
    """No token could be had; the text says from where, and why."""

    def __str__(self) -> str:
        """Return the text alone, without the name of the class that aiokafka puts before it."""
        return str(self.args[0])


class EndpointAnswer(msgspec.Struct, frozen=True):
    """What a token endpoint answers; whatever else it says is passed over."""

    access_token: str
    expires_in: float | None = None


class TokenFile(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
    """Tokens that another program keeps fresh in a file, such as Kubernetes those of a service account."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def token(self) -> str:
        """Return what the file holds now. Raises `TokenError`."""
        try:
            with self._path.open("rb") as file:
                text = file.read(TOKEN_BYTES_MAX).decode("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise _failed(f"the token file {self._path} cannot be read: {error}") from error
        if not text:
            raise _failed(f"the token file {self._path} is empty")
        return text


class TokenEndpoint(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
    """Tokens of an endpoint, which knows us by an id and a secret."""

    def __init__(self, url: str, client_id: str, secret: str, *, scope: str | None, tls: ssl.SSLContext) -> None:
        self._url = url
        self._login = (quote_plus(client_id), quote_plus(secret))  # RFC 6749, section 2.3.1: both are encoded first
        self._scope = scope
        self._tls = tls
        self._clock = SystemClock()
        self._asking = asyncio.Lock()
        self._token = ""
        self._renew_at = 0.0
        self._failure: TokenError | None = None

    async def token(self) -> str:
        """Return a token that still holds; one question serves every connection that waits. Raises `TokenError`."""
        async with self._asking:
            if self._clock.elapsed() < self._renew_at:
                if self._failure is not None:
                    raise TokenError(*self._failure.args)
                return self._token
            try:
                answer = await self.ask()
            except TokenError as error:
                self._failure, self._renew_at = error, self._clock.elapsed() + PAUSE_SECONDS
                raise
            held_seconds = UNSTATED_SECONDS if answer.expires_in is None else USED_SHARE * answer.expires_in
            self._token, self._failure = answer.access_token, None
            self._renew_at = self._clock.elapsed() + held_seconds
            return self._token

    async def ask(self) -> EndpointAnswer:
        """Return a new token and for how many seconds it holds. Raises `TokenError`."""
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                status, body = await self._post()
            if status != httpx.codes.OK:
                raise _failed(f"the token endpoint {self._url} answers {status}: {body[:200].decode(errors='replace')}")
            return msgspec.json.decode(body, type=EndpointAnswer)
        except (httpx.HTTPError, TimeoutError, msgspec.DecodeError) as error:
            raise _failed(f"the token endpoint {self._url} gives no token: {str(error) or type(error).__name__}") from error

    async def _post(self) -> tuple[int, bytes]:
        """Return status and body, the latter up to its limit."""
        form = {"grant_type": "client_credentials"} | ({"scope": self._scope} if self._scope else {})
        body = b""
        async with (
            httpx.AsyncClient(verify=self._tls, timeout=DEADLINE_SECONDS) as client,
            client.stream("POST", self._url, data=form, auth=self._login) as response,
        ):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > TOKEN_BYTES_MAX:
                    raise _failed(f"the token endpoint {self._url} answers more than {TOKEN_BYTES_MAX} bytes")
        return response.status_code, body


def _failed(reason: str) -> TokenError:
    """Return the error, and log it: the library says of it no more than that no broker was reached."""
    log.warning("token.failed", reason=reason)
    return TokenError(reason)
