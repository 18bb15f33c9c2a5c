"""Which account records has a partition adopted?

A fold of `accounts.rules`. Intake and the API hold one too, folded to its present end.
"""

from collections.abc import Callable, Iterator
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from engine.identity import ContactIds
from schemas.errors import DependencyError, InternalError
from schemas.instant import Instant
from schemas.records import (
    EVERY_COMPANY,
    AccessControlList,
    ApiKey,
    Body,
    Buyer,
    BuyerFleet,
    ContactHold,
    Holiday,
    Number,
    Offer,
    Record,
    RingPool,
    RulePack,
    Schedule,
    User,
    body_of,
    ring_pool_numbers,
    rules_key,
)
from schemas.wire import UNREADABLE

B = TypeVar("B", bound=Body)

Capability = Literal["voice", "sms"]


OwnLaw = tuple[tuple[RulePack, ...], tuple[Holiday, ...]]
"""A company's own rules and holidays, the oldest record first."""

NO_OWN_LAW: OwnLaw = ((), ())


class LeadTokenTarget(Struct, frozen=True):
    """What a lead token points at."""

    company_id: int
    kind: str
    id: int


class Rules:
    """Every record in its newest version, and every version of the schedules, which leads are pinned to."""

    def __init__(self, contact_ids: ContactIds | None = None) -> None:
        """`contact_ids` are those of the deployment; rules of a preview, and of accounts, have none."""
        self.contact_ids = contact_ids
        self.positions: dict[int, int] = {}
        self._records: dict[tuple[str, int], Record] = {}
        self._listed: dict[tuple[str, int], dict[int, Record]] = {}
        self._by_type: dict[str, dict[int, Record]] = {}
        self._newest: dict[str, int] = {}
        self._bodies: dict[tuple[str, int], Body] = {}
        self._live: dict[tuple[str, int | None], Body] = {}
        self._schedules: dict[tuple[int | None, int | None], Schedule] = {}
        self._versions: dict[int, list[tuple[int, Instant]]] = {}
        self._tokens: dict[str, LeadTokenTarget] = {}
        self._public_keys: dict[str, int] = {}
        self._teams: dict[tuple[int, str], dict[int, AccessControlList]] = {}
        self._users: dict[tuple[int, str], int] = {}
        self._former_users: set[tuple[int, str]] = set()
        self._identities: dict[tuple[int, str | None], int] = {}
        self._numbers: dict[tuple[int, str], int] = {}
        self._ring_pools: dict[tuple[int, int], int] = {}
        self._own_law: dict[int, OwnLaw] = {}
        self._numbers_by_offer: dict[tuple[int, int | None, Capability], tuple[str, ...]] = {}

    def apply(self, partition: int, record: Record) -> None:
        """Adopt one version of a record from a partition of `accounts.rules`; skip older versions."""
        self.positions[partition] = max(self.positions.get(partition, 0), record.sequence)
        known = self._records.get((record.type, record.id))
        if known is not None and known.version >= record.version:
            return
        body = body_of(record)
        self._unindex(record)
        self._records[record.type, record.id] = record
        self._newest[record.type] = self._newest.get(record.type, 0) + 1
        self._bodies[record.type, record.id] = body
        if isinstance(body, Schedule):
            self._schedules[record.id, record.version] = body
            self._versions.setdefault(record.id, []).append((record.version, record.updated_at))
        listed = self._listed.setdefault((record.type, record.company_id), {})
        of_type = self._by_type.setdefault(record.type, {})
        if record.deleted_at is None:
            listed[record.id] = of_type[record.id] = record
            self._live[record.type, record.id] = body
            self._index(record, body)
        else:
            listed.pop(record.id, None)
            of_type.pop(record.id, None)
            self._live.pop((record.type, record.id), None)
        if isinstance(body, Number):
            self._numbers_by_offer.clear()
        if isinstance(body, RulePack | Holiday):
            packs = tuple(self._live_bodies(RulePack, "rule_pack", record.company_id))
            holidays = tuple(self._live_bodies(Holiday, "holiday", record.company_id))
            self._own_law[record.company_id] = packs, holidays

    def contact_id(self, contact_key: str) -> int:
        """Return the number by which a person is known outside. Raises `InternalError` where the rules have no secret."""
        if self.contact_ids is None:
            raise InternalError("the rules were read without the identity of the deployment, which holds the contact ids")
        return self.contact_ids.id_of(contact_key)

    def record(self, record_type: str, record_id: int) -> Record | None:
        """Return the newest version of a record, deleted ones included, or None."""
        return self._records.get((record_type, record_id))

    def owns(self, company_id: int, record_type: str, record_id: int) -> bool:
        """Return whether a company has a live record of this type and id."""
        return record_id in self._listed.get((record_type, company_id), {})

    def has_any(self, company_id: int, record_type: str) -> bool:
        """Return whether a company has a live record of this type."""
        return bool(self._listed.get((record_type, company_id)))

    def of_type(self, record_type: str) -> Iterator[Record]:
        """Yield the live records of a type, of every company."""
        yield from self._by_type.get(record_type, {}).values()

    def any_of(self, record_type: str) -> bool:
        """Return whether any company has a live record of a type."""
        return bool(self._by_type.get(record_type))

    def fleets_of(self, company_id: int, buyer_id: int | None) -> frozenset[str]:
        """Return the `user_fleet_id` of each fleet that a live buyer of the company belongs to."""
        buyer = self.body(Buyer, "buyer", buyer_id)
        if buyer is None or buyer_id is None or not self.owns(company_id, "buyer", buyer_id):
            return frozenset()
        fleets = (self.body(BuyerFleet, "buyer_fleet", fleet_id) for fleet_id in buyer.buyer_fleet_ids)
        return frozenset(fleet.user_fleet_id for fleet in fleets if fleet is not None)

    def body(self, kind: type[B], record_type: str, record_id: int | None) -> B | None:
        """Return the newest body of a live record of a type, or None where there is none or it was deleted."""
        body = self._live.get((record_type, record_id))
        return body if isinstance(body, kind) else None

    def last_body(self, kind: type[B], record_type: str, record_id: int) -> B | None:
        """Return the newest body of a record of a type, deleted or not."""
        body = self._bodies.get((record_type, record_id))
        return body if isinstance(body, kind) else None

    def schedule(self, schedule_id: int | None, version: int | None) -> Schedule | None:
        """Return a schedule as it was at a version, deleted or not."""
        return self._schedules.get((schedule_id, version))

    def with_schedule(self, schedule_id: int, change: Callable[[Schedule], Schedule]) -> "Rules":
        """Return these rules as they would be if every version of a schedule were changed; they adopt nothing more."""
        found = Rules()
        found.__dict__.update(self.__dict__)
        found._schedules = dict(self._schedules)
        for version, _ in self.versions(schedule_id):
            found._schedules[schedule_id, version] = change(self._schedules[schedule_id, version])
        return found

    def versions(self, schedule_id: int) -> list[tuple[int, Instant]]:
        """Return every version of a schedule that is known here and when it was made, oldest first."""
        return list(self._versions.get(schedule_id, ()))

    def target(self, lead_token: str) -> LeadTokenTarget | None:
        """Return what a lead token points at."""
        return self._tokens.get(lead_token)

    def api_key(self, public_key: str) -> tuple[Record, ApiKey] | None:
        """Return the record and body of a live API key."""
        record_id = self._public_keys.get(public_key)
        if record_id is None:
            return None
        body = self._bodies["api_key", record_id]
        return (self._records["api_key", record_id], body) if isinstance(body, ApiKey) else None

    def teams_of(self, company_id: int, user_email: str) -> tuple[AccessControlList, ...]:
        """Return the live teams of a company that a person belongs to."""
        return tuple(self._teams.get((company_id, user_email), {}).values())

    def user_named(self, company_id: int, email: str) -> tuple[Record, User] | None:
        """Return the record and body of the live user with an address."""
        record_id = self._users.get((company_id, email))
        body = None if record_id is None else self._live.get(("user", record_id))
        return (self._records["user", record_id], body) if record_id is not None and isinstance(body, User) else None

    def user_of_identity(self, company_id: int, identity_sha256: str) -> tuple[Record, User] | None:
        """Return the record and body of the live user with an identity at the company's issuer."""
        record_id = self._identities.get((company_id, identity_sha256))
        body = None if record_id is None else self._live.get(("user", record_id))
        return (self._records["user", record_id], body) if record_id is not None and isinstance(body, User) else None

    def is_shut_out(self, company_id: int, email: str) -> bool:
        """Return whether the user with an address is disabled or deleted, or has another address now."""
        found = self.user_named(company_id, email)
        return (company_id, email) in self._former_users if found is None else found[1].state == "disabled"

    def number(self, company_id: int, number: str | None) -> Record | None:
        """Return the live record of one of a company's own telephone numbers (E.164), or None."""
        record_id = None if number is None else self._numbers.get((company_id, number))
        return None if record_id is None else self._records["number", record_id]

    def ring_pool_of(self, company_id: int, number_id: int | None) -> tuple[int, RingPool] | None:
        """Return the live ring pool that a number belongs to, with its id, or None."""
        pool_id = None if number_id is None else self._ring_pools.get((company_id, number_id))
        body = self.body(RingPool, "ring_pool", pool_id)
        return None if pool_id is None or body is None else (pool_id, body)

    def numbers_for(self, company_id: int, offer_id: int | None, capability: Capability) -> tuple[str, ...]:
        """Return the numbers (E.164) from which leads of an offer are contacted: its own, else those of no offer.

        Cached until a number changes: a company may have thousands, and every first contact asks.
        """
        asked = (company_id, offer_id, capability)
        numbers = self._numbers_by_offer.get(asked)
        if numbers is None:
            numbers = self._numbers_by_offer[asked] = self._find_numbers(*asked)
        return numbers

    def _find_numbers(self, company_id: int, offer_id: int | None, capability: Capability) -> tuple[str, ...]:
        bodies = [self._bodies["number", record.id] for record in self.records("number", company_id)]
        able = [one for one in bodies if isinstance(one, Number) and getattr(one, capability) and not one.paused]
        own = tuple(one.number for one in able if one.offer_id is not None and one.offer_id == offer_id)
        return own or tuple(one.number for one in able if one.offer_id is None)

    def records(self, record_type: str, company_id: int) -> list[Record]:
        """Return a company's live records of a type, oldest first."""
        return sorted(self._listed.get((record_type, company_id), {}).values(), key=lambda record: record.id)

    def newest(self, record_type: str) -> int:
        """Return a number that rises with each version of a record of this type."""
        return self._newest.get(record_type, 0)

    def contact_hold(self, company_id: int, channel: str) -> Record | None:
        """Return the oldest hold of a company, or of all companies, that covers a channel."""
        if not self._by_type.get("contact_hold"):  # so almost always
            return None
        return next((record for record in self.contact_holds(company_id) if self._holds(record.id, channel)), None)

    def contact_holds(self, company_id: int) -> list[Record]:
        """Return the holds of all companies, then those of one, each the oldest first."""
        own = [] if company_id == EVERY_COMPANY else self.records("contact_hold", company_id)
        return [*self.records("contact_hold", EVERY_COMPANY), *own]

    def _holds(self, record_id: int, channel: str) -> bool:
        hold = self.body(ContactHold, "contact_hold", record_id)
        return hold is not None and hold.covers(channel)

    def own_law(self, company_id: int) -> OwnLaw:
        """Return a company's own rules and holidays: the same tuples until one of them changes."""
        return self._own_law.get(company_id, NO_OWN_LAW)

    def _live_bodies(self, kind: type[B], record_type: str, company_id: int) -> Iterator[B]:
        for record in self.records(record_type, company_id):
            body = self._bodies[record_type, record.id]
            if isinstance(body, kind):
                yield body

    def _unindex(self, record: Record) -> None:
        old = self._bodies.get((record.type, record.id))
        if isinstance(old, Offer | Schedule):
            if self._tokens.get(old.lead_token) == LeadTokenTarget(record.company_id, record.type, record.id):
                del self._tokens[old.lead_token]
        elif isinstance(old, ApiKey) and self._public_keys.get(old.public_key) == record.id:
            del self._public_keys[old.public_key]
        elif isinstance(old, AccessControlList):
            for email in old.users_emails:
                self._teams[record.company_id, email].pop(record.id, None)
        elif isinstance(old, User):
            self._unindex_user(record, old)
        elif isinstance(old, Number | RingPool):
            self._unindex_numbers(record, old)

    def _unindex_user(self, record: Record, old: User) -> None:
        company_id = record.company_id
        if self._users.get((company_id, old.email)) == record.id:
            del self._users[company_id, old.email]
            self._former_users.add((company_id, old.email))
        if self._identities.get((company_id, old.identity_sha256)) == record.id:
            del self._identities[company_id, old.identity_sha256]

    def _unindex_numbers(self, record: Record, old: Number | RingPool) -> None:
        company_id = record.company_id
        if isinstance(old, Number):
            if self._numbers.get((company_id, old.number)) == record.id:
                del self._numbers[company_id, old.number]
            return
        for number_id in ring_pool_numbers(old):
            if self._ring_pools.get((company_id, number_id)) == record.id:
                del self._ring_pools[company_id, number_id]

    def _index(self, record: Record, body: Body) -> None:
        """Index a record by its token or key; the first holder keeps it, so that no company can take another's."""
        if isinstance(body, Schedule) and body.unpublished:
            return
        if isinstance(body, Offer | Schedule):
            self._tokens.setdefault(body.lead_token, LeadTokenTarget(record.company_id, record.type, record.id))
        elif isinstance(body, ApiKey):
            self._public_keys.setdefault(body.public_key, record.id)
        elif isinstance(body, AccessControlList):
            for email in body.users_emails:
                self._teams.setdefault((record.company_id, email), {})[record.id] = body
        elif isinstance(body, User):
            self._users.setdefault((record.company_id, body.email), record.id)
            self._former_users.discard((record.company_id, body.email))
            if body.identity_sha256 is not None:
                self._identities.setdefault((record.company_id, body.identity_sha256), record.id)
        elif isinstance(body, Number):
            self._numbers.setdefault((record.company_id, body.number), record.id)
        elif isinstance(body, RingPool):
            self._ring_pools.update(((record.company_id, number_id), record.id) for number_id in ring_pool_numbers(body))


class ForeignRuleError(DependencyError):
    """A record of `accounts.rules` that the accounts role did not write there."""


def read_rule(key: bytes | None, value: bytes | None) -> Record:
    """Read one record of `accounts.rules`. Raises `ForeignRuleError` where it cannot be a version of a record."""
    if value is None:
        raise ForeignRuleError("a tombstone, and no version of a record is ever removed")
    try:
        record = msgspec.json.decode(value, type=Record)
        body_of(record)
    except KeyError as error:
        raise ForeignRuleError(f"{error} is not a type of record") from error
    except UNREADABLE as error:
        raise ForeignRuleError(f"not a record: {error}") from error
    if key != rules_key(record).encode():
        raise ForeignRuleError("its key is not that of its record version")
    return record
