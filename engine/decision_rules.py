"""Which version of the decision rules decides? One number for everything that two releases may decide differently.

A change of what is decided, of a text that is recorded, or of a limit raises it. Each partition adopts the version that its
process has and records it with the adoption, so an auditor knows which release can decide an old input again.
"""

from collections.abc import Mapping

from msgspec import Struct

VERSION_NAME = "decision_rules"
"""The name of the version among those that an adoption records."""


class Version(Struct, frozen=True):
    """One row of the table: what it changed, and which release decides by it."""

    changed: str
    decided_by: str


FIRST_VERSION = 1
"""What a history without a recorded version was decided by: versions were not recorded before 2."""

VERSIONS: Mapping[int, Version] = {
    1: Version(
        changed="the first rules; their version was not recorded",
        decided_by="the development version 0.1.0 at commit 1390c62",
    ),
    2: Version(
        changed="bounds on the stored data, the rendered messages and the records of a decision",
        decided_by="the development version 0.1.0 at commit b6317d7",
    ),
    3: Version(
        changed="which texts end contact or are held for review; commands that a gateway drops count no attempt; "
        "who takes a call of a step without connect; caps hold where a slot is granted; "
        "which lead a call is about; what START lifts; when a step is passed over; open commands are bounded; "
        "leads that a sweep makes due wait for it, then go by priority; "
        "a lead that is moved takes the offer of its schedule",
        decided_by="the development version 0.1.0 at commit 65662b1",
    ),
    4: Version(
        changed="a promised call leaves next_action_at to the next step; waits behind a step that is passed over at "
        "next_action_at begin there; hourly caps hold in an hour that a clock changed by half an hour cuts",
        decided_by="the development version 0.1.0 at commit e5f0855",
    ),
    5: Version(
        changed="filters named fleet ask which buyer fleets the lead's buyer belongs to, in a company that has any; "
        "jobs lift blocks; a buyer's filters say of which leads it takes calls; a pause ends at unpause_at; webhooks are "
        "fired by hand; one record of a type has an external_record_id, which more types may have; teams are records, and "
        "keys name the person that they act for; agents have statuses and messages; facts say who asked; sentences that "
        "list the types of records and their fields name those that were added",
        decided_by="the development version 0.1.0 at commit 44a45ee",
    ),
    6: Version(
        changed="subscriptions are records; a fact says that a lead converted; sentences that list the types of records "
        "name subscriptions",
        decided_by="the development version 0.1.0 at commit ae4c449",
    ),
    7: Version(
        changed="inbound calls are routed to the buyers of their offer, under their caps; a buyer that is routed to is the "
        "lead's only once it has the call; a call's buyer group is that of its route; groups that are dialled "
        "simultaneously ring several buyers; contacts are blocked and unblocked by request; teams may be granted contacts; "
        "conversions are recorded, and webhooks are fired for them; sentences that list what a team may grant name "
        "conversions; agents whose pages are silent go offline; steps connect calls to agents; "
        "calls are routed by tier, revenue or EPC; buyers and groups have a spacing; "
        "users are records, and the last superuser of a company stays; "
        "veto hooks are asked before calls and texts; a fact says that a cap is used up; keys name origins of pages; "
        "provider configurations are records; suppression lists are records, contacts are on them, and they end leads and "
        "leave out buyers; doubtful texts are decided by request; sentences that list the types of records and their fields "
        "name those; a new group may bring a team with it",
        decided_by="the development version 0.1.0 at commit 45df17e",
    ),
    8: Version(
        changed="records and facts name the user who asked; teams restrict fields, which webhooks fired by hand leave out; "
        "users have invitations, which a password uses up; the wrap-up of agents ends by itself; callbacks go to "
        "agents; e-mails have links that unsubscribe, and an opt-out of a channel fences what it carries for other contacts",
        decided_by="the development version 0.1.0 at commit be378fd",
    ),
    9: Version(
        changed="an unblock contact job is finished once all partitions have reported it; sentences that list events name "
        "that; texts of e-mails know the token unsubscribe_url; a step names several buyer groups; holidays of companies "
        "are records; ring pools are records, whose numbers are held for visitors and say whose a call is; promised calls "
        "are cancelled by request; a second report that an address or number does not work leaves it closed until the "
        "first one's instant; calls refer no more to recordings that are deleted; a step that leaves machines a message "
        "says which; sentences that list the types of records and their fields name those",
        decided_by="the development version 0.1.0 at commit 9942af5",
    ),
    10: Version(
        changed="users have an identity at the issuer that their company names, which uses an invitation up; the last "
        "superuser who can sign in stays; a step says what a buyer hears before they are connected, or that a voice "
        "bot takes the call; a repeat of an outcome does not end its call again; numbers have caps, which hold calls of "
        "steps back and count the others; offers name agents, who take inbound calls, calls of steps that name nobody, and "
        "callbacks; who places a call by hand is reserved for it; sentences that list the types of records and their "
        "fields name those that were added",
        decided_by="the development version 0.1.0 at commit e98619b",
    ),
    11: Version(
        changed="a transcription changes the status of the call whose recording it is of, and goes with that; subscriptions "
        "look up who is on a suppression list before a contact, and no answer holds the lead; inbound calls ring several "
        "buyers at once where their gateway can; an inbound call whose granted buyer is gone goes to another one, and the "
        "report of its end keeps when its buyer answered; sentences that list events name look-ups",
        decided_by="the development version 0.1.0 at commit f2c5c71",
    ),
    12: Version(
        changed="a disposition that ends contact, in an update that changes its call as well, holds before a contact that "
        "is due by then",
        decided_by="the development version 0.1.0 at commit 2f2cfb7",
    ),
    13: Version(
        changed="among the end steps of a lead, the agents of a callback and what follows a message that is too large are "
        "those of the end steps",
        decided_by="leadclock 0.1.0",
    ),
}

VERSION = max(VERSIONS)
"""The version that this code decides by."""


def with_version(versions: Mapping[str, str]) -> dict[str, str]:
    """Return the versions that a process adopts: those of its code and data, and that of the decision rules."""
    return {**versions, VERSION_NAME: str(VERSION)}


def version_of(versions: Mapping[str, str]) -> int:
    """Return the version of the decision rules among recorded versions. Raises `ValueError` for one that is no number."""
    return int(versions.get(VERSION_NAME, FIRST_VERSION))


def release_of(version: int, versions: Mapping[str, str]) -> str:
    """Name the release that decides by a version of the rules; a newer one than this by the versions recorded with it."""
    row = VERSIONS.get(version)
    return f"leadclock {versions.get('leadclock', 'of a newer release')}" if row is None else row.decided_by
