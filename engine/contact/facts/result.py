"""Which status has a lead earned by what came of it? The strongest fact of its run wins."""

from schemas.contact import Lead, LeadStatus

COMPLETED: LeadStatus = "completed"
"""Becomes the strongest of the completed statuses when the lead ends."""

REVIVABLE = frozenset({COMPLETED, "completed_attempted", "completed_connected", "completed_converted"})
"""Ends after which a promised callback is still made: the lead went through its schedule, and nothing stopped it."""


def earned(lead: Lead, status: LeadStatus) -> LeadStatus:
    """Return the status with which a lead ends: as asked, or where it is completed, how far it got."""
    if status != COMPLETED:
        return status
    if lead.buyer_converted or lead.offer_converted:
        return "completed_converted"
    if lead.connected:
        return "completed_connected"
    return "completed_attempted" if lead.attempts > 0 else COMPLETED
