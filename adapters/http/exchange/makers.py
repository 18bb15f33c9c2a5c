"""May who made a job or a link still do what it does? What the key or person may do now decides, not what it could then."""

from msgspec import Struct

from adapters.http.exchange.access import Access, Authenticator
from adapters.http.exchange.ports import RulesSource
from schemas.instant import Instant

FORBIDDEN = "who made it may not do this any more"


class Maker(Struct, frozen=True):
    """Who made something that acts later, and from where; `key_id` None: a session of the user with that address did."""

    company_id: int
    key_id: int | None
    user_email: str | None
    address: str


class MakerAccess:
    """Looks up what makers may do, in the account records of this process."""

    def __init__(self, source: RulesSource, authenticator: Authenticator) -> None:
        self._source = source
        self._authenticator = authenticator

    async def refresh(self) -> None:
        """Read the rules to their current end. Raises `EventsUnavailableError`, `LogError`."""
        await self._authenticator.refresh()

    def of(self, maker: Maker, scope: str, now: Instant) -> Access | None:
        """Return what a maker may do now; None where that is not the scope any more."""
        access = Access(maker.company_id, maker.key_id, (), maker.user_email)
        if maker.key_id is None:
            found = self._of_user(access)
        else:
            found = self._authenticator.renew(access, address=maker.address, now=now)
        return found if found is not None and found.has_scope(scope) else None

    def _of_user(self, access: Access) -> Access | None:
        """Return what a user may do whose session made something, whether it has ended or not."""
        rules, email = self._source.rules, access.user_email or ""
        if rules.user_named(access.company_id, email) is None or rules.is_shut_out(access.company_id, email):
            return None
        return Access(access.company_id, None, ("*",), email, rules.teams_of(access.company_id, email))
