"""How are agents and leads tested together? A contact and an account exchange their messages, on one clock."""

from typing import Any

import msgspec

from schemas.commands import PlaceCall
from schemas.instant import MINUTE, SECOND, Instant
from schemas.records import Agent, AgentStatus, CallCenter, User
from schemas.requests import (
    AccountRequest,
    AgentStatusChangeRequested,
    SlotAnswered,
    SlotReleased,
    SlotRequested,
)
from tests.engine.account.conftest import AccountWorld, answers
from tests.engine.contact.world import KEY, NOON, World

SLICE = 30 * SECOND
"""Messages are delivered this often."""

_KINDS: dict[str, type[AccountRequest]] = {"slot.requested": SlotRequested, "slot.released": SlotReleased}


class CallCentre:
    """One person, and agents of a company: Ada and Bob in the call center of Tampa, Cyd in none.

    Ada signs in as a user. The schedule rests for a day; then its call step names Cyd.
    """

    def __init__(self) -> None:
        self.world, self.account = World(), AccountWorld()
        self.available = self.account.create("agent_status", name="Available", key="available")
        self.lunch = self.account.create("agent_status", name="Lunch", key="lunch")
        center = self.account.create("call_center", name="Tampa")
        self.world.add("call_center", center, CallCenter(name="Tampa"))
        self.world.add("agent_status", self.available, AgentStatus(name="Available", key="available"))
        self.world.add("user", 90, User(name="Ada", email="ada@example.com", state="active"))
        self.ada = self._agent("Ada", call_center_id=center, user_email="ada@example.com")
        self.bob = self._agent("Bob", call_center_id=center)
        self.cyd = self._agent("Cyd")
        self.center = center
        self._delivered = 0
        step = {"id": "call", "kind": "call", "connect": {"agents": {"agent_ids": [self.cyd]}}}
        self.world.schedule({"id": "rest", "kind": "wait", "duration": "1d"}, step)
        self.sign_in(self.cyd)

    def _agent(self, name: str, **fields: Any) -> int:
        agent_id = self.account.create("agent", name=name, **fields)
        self.world.add("agent", agent_id, Agent(name=name, **fields))
        return agent_id

    def sign_in(self, agent_id: int) -> None:
        """Let an agent be available."""
        self._set_status(agent_id, self.available)

    def put(self, agent_id: int, state: str) -> None:
        """Put an agent into a state: `available`, `lunch`, `on_call`, `wrap_up`, `signed_out`, `disabled` or `deleted`."""
        match state:
            case "available" | "lunch":
                self._set_status(agent_id, self.available if state == "available" else self.lunch)
            case "on_call" | "wrap_up":
                self.sign_in(agent_id)
                self._answer(self.account.want("elsewhere", agent_ids=(agent_id,)))
                if state == "wrap_up":
                    self._answer(self.account.release("elsewhere", ended="connected"))
            case "disabled":
                self.world.add("user", 90, User(name="Ada", email="ada@example.com", state="disabled"), version=2)
            case "deleted":
                body = Agent(name="Ada", call_center_id=self.center, user_email="ada@example.com")
                self.world.add("agent", agent_id, body, version=2, deleted=True)
            case _:
                pass  # nobody has signed in yet

    def come_back(self, agent_id: int) -> None:
        """Let an agent be available again, whatever came before."""
        self._answer(self.account.release("elsewhere", ended="connected"))
        self._set_status(agent_id, self.available)

    def wait_until(self, moment: Instant) -> None:
        """Let time pass, and deliver what is sent meanwhile."""
        while self.world.now < moment:
            self.world.wait_until(min(moment, self.world.now + SLICE))
            self.deliver()

    def deliver(self) -> None:
        """Deliver the messages between the contact and the account."""
        self.account.now = self.world.now
        while self._delivered < len(self.world.messages):
            letter = self.world.messages[self._delivered]
            self._delivered += 1
            if letter.type in _KINDS:
                sealed = self.account.ask(msgspec.json.decode(letter.body, type=_KINDS[letter.type]))
                self._answer(answers(sealed))

    def calls(self) -> list[tuple[int | None, int]]:
        """Return of each call placed the agent and the minutes since one o'clock."""
        placed = [command for command in self.world.commands if isinstance(command, PlaceCall)]
        return [(one.agent_id, (one.decided_at - NOON) // MINUTE - 60) for one in placed]

    def record(self) -> dict[str, Any]:
        """Return the newest record of the last callback."""
        facts = [fact for fact in self.world.facts if fact.type == "callback.recorded"]
        newest = facts[-1].data["callback_id"]
        return max(
            (dict(fact.data) for fact in facts if fact.data["callback_id"] == newest), key=lambda data: data["revision"]
        )

    def _set_status(self, agent_id: int, status_id: int) -> None:
        request = AgentStatusChangeRequested(company_id=1, agent_id=agent_id, agent_status_id=status_id)
        sealed = self.account.ask(request)
        self._answer(answers(sealed))

    def _answer(self, given: list[SlotAnswered]) -> None:
        for answer in given:
            if answer.contact_key == KEY:
                self.world.ask(answer, stream="accounts/0")
        if self.world.messages[self._delivered :]:
            self.deliver()
