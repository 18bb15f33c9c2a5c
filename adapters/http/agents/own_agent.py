"""For which agent does a request act? The one whose `user_email` is that of the key's person."""

from adapters.http.exchange.exchange import Exchange
from schemas.records import Agent


def own_agent_id(exchange: Exchange) -> int | None:
    """Return the agent of the key's person, None where that is no agent."""
    email, rules = exchange.key.user_email, exchange.services.source.rules
    for record in () if email is None else rules.records("agent", exchange.company_id):
        agent = rules.body(Agent, "agent", record.id)
        if agent is not None and agent.user_email == email:
            return record.id
    return None
