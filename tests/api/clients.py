"""How does an integrator's program ask? As curl and as node's fetch do, by JSON, form, multipart and query.

A machine without one of them fails with its name: what was not tried is not known to work.
"""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypedDict
from urllib.parse import urlencode

import pytest

from tests.pace import bound

PROGRAM_SECONDS = bound(30.0)
ANSWER_BYTES_MAX = 2**22

FORMS = ("json", "form", "multipart", "query")

FETCH = """
import { createInterface } from "node:readline";
for await (const line of createInterface({ input: process.stdin })) {
  const { address, method, form, headers, fields, flat } = JSON.parse(line);
  const options = { method, headers: { ...headers } };
  let url = address;
  if (form === "json") {
    options.body = JSON.stringify(fields);
    options.headers["Content-Type"] = "application/json";
  } else if (form === "form") {
    options.body = new URLSearchParams(flat);
  } else if (form === "multipart") {
    options.body = new FormData();
    Object.entries(flat).forEach(([name, value]) => options.body.append(name, value));
  } else if (Object.keys(flat).length > 0) {
    url += "?" + new URLSearchParams(flat);
  }
  if (Object.keys(fields).length === 0) delete options.body;
  const answer = await fetch(url, options);
  console.log(JSON.stringify({ status: answer.status, text: await answer.text() }));
}
"""
"""One process for many requests: a line of JSON in, a line of JSON out."""


class ClientAnswer(TypedDict):
    """An answer: its status, its body as it came and, where it is JSON, read."""

    status: int
    text: str
    body: Any


Ask = Callable[[str, str, str, Mapping[str, Any], Mapping[str, str]], Awaitable[ClientAnswer]]
"""Takes address, method, form, fields and headers."""


def found(name: str) -> str:
    """Return where a program is; without it the test fails, by its name."""
    program = shutil.which(name)
    if program is None:
        pytest.fail(f"{name} is not on this machine, so that it is not known whether its users are understood: install it")
    return program


async def run(name: str, *arguments: str) -> bytes:
    """Run a program and return what it wrote."""
    process = await asyncio.create_subprocess_exec(
        found(name), *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PROGRAM_SECONDS):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return out


def flat(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return fields as a form has them: text, objects by `name[inner]`, what is deeper as its JSON."""
    pairs: dict[str, str] = {}
    for name, value in fields.items():
        if isinstance(value, dict) and all(isinstance(part, str) for part in value.values()):
            pairs |= {f"{name}[{inner}]": part for inner, part in value.items()}
        elif isinstance(value, list) and not any(isinstance(part, dict | list) for part in value):
            pairs[name] = ",".join(map(str, value))
        else:
            pairs[name] = value if isinstance(value, str) else json.dumps(value)
    return pairs


async def curl(address: str, method: str, form: str, fields: Mapping[str, Any], headers: Mapping[str, str]) -> ClientAnswer:
    """Ask with curl."""
    pairs = flat(fields)
    sent = {
        "json": ["-H", "Content-Type: application/json", "-d", json.dumps(fields)] if fields else [],
        "form": [part for name, value in pairs.items() for part in ("--data-urlencode", f"{name}={value}")],
        "multipart": [part for name, value in pairs.items() for part in ("--form-string", f"{name}={value}")],
        "query": [],
    }[form]
    address = f"{address}?{urlencode(pairs)}" if form == "query" and pairs else address
    said = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
    out = await run("curl", "-sS", "-g", "-X", method, "-w", "\n%{http_code}", *said, *sent, address)
    text, _, status = out.decode().rpartition("\n")
    return _answered(int(status), text)


@asynccontextmanager
async def fetching() -> AsyncIterator[Ask]:
    """Run node, and yield what asks with its fetch."""
    process = await asyncio.create_subprocess_exec(
        found("node"), "--input-type=module", "-e", FETCH,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=ANSWER_BYTES_MAX,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    lines_in, lines_out = process.stdin, process.stdout

    async def fetch(
        address: str, method: str, form: str, fields: Mapping[str, Any], headers: Mapping[str, str]
    ) -> ClientAnswer:
        asked = {
            "address": address, "method": method, "form": form, "headers": headers, "fields": fields, "flat": flat(fields),
        }  # fmt: skip
        lines_in.write(json.dumps(asked).encode() + b"\n")
        async with asyncio.timeout(PROGRAM_SECONDS):
            output = json.loads(await lines_out.readline())
        return _answered(output["status"], output["text"])

    try:
        yield fetch
    finally:
        lines_in.close()
        await process.wait()


def _answered(status: int, text: str) -> ClientAnswer:
    return {"status": status, "text": text, "body": json.loads(text) if text[:1] in {"{", "["} else None}
