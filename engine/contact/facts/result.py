"""Which status has a lead earned by what came of it? The strongest fact of its run wins."""

from schemas.contact import Lead, LeadStatus

COMPLETED: LeadStatus = "completed"
"""Becomes the strongest of the completed statuses when the lead ends."""


def earned(lead: Lead, status: LeadStatus) -> LeadStatus:
    """Return the status with which a lead ends: as asked, or where it is completed, how far it got."""
    if status != COMPLETED:
        return status
    if lead.buyer_converted or lead.offer_converted:
        return "completed_converted"
    if lead.connected:
        return "completed_connected"
    return "completed_attempted" if lead.attempts > 0 else COMPLETED
