"""Whose turn is a due callback? The owner's, then their team's, then anyone's; each turn lasts so many minutes.

The team of an agent is the call center, that of a buyer a group. Who cannot come any more has no turn: an agent or buyer
that was deleted, an agent whose user is disabled.
"""

from collections.abc import Iterator

from msgspec import Struct

from engine.contact.commands.buyers import BuyerChoice
from engine.rules import Rules
from schemas.contact import CallbackOwner, Lead
from schemas.instant import MINUTE, Instant
from schemas.records import Agent, Company


class Turn(Struct, frozen=True):
    """Who may make a callback now, and until when; None: for good. `is_of_owner`: only the owner or their team may."""

    choice: BuyerChoice
    until: Instant | None = None
    is_of_owner: bool = True


def owner_of_agent(rules: Rules, company_id: int, agent_id: int) -> CallbackOwner:
    """Return the owner of a callback that an agent promises, with the minutes that the company states."""
    company = rules.body(Company, "company", company_id) or Company(name="")
    return CallbackOwner(
        agent_id=agent_id,
        grace_minutes=company.callback_grace_minutes,
        team_grace_minutes=company.callback_team_grace_minutes,
    )


def turn_at(rules: Rules, lead: Lead, due_at: Instant, now: Instant, others: BuyerChoice) -> Turn:
    """Return whose turn the callback of a lead is that could be made since `due_at`; `others` come after owner and team."""
    ends_at = due_at
    for choice, minutes in _turns(rules, lead.company_id, lead.callback_owner):
        if minutes == 0:
            return Turn(choice)
        ends_at += minutes * MINUTE
        if now < ends_at:
            return Turn(choice, ends_at)
    return Turn(others, is_of_owner=False)


def _turns(rules: Rules, company_id: int, owner: CallbackOwner | None) -> Iterator[tuple[BuyerChoice, int]]:
    """Yield who comes before the others, and for how many minutes."""
    if owner is None:
        return
    alone, team = owner.grace_minutes, owner.team_grace_minutes
    after = alone if team is None else team
    if owner.agent_id is not None:
        if can_come(rules, company_id, owner.agent_id):
            yield BuyerChoice(agent_ids=(owner.agent_id,)), alone
        center_id = _call_center(rules, company_id, owner.agent_id)
        if center_id is not None:
            yield BuyerChoice(call_center_ids=(center_id,)), after
        return
    if owner.buyer_id is not None and rules.owns(company_id, "buyer", owner.buyer_id):
        yield BuyerChoice(buyer_ids=(owner.buyer_id,)), alone
    group_id = owner.buyer_group_id
    if group_id is not None and rules.owns(company_id, "buyer_group", group_id):
        yield BuyerChoice(buyer_group_ids=(group_id,)), alone if owner.buyer_id is None else after


def can_come(rules: Rules, company_id: int, agent_id: int) -> bool:
    """Return whether an agent may ever take a call: neither the agent nor their user was deleted or disabled."""
    agent = rules.body(Agent, "agent", agent_id) if rules.owns(company_id, "agent", agent_id) else None
    return agent is not None and (agent.user_email is None or not rules.is_shut_out(company_id, agent.user_email))


def _call_center(rules: Rules, company_id: int, agent_id: int) -> int | None:
    """Return the call center of an agent, the last one of a deleted agent; None where there is none any more."""
    agent = rules.last_body(Agent, "agent", agent_id)
    center_id = None if agent is None else agent.call_center_id
    return center_id if center_id is not None and rules.owns(company_id, "call_center", center_id) else None
