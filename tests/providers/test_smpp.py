"""Do a text, its receipt and an answer to it pass between us and an SMPP server that others wrote (npm `smpp`)?"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

from adapters.clock import wall_now
from adapters.providers.ports import FoundOrder, Order, Placed, ReceiptReport, TextReport
from tests.adapters.providers.test_smpp import Listening, account, command, listening, until

HERE = Path(__file__).parent
PROGRAMS = HERE.parents[1] / ".venv" / "smpp-server"
WIDE = "Привет 😀 " * 12


class NodeCarrier:
    """The server; `texts` are those that it has taken."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.texts: list[dict[str, Any]] = []


@pytest_asyncio.fixture
async def carrier() -> AsyncIterator[NodeCarrier]:
    process = await asyncio.create_subprocess_exec(
        "node", str(HERE / "smpp_carrier.js"), env={"NODE_PATH": str(PROGRAMS / "node_modules"), "PATH": "/usr/bin:/bin"},
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    output = process.stdout
    found = NodeCarrier(int(await output.readline()))

    async def follow() -> None:
        async for line in output:
            found.texts.append(json.loads(line))

    following = asyncio.create_task(follow())
    yield found
    process.kill()
    await process.wait()
    await following


@pytest_asyncio.fixture
async def line(carrier: NodeCarrier) -> AsyncIterator[Listening]:
    async with listening(account(carrier.port)) as found:
        yield found


async def test_a_text_is_taken_and_its_receipt_comes_back(carrier: NodeCarrier, line: Listening) -> None:
    placed = await line.send(body="Hello {you} for 5€", to="+13055550001")
    await until(lambda: line.reports and carrier.texts)

    assert placed == Placed(provider_ref="node-1", parts=["node-1"])
    assert line.reports == [ReceiptReport("node-1", "DELIVRD", "000")]
    (text,) = carrier.texts
    assert (text["to"], text["from"], text["text"]) == ("13055550001", "12125550199", "Hello {you} for 5€")


async def test_the_parts_of_a_long_text_are_read_by_the_other_side(carrier: NodeCarrier, line: Listening) -> None:
    placed = await line.send(body=WIDE)
    assert isinstance(placed, Placed)
    await until(lambda: len(line.reports) == len(carrier.texts) == len(placed.parts))

    assert "".join(text["text"] for text in carrier.texts) == WIDE
    assert {report.state for report in line.reports if isinstance(report, ReceiptReport)} == {"DELIVRD"}


async def test_an_answer_of_the_person_comes_in(line: Listening) -> None:
    await line.send(body="STOP?", to="+13055550001")
    await until(lambda: any(isinstance(report, TextReport) for report in line.reports))

    text = next(report for report in line.reports if isinstance(report, TextReport))
    assert (text.from_number, text.to_number, text.body) == ("+13055550001", "+12125550199", "STOP")


async def test_a_look_up_and_a_test_of_the_account_are_answered(carrier: NodeCarrier, line: Listening) -> None:
    placed = await line.send()
    assert isinstance(placed, Placed)
    order = Order(command=command(), asked_at=wall_now(), provider_ref=placed.provider_ref)

    assert await line.connection.find(order) == FoundOrder(provider_ref=placed.provider_ref, facts={"1.DELIVRD": "0"})
    assert "takes the login of leads" in await account(carrier.port).test()
