"""What did one decision weigh? The full plan record: candidates, constraints, zones, counters and versions."""

from collections.abc import Mapping
from typing import Any

from engine.contact.facts.ledger import attempts_of
from engine.decision_rules import version_of
from engine.rules import Rules
from engine.why.history import LeadFact
from schemas.contact import Head, Lead
from schemas.instant import DAY, Instant, to_rfc3339

WEEK = 7 * DAY


def plan_record(
    fact: LeadFact, lead: Lead, head: Head, rules: Rules, *, adopted: Mapping[str, int], versions: Mapping[str, str]
) -> dict[str, Any]:
    """Return the plan record of a fact; lead and head are as that decision left them, `rules` as adopted by it.

    `adopted` are the account positions and `versions` those of code and data that it decided with. Candidates that were
    passed over have a base alone: nothing more was worked out for them.
    """
    data = fact.data
    base = data.get("base", data.get("at", fact.at))
    chosen = {
        "source": data.get("source"),
        "base": _moment(base),
        "constraints": [{**rule, "until": _moment(rule.get("until"))} for rule in data.get("constraints", ())],
        "earliest": _moment(data.get("earliest", data.get("at", fact.at))),
    }
    others = [{"source": other["source"], "base": _moment(other["base"])} for other in data.get("passed_over", ())]
    return {
        "decision": {"topic": fact.topic, "partition": fact.partition, "sequence": fact.sequence, "offset": fact.offset},
        "lead_id": lead.id,
        "decided_at": to_rfc3339(fact.at),
        "fact": fact.type,
        "step_id": data.get("step_id"),
        "schedule_id": lead.schedule_id,
        "schedule_version": lead.schedule_version,
        "rules": dict(adopted),
        "versions": dict(versions),
        "decision_rules": version_of(versions),
        "candidates": [chosen, *others],
        "chosen": data.get("source"),
        "next_action_at": _moment(data.get("at")),
        "reasons": list(data.get("reasons", ())),
        "zones": list(lead.zones),
        "zone_source": lead.zone_source,
        "states": list(lead.states),
        "counters": _counters(lead, head, rules, fact.at),
    }


def _counters(lead: Lead, head: Head, rules: Rules, at: Instant) -> dict[str, Any]:
    schedule = None if lead.schedule_id is None else rules.schedule(lead.schedule_id, lead.schedule_version or 0)
    own, attempts = lead.attempts_max, attempts_of(head)
    return {
        "enrolment_attempts": lead.attempts,
        "limit": own if own is not None or schedule is None else schedule.max_contact_attempts,
        "lifetime_calls": lead.outbound_calls_count,
        "lifetime_sms": lead.sms_count,
        "contact_24h": sum(at - DAY < entry.at <= at for entry in attempts),
        "contact_7d": sum(at - WEEK < entry.at <= at for entry in attempts),
    }


def _moment(at: Instant | None) -> str | None:
    return None if at is None else to_rfc3339(at)
