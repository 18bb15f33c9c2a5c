"""What does every webhook sender promise? It is shown to a real HTTP server that checks signatures with the library."""

from typing import Protocol

import pytest

from adapters.gateway.circuit import FAILURES_MAX, CircuitReport
from adapters.gateway.ports import WebhookSender
from tests.adapters.gateway.receiver import Receiver
from tests.adapters.gateway.world import command_of


class Bureau(Protocol):
    """A sender under test, and the receiver that webhook 7 posts to."""

    sender: WebhookSender
    receiver: Receiver


class WebhookContract:
    """Run by the test class of every sender, with its fixture `bureau`."""

    async def test_a_post_is_signed_so_that_the_library_believes_it(self, bureau: Bureau) -> None:
        result = await bureau.sender.post(command_of("webhook", payload={"type": "test", "name": "Zoë"}))

        (received,) = bureau.receiver.received
        assert result is not None
        assert (result.outcome, received.method, received.is_genuine) == ("accepted", "POST", True)
        assert received.json() == {"type": "test", "name": "Zoë"}
        assert received.headers["webhook-id"] == "command-1"
        assert received.headers["content-type"] == "application/json"

    async def test_the_same_order_posted_again_carries_the_same_id(self, bureau: Bureau) -> None:
        for _ in range(2):
            await bureau.sender.post(command_of("webhook"))

        assert [received.headers["webhook-id"] for received in bureau.receiver.received] == ["command-1", "command-1"]

    async def test_a_receiver_that_fails_is_reported_as_spared_until_it_answers(self, bureau: Bureau) -> None:
        bureau.receiver.answers = [503]
        while bureau.sender.endpoint_of(command_of("webhook")).begin("command-1"):
            await bureau.sender.post(command_of("webhook"))

        (reported,) = bureau.sender.report_circuits().circuits
        assert (reported.company_id, reported.endpoint) == (1, f"127.0.0.1:{bureau.receiver.port}")
        assert reported.failures >= FAILURES_MAX
        bureau.receiver.answers = [200]
        await bureau.sender.post(command_of("webhook"))
        assert bureau.sender.report_circuits() == CircuitReport()

    @pytest.mark.parametrize(
        ("answers", "outcome", "posts"),
        [
            pytest.param([204], "accepted", 1, id="yes"),
            pytest.param([404], "failed", 1, id="no"),
            pytest.param([410], "failed", 1, id="gone"),
            pytest.param([503, 200], "accepted", 2, id="yes, at the second try"),
            pytest.param([429, 500, 200], "accepted", 3, id="yes, at the third try"),
            pytest.param([500, 500, 500, 200], "failed", 3, id="no, after three tries"),
            pytest.param([302], "failed", 1, id="a redirect is not followed"),
        ],
    )
    async def test_the_answer_decides(self, bureau: Bureau, answers: list[int], outcome: str, posts: int) -> None:
        bureau.receiver.answers = list(answers)

        result = await bureau.sender.post(command_of("webhook"))

        assert result is not None
        assert (result.outcome, len(bureau.receiver.received)) == (outcome, posts)
        assert all(received.is_genuine for received in bureau.receiver.received)
