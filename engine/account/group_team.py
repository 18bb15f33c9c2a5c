"""Which team does a new buyer group bring with it? With `generate_team`, one of `team_users_emails` that sees its leads.

Its members read the group, its buyers, and the leads and calls of these buyers or of `team_offer_ids`. It is a team like any
other from then on: buyers that join the group later are added to it by hand.
"""

from collections.abc import Mapping
from typing import Any

from engine.account.plans import Errors, Exists
from engine.account.teams import users_emails
from engine.account.values import Parser, ids
from engine.submission.fields import FieldError, is_blank, parse_boolean
from schemas.records import AccessControlList, BuyerGroup, LeadFilters, Permission

TEAM_INPUTS: Mapping[str, Parser] = {
    "generate_team": parse_boolean,
    "team_users_emails": users_emails,
    "team_offer_ids": ids,
}
"""Inputs of a new group that are stored in its team."""


def check_team(
    given: Mapping[str, Any], buyer_ids: tuple[int, ...], errors: Errors, exists: Exists | None, *, is_new: bool
) -> None:
    """Check what was asked about a team; faults go to the errors."""
    asked = [name for name in TEAM_INPUTS if not is_blank(given.get(name))]
    if not is_new:
        errors.update({name: ["is for a new group; change its team instead"] for name in asked})
        return
    values = _read(given, asked, errors)
    if not values.get("generate_team"):
        errors.update({name: ["goes with generate_team=true"] for name in asked if name != "generate_team"})
        return
    if not values.get("team_users_emails", ()) and "team_users_emails" not in errors:
        errors["team_users_emails"] = ["must name a person"]
    offers = values.get("team_offer_ids", ())
    missing = [offer_id for offer_id in offers if exists is not None and not exists("offer", offer_id)]
    if missing:
        errors["team_offer_ids"] = [f"{offer_id} is no offer of this company" for offer_id in missing]
    if not (buyer_ids or offers) and "team_offer_ids" not in errors:
        errors["generate_team"] = ["needs buyers of the group or team_offer_ids: else the team would see every lead"]


def team_of(given: Mapping[str, Any], group_id: int, group: BuyerGroup) -> AccessControlList | None:
    """Return the team that a new group brings with it, None where none was asked for."""
    values = _read(given, [name for name in TEAM_INPUTS if not is_blank(given.get(name))], {})
    if not values.get("generate_team"):
        return None
    read = ("read",)
    permissions = {
        "lead": Permission(actions=read),
        "call": Permission(actions=read),
        "buyer_group": Permission(actions=read, scope=(group_id,)),
    }
    if group.buyer_ids:
        permissions["buyer"] = Permission(actions=read, scope=group.buyer_ids)
    return AccessControlList(
        name=group.name,
        users_emails=values["team_users_emails"],
        permissions=permissions,
        lead_filters=LeadFilters(buyer_ids=group.buyer_ids, offer_ids=values.get("team_offer_ids", ())),
    )


def _read(given: Mapping[str, Any], names: list[str], errors: Errors) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in names:
        try:
            values[name] = TEAM_INPUTS[name](given[name])
        except FieldError as error:
            errors[name] = [str(error)]
    return values
