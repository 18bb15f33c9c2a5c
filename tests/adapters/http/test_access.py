"""Is a key good exactly while, where and for what it was made, and is everything else refused in the same way?"""

import asyncio
from base64 import b64encode

import pytest

from adapters.http.exchange.access import CHALLENGE, Access, Authenticator, read_credentials
from adapters.http.exchange.identity import hash_private_key
from adapters.http.exchange.problems import ProblemError
from engine.rules import Rules
from schemas.instant import Instant
from schemas.records import ApiKey, Body, Company, Offer, Record, Schedule, plain

PUBLIC, PRIVATE = "pk_1", "sk_1"
NOW = Instant(5)


def key(**more: object) -> ApiKey:
    return ApiKey(name="K", public_key=PUBLIC, private_key_sha256=hash_private_key(PRIVATE), **more)  # type: ignore[arg-type]


class Source:
    """Rules that are known, and records that are only known once the rules were read on."""

    def __init__(self, *bodies: Body, late: tuple[Body, ...] = ()) -> None:
        self.rules = Rules()
        self.refreshes = 0
        self._late = late
        self._count = 0
        self.take(bodies)

    async def refresh(self) -> None:
        self.refreshes += 1
        await asyncio.sleep(0)
        late, self._late = self._late, ()
        self.take(late)

    def take(self, bodies: tuple[Body, ...]) -> None:
        kinds = {ApiKey: "api_key", Company: "company", Offer: "offer", Schedule: "schedule"}
        for body in bodies:
            self._count += 1
            number = 1 if isinstance(body, Company) else self._count + 10
            self.rules.apply(
                0,
                Record(
                    type=kinds[type(body)], id=number, uuid=str(number), company_id=1, version=1, sequence=self._count,
                    created_at=Instant(1), updated_at=Instant(1), body=plain(body),
                ),
            )  # fmt: skip


async def opened(source: Source, *, private: str = PRIVATE, now: Instant = NOW, address: str = "192.0.2.7") -> Access | None:
    """Return what a key opens, None where it is refused."""
    basic = "Basic " + b64encode(f"{PUBLIC}:{private}".encode()).decode()
    try:
        return await Authenticator(source).authenticate(basic, "", address=address, now=now)
    except ProblemError as error:
        refused = error
    assert (refused.code, refused.headers) == ("unauthenticated", {"WWW-Authenticate": CHALLENGE})
    return None


@pytest.mark.parametrize(
    ("expires_at", "revoked_at", "now", "is_good"),
    [
        (None, None, 5, True),
        (5, None, 4, True),
        (5, None, 5, False),
        (5, None, 6, False),
        (None, 3, 5, False),
        (9, 3, 5, False),
    ],
)
async def test_a_key_is_good_until_the_instant_at_which_it_expires_unless_it_is_revoked(
    expires_at: Instant | None, revoked_at: Instant | None, now: Instant, is_good: bool
) -> None:
    source = Source(key(expires_at=expires_at, revoked_at=revoked_at))
    assert (await opened(source, now=now) is not None) == is_good


@pytest.mark.parametrize(
    ("allowed", "address", "is_good"),
    [
        ((), "anything", True),
        (("192.0.2.0/24",), "192.0.2.7", True),
        (("198.51.100.0/24", "192.0.2.7"), "192.0.2.7", True),
        (("192.0.2.0/24",), "192.0.3.7", False),
        (("192.0.2.0/24",), "", False),
        (("192.0.2.0/24",), "not an address", False),
        (("nonsense",), "192.0.2.7", False),
        (("2001:db8::/32",), "2001:db8::7", True),
        (("2001:db8::/32",), "192.0.2.7", False),
    ],
)
async def test_a_key_is_good_from_the_networks_that_it_names_and_where_it_names_none(
    allowed: tuple[str, ...], address: str, is_good: bool
) -> None:
    assert (await opened(Source(key(ip_allow_list=allowed)), address=address) is not None) == is_good


async def test_a_key_or_token_that_was_just_made_is_known_before_it_is_refused() -> None:
    source = Source(late=(key(), Offer(name="O", lead_token="lt_late")))
    assert await opened(source) is not None
    assert source.refreshes == 1
    assert await opened(source) is not None
    assert source.refreshes == 1, "what is known is not read again"
    authenticator = Authenticator(Source(late=(Offer(name="O", lead_token="lt_late", require_auth=True),)))
    target = await authenticator.target("lt_late", address=None)
    assert target is not None
    assert (target.kind, target.require_auth) == ("offer", True)
    assert await authenticator.target("lt_nobody", address=None) is None
    for wrong in ("", "x" * 201):
        assert await authenticator.target(wrong, address=None) is None


async def test_many_who_ask_at_once_share_the_next_reading_of_the_rules() -> None:
    source = Source()
    authenticator = Authenticator(source)
    await asyncio.gather(*(authenticator.refresh() for _ in range(20)))
    assert source.refreshes in {1, 2}
    before = source.refreshes
    await authenticator.refresh()
    assert source.refreshes == before + 1, "who asks later gets what was there then"


@pytest.mark.parametrize(
    ("scopes", "scope", "is_granted", "is_named"),
    [
        (("*",), "lead:update", True, False),
        (("lead:*",), "lead:update", True, False),
        (("*:update",), "lead:update", True, False),
        (("lead:update",), "lead:update", True, True),
        (("lead:read",), "lead:update", False, False),
        (("buyer:*", "*:read"), "lead:update", False, False),
        ((), "lead:update", False, False),
    ],
)
def test_a_scope_is_granted_by_name_or_by_a_wildcard_and_some_by_name_only(
    scopes: tuple[str, ...], scope: str, is_granted: bool, is_named: bool
) -> None:
    access = Access(company_id=1, key_id=2, scopes=scopes)
    assert access.has_scope(scope) == is_granted
    for check, allowed in ((access.require, is_granted), (access.require_named, is_named)):
        if allowed:
            check(scope)
        else:
            with pytest.raises(ProblemError) as caught:
                check(scope)
            assert caught.value.code == "forbidden"


@pytest.mark.parametrize(
    ("authorization", "auth_token", "halves"),
    [
        ("Basic " + b64encode(b"pk:s:k").decode(), "", ("pk", "s:k")),
        ("basic   " + b64encode(b"pk:sk").decode(), "", ("pk", "sk")),
        ("Bearer pk.sk", "", ("pk", "sk")),
        ("Bearer pk:s.k", "", ("pk", "s.k")),
        ("Token pk.sk", "", ("pk", "sk")),
        ("", " pk.s.k ", ("pk", "s.k")),
        ("", "pk:sk", ("pk", "sk")),
        ("Digest pk.sk", "pk.sk", ("", "")),
        ("Basic pk:sk", "pk.sk", ("", "")),
        ("Bearer " + "x" * 1_000, "", ("", "")),
        ("", "x" * 1_001, ("", "")),
        ("", "", ("", "")),
    ],
)
def test_a_key_is_read_from_the_header_else_from_the_field(
    authorization: str, auth_token: str, halves: tuple[str, str]
) -> None:
    assert read_credentials(authorization, auth_token) == halves


async def test_a_company_that_takes_no_keys_in_fields_takes_them_in_the_header() -> None:
    source = Source(Company(name="C", allow_auth_token=False), key())
    assert await opened(source) is not None
    with pytest.raises(ProblemError):
        await Authenticator(source).authenticate("", f"{PUBLIC}.{PRIVATE}", address="", now=NOW)
    open_to_fields = Source(Company(name="C"), key())
    assert await Authenticator(open_to_fields).authenticate("", f"{PUBLIC}.{PRIVATE}", address="", now=NOW) is not None


async def test_a_token_of_an_offer_speaks_of_its_own_schedules_only() -> None:
    source = Source(
        Offer(name="O", lead_token="lt_offer"),  # 11
        Schedule(name="Its own", lead_token="lt_12", offer_id=11),
        Schedule(name="Another's", lead_token="lt_13", offer_id=99),
    )
    authenticator = Authenticator(source)
    offer, schedule = await authenticator.target("lt_offer", address=None), await authenticator.target("lt_13", address=None)
    assert offer is not None
    assert schedule is not None
    assert (authenticator.schedule_ids(offer), offer.offer_id, offer.schedule_id) == ((12,), 11, None)
    assert (authenticator.schedule_ids(schedule), schedule.offer_id, schedule.schedule_id) == ((13,), None, 13)
