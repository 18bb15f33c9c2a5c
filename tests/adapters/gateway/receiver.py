"""Who receives the webhooks of the tests? A real HTTP server that verifies signatures with the library."""

import asyncio
import contextlib
import json
import ssl
from typing import Any

import h11
from standardwebhooks.webhooks import Webhook, WebhookVerificationError


class Received:
    """One request."""

    def __init__(self, method: str, target: str, headers: dict[str, str], body: bytes, secret: str) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.is_genuine = self._verify(secret)

    def json(self) -> Any:
        return json.loads(self.body)

    def _verify(self, secret: str) -> bool:
        try:
            Webhook(secret).verify(self.body, self.headers, json_parse=False)
        except (WebhookVerificationError, UnicodeDecodeError):  # the library takes text alone
            return False
        return True


class Receiver:
    """Answers with `answers` in turn (the last one for ever), `body`, after `delay_seconds`."""

    def __init__(self, secret: str) -> None:
        self.received: list[Received] = []
        self.answers = [200]
        self.body = b"thanks"
        self.delay_seconds = 0.0
        self.port = 0
        self.names: list[str | None] = []
        self.secret = secret
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[object]] = set()

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        if tls is not None:
            tls.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            await self._receive(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection, request, body = h11.Connection(h11.SERVER), None, b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await reader.read(65_536))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += event.data
            else:
                break
        if request is not None:
            headers = {name.decode(): value.decode() for name, value in request.headers}
            self.received.append(Received(request.method.decode(), request.target.decode(), headers, body, self.secret))
            await self._answer(connection, writer)

    async def _answer(self, connection: h11.Connection, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self.delay_seconds)
        status = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        body = b"" if status == 204 else self.body
        headers = [("location", "/elsewhere"), ("content-length", str(len(body))), ("connection", "close")]
        try:
            writer.write(connection.send(h11.Response(status_code=status, headers=headers)) or b"")
            writer.write(connection.send(h11.Data(data=body)) or b"")
            await writer.drain()
        except ConnectionError:
            return
