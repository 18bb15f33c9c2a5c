"""In which area of the interface is an operation? In one of ten: tags of the document for programs, and menus of guides.

A generator writes a file or a folder for each tag. The reference has one section for each of the 47 collections, which as
tags would be 47 files with six operations each.
"""

from collections.abc import Mapping

AREAS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "leads": (
        "Submit, change, list and report leads, import and change many at once, and keep callbacks, visits and conversions",
        (
            *("leads", "lead_bulk_jobs", "lead_imports", "lead_views", "scheduled_callbacks", "kept_submissions"),
            "lead_maps",
            *("impressions", "buyer_conversions", "offer_conversions"),
        ),
    ),
    "contacts": (
        "People: who may be contacted, when the law allows it, and who must never be",
        (
            *("contacts", "contact_field_types", "opt_out_reviews", "suppression_lists", "texts"),
            *("calling_hours", "contact_holds", "unblock_contact_jobs"),
        ),
    ),
    "calls": ("Calls: start, route, change, list and report them", ("calls", "call_dispositions", "numbers", "ring_pools")),
    "schedules": (
        "What happens to a lead, and when: schedules, their blocks, rules and holidays",
        ("schedules", "action_groups", "rule_packs", "holidays"),
    ),
    "offers": ("What leads are for and where they come from", ("offers", "traffic_sources")),
    "buyers": ("Who takes leads: buyers, their groups and fleets", ("buyers", "buyer_groups", "buyer_fleets")),
    "agents": (
        "Who talks to leads: agents, their statuses, messages and call centers",
        ("agents", "agent_statuses", "agent_status_timestamps", "agent_messages", "call_centers"),
    ),
    "webhooks": (
        "Events for other systems: subscriptions, and webhooks of steps",
        ("subscriptions", "outgoing_webhooks", "webhook_manual_fires", "webhook_logs", "circuits"),
    ),
    "access": (
        "Who may do what: keys, users, teams, and what each did",
        ("keys", "access_tokens", "users", "invitations", "sessions", "access_control_lists", "audit_logs"),
    ),
    "account": (
        "The company, its providers, and answers that came later",
        ("company", "provider_configurations", "requests", "collections"),
    ),
}
"""Area -> its sentence, and its collections."""

_AREA_OF: Mapping[str, str] = {collection: area for area, (_, collections) in AREAS.items() for collection in collections}


def area_of(collection: str) -> str:
    """Return the area of a collection."""
    return _AREA_OF[collection]
