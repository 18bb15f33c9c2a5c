"""Does the shipped pack say what the research says, and is a wrong pack refused with the row and the cure?"""

import tomllib
from datetime import date, datetime
from importlib.resources import files
from typing import Any

import msgspec
import pytest

import engine.law
from engine.law.caps import CAP_PERIOD_MAX
from engine.law.faults import RulePackError
from engine.law.floor import TELEPHONE_FLOOR
from engine.law.pack import QUIET_HOURS_FEDERAL, CompiledRulePack, default_pack, read_rows
from engine.law.state_hours import MAPPED
from schemas.instant import EPOCH, HOUR, from_datetime
from schemas.law import CHANNELS, PURPOSES, RuleRow

SHIPPED = files(engine.law).joinpath("pack.toml").read_bytes()

ALL_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NO_SUNDAY = ALL_DAYS[:6]
WEEKDAYS = ALL_DAYS[:5]
EVERY_PURPOSE = frozenset(PURPOSES)
SALES = frozenset({"telemarketing", "callback_requested"})
PHONE = ("call", "sms")

# The law by its sources: id -> state, purposes, channels, hours, cap (count, hours, kinds), holidays, from.
TABLE: dict[str, tuple[Any, ...]] = {
    "telephone-floor": (None, EVERY_PURPOSE, PHONE, [(ALL_DAYS, "08:00", "21:00")], None, (), None),
    "us-federal": (None, EVERY_PURPOSE, PHONE, [(ALL_DAYS, "08:00", "21:00")], None, (), None),
    "us-reg-f": (None, {"collections"}, PHONE, [(ALL_DAYS, "08:00", "21:00")], None, (), None),
    "us-reg-f-calls": (None, {"collections"}, ("call",), [], (7, 7 * 24, ("call",)), (), None),
    "us-fl": ("FL", SALES, PHONE, [(ALL_DAYS, "08:00", "20:00")], (3, 24, PHONE), (), date(2021, 7, 1)),
    "us-ok": ("OK", SALES, PHONE, [(ALL_DAYS, "08:00", "20:00")], (3, 24, PHONE), (), None),
    "us-md": ("MD", SALES, PHONE, [(ALL_DAYS, "08:00", "20:00")], (3, 24, PHONE), (), date(2024, 1, 1)),
    "us-me": ("ME", SALES, ("call",), [(WEEKDAYS, "09:00", "17:00")], (1, 8, ("call",)), (), None),
    "us-al": ("AL", SALES, PHONE, [(NO_SUNDAY, "08:00", "20:00")], None, ("us-al",), None),
    "us-la": ("LA", SALES, PHONE, [(NO_SUNDAY, "08:00", "20:00")], None, ("us-la",), None),
    "us-ms": ("MS", SALES, PHONE, [(NO_SUNDAY, "08:00", "20:00")], None, ("us-ms",), None),
    "us-ma": ("MA", SALES, PHONE, [(ALL_DAYS, "08:00", "20:00")], None, (), None),
    "us-ct": ("CT", SALES, PHONE, [(ALL_DAYS, "09:00", "20:00")], None, (), None),
    "us-ky": ("KY", SALES, PHONE, [(ALL_DAYS, "10:00", "21:00")], None, (), None),
    "us-tx": ("TX", SALES, ("call",), [(NO_SUNDAY, "09:00", "21:00"), (("sun",), "12:00", "21:00")], None, (), None),
    "us-tx-texts": (
        "TX",
        SALES,
        ("sms",),
        [(NO_SUNDAY, "09:00", "21:00"), (("sun",), "12:00", "21:00")],
        None,
        (),
        date(2025, 9, 1),
    ),
    "us-ri": (
        "RI",
        SALES,
        PHONE,
        [(WEEKDAYS, "09:00", "18:00"), (("sat",), "10:00", "17:00")],
        None,
        ("us-ri",),
        None,
    ),
    "us-va": ("VA", SALES, ("sms",), [], None, (), date(2026, 1, 1)),
    "us-or": ("OR", SALES, PHONE, [(ALL_DAYS, "08:00", "20:00")], (3, 24, PHONE), (), date(2026, 1, 1)),
    "us-wa": ("WA", SALES, PHONE, [(ALL_DAYS, "08:00", "20:00")], None, (), None),
    "us-wy": ("WY", SALES, PHONE, [(ALL_DAYS, "08:00", "20:00")], None, (), None),
    "us-nv": ("NV", SALES, PHONE, [(ALL_DAYS, "09:00", "20:00")], None, (), None),
    "us-nm": ("NM", SALES, PHONE, [(ALL_DAYS, "09:00", "21:00")], None, (), None),
    "us-mn": ("MN", SALES, PHONE, [(ALL_DAYS, "09:00", "21:00")], None, (), None),
    "us-mi": ("MI", SALES, PHONE, [(ALL_DAYS, "09:00", "21:00")], None, (), None),
    "us-il": ("IL", SALES, ("call",), [(ALL_DAYS, "09:00", "21:00")], None, (), None),
    "us-ut": ("UT", SALES, PHONE, [(NO_SUNDAY, "08:00", "21:00")], None, ("us-ut",), None),
    "us-sd": ("SD", SALES, ("call",), [(WEEKDAYS, "09:00", "21:00")], None, (), None),
    "us-pa": (
        "PA",
        SALES,
        PHONE,
        [((*WEEKDAYS, "sun"), "08:00", "21:00"), (("sat",), "08:00", "12:00")],
        None,
        ("us-pa",),
        date(2019, 12, 3),
    ),
    "us-pa-2026": ("PA", SALES, PHONE, [(NO_SUNDAY, "09:00", "19:00")], None, (), date(2026, 10, 18)),
}

MONTH = 30 * 24
# Other countries by their sources: windows, cap (count, hours, kinds), whether holidays are closed, from.
COUNTRIES: dict[str, tuple[Any, ...]] = {
    "ca": ([(WEEKDAYS, "09:00", "21:30"), (("sat", "sun"), "10:00", "18:00")], None, True, None),
    "gb": ([(WEEKDAYS, "08:00", "21:00"), (("sat", "sun"), "09:00", "21:00")], None, False, None),
    "ie": ([(NO_SUNDAY, "09:00", "20:00")], None, True, None),
    "fr": ([(WEEKDAYS, "10:00", "13:00"), (WEEKDAYS, "14:00", "20:00")], (4, MONTH, PHONE), True, date(2023, 3, 1)),
    "de": ([(WEEKDAYS, "08:00", "20:00"), (("sat",), "09:00", "18:00")], (3, 24, ("call",)), True, None),
    "at": ([(WEEKDAYS, "08:00", "20:00"), (("sat",), "09:00", "18:00")], None, True, None),
    "ch": ([(WEEKDAYS, "08:00", "20:00"), (("sat",), "09:00", "18:00")], None, True, None),
    "es": ([(WEEKDAYS, "09:00", "21:00")], None, True, None),
    "it": ([(WEEKDAYS, "09:00", "20:00"), (("sat",), "10:00", "19:00")], None, True, date(2024, 9, 28)),
    "nl": ([(WEEKDAYS, "09:00", "20:00"), (("sat",), "10:00", "16:00")], None, True, None),
    "be": ([(NO_SUNDAY, "09:00", "20:00")], None, True, None),
    "pt": ([(WEEKDAYS, "09:00", "22:00")], None, True, None),
    "au": ([(WEEKDAYS, "09:00", "20:00"), (("sat",), "09:00", "17:00")], None, True, None),
    "nz": ([(NO_SUNDAY, "08:00", "21:00")], None, True, None),
    "br": ([(WEEKDAYS, "09:00", "20:00"), (("sat",), "10:00", "16:00")], None, True, None),
    "mx": ([(NO_SUNDAY, "09:00", "20:00")], None, True, None),
    "in": ([(ALL_DAYS, "10:00", "21:00")], None, False, None),
    "sg": ([(NO_SUNDAY, "09:00", "20:00")], None, True, None),
    "za": ([(WEEKDAYS, "08:00", "20:00"), (("sat",), "09:00", "13:00")], None, True, None),
}

PROVINCES = ("AB", "BC", "MB", "NB", "NL", "NS", "NT", "NU", "ON", "PE", "QC", "SK", "YT")


@pytest.mark.parametrize("rule_id", TABLE)
def test_a_row_says_what_the_research_says(rule_id: str) -> None:
    state, purposes, channels, hours, cap, holidays, begins = TABLE[rule_id]
    row = default_pack().rules[rule_id]

    assert (row.state, set(row.purposes), row.channels, row.holidays) == (state, purposes, channels, holidays)
    assert [(window.days, window.open, window.close) for window in row.windows] == hours
    found = row.cap and (row.cap.count, int(row.cap.period.removesuffix("h")), row.cap.counts)
    assert found == cap
    assert (row.effective_from, row.effective_to) == (begins, None)
    assert row.country == ("*" if rule_id == "telephone-floor" else "US")
    assert row.gives_way is (rule_id == "telephone-floor")


@pytest.mark.parametrize("rule_id", COUNTRIES)
def test_a_row_of_another_country_says_what_the_research_says(rule_id: str) -> None:
    hours, cap, has_holidays, begins = COUNTRIES[rule_id]
    row = default_pack().rules[rule_id]

    assert (row.country, row.state, row.purposes, row.channels) == (rule_id.upper(), None, ("telemarketing",), PHONE)
    assert [(window.days, window.open, window.close) for window in row.windows] == hours
    assert (row.cap and (row.cap.count, int(row.cap.period.removesuffix("h")), row.cap.counts)) == cap
    assert (row.holidays, row.effective_from) == ((rule_id,) if has_holidays else (), begins)


def test_the_pack_holds_these_rows_and_no_other() -> None:
    provinces = {f"ca-{state.lower()}" for state in PROVINCES}
    consents = set(CONSENT_FIRST) - set(COUNTRIES)
    assert set(default_pack().rules) == set(TABLE) | set(COUNTRIES) | provinces | consents | set(SECTORS) | {"es-refusal"}


# Rows that ask for consent first -> from when on.
CONSENT_FIRST = {
    "de": None,
    "at": None,
    "es-consent": date(2023, 6, 29),
    "nl-consent": date(2021, 7, 1),
    "fr-consent": date(2026, 8, 11),
}


# Rows about some sectors: country, sectors, channels, barred, whether contracts in progress are excepted, from when on.
SECTORS: dict[str, tuple[Any, ...]] = {
    "fr-works": ("FR", ("energy_renovation",), ("call",), True, True, date(2020, 7, 26)),
    "fr-works-2025": ("FR", ("energy_renovation", "home_adaptation"), CHANNELS, True, True, date(2025, 7, 1)),
    "fr-training": ("FR", ("training_account",), CHANNELS, True, True, date(2022, 12, 21)),
    "es-energy": ("ES", ("energy_supply",), PHONE, False, False, date(2026, 2, 10)),
    "it-energy": ("IT", ("energy_supply",), PHONE, False, False, date(2026, 6, 19)),
    "gb-claims": ("GB", ("claims_management",), ("call",), False, False, date(2018, 9, 8)),
    "gb-pensions": ("GB", ("pensions",), ("call",), False, True, date(2019, 1, 9)),
}


@pytest.mark.parametrize("row_id", SECTORS)
def test_what_an_offer_sells_is_barred_or_needs_consent(row_id: str) -> None:
    row = default_pack().rules[row_id]

    found = (row.country, row.sectors, row.channels, row.bars, row.excepts_contracts, row.effective_from)
    assert found == SECTORS[row_id]
    assert row.requires_consent is not row.bars


# Country -> whole days without contact after a refusal, and from when on.
REFUSALS = {"fr": (60, date(2023, 3, 1)), "es-refusal": (92, date(2022, 1, 1))}


def test_countries_with_a_pause_after_a_refusal_say_so() -> None:
    rows = default_pack().rules.values()

    assert {row.id: (row.refusal_days, row.effective_from) for row in rows if row.refusal_days} == REFUSALS


def test_countries_that_ask_for_consent_first_say_so_from_their_date_on() -> None:
    rows = [row for row in default_pack().rules.values() if row.requires_consent and not row.sectors]

    assert {row.id: row.effective_from for row in rows} == CONSENT_FIRST
    assert {row.id for row in rows if row.excepts_contracts} == {"fr-consent"}
    for at, rules in (("2026-08-09T12:00:00Z", ()), ("2026-08-11T12:00:00Z", ("fr-consent",))):
        instant = from_datetime(datetime.fromisoformat(at))
        assert default_pack().limits((), ("FR",), "call", "telemarketing", instant).consent_rules == rules
    assert default_pack().limits((), ("DE",), "call", "callback_requested", EPOCH).consent_rules == ()


@pytest.mark.parametrize("row", default_pack().rules.values(), ids=lambda row: row.id)
def test_every_row_names_its_source_and_when_it_was_read(row: RuleRow) -> None:
    assert row.source_url.startswith("http")
    assert row.reviewed_at >= date(2026, 1, 1)


STATES_REVIEWED = {"PR", *MAPPED}


@pytest.mark.parametrize("state", sorted(STATES_REVIEWED))
def test_every_state_has_hours_of_its_own_or_a_review_that_the_federal_ones_hold(state: str) -> None:
    pack = default_pack()
    with_hours = {row.state for row in pack.rules.values() if row.country == "US" and row.windows}
    reviews = [review for review in pack.reviews if review.state == state]

    assert len(STATES_REVIEWED) == 52
    assert (state in with_hours) is not bool(reviews), "a row or a reason, and not both"
    assert all(review.country == "US" and review.reviewed_at >= date(2026, 1, 1) for review in reviews)
    assert all(review.source_url.startswith("https://") for review in reviews)


def test_every_change_of_a_holiday_set_names_its_source() -> None:
    document = tomllib.loads(SHIPPED.decode())
    changes = [change for named in document["holiday_sets"] for change in named.get("adds", []) + named.get("removes", [])]

    assert len(changes) > 20
    assert all(change["source_url"].startswith("http") for change in changes)


def test_rows_on_which_sources_disagree_say_so() -> None:
    assert {row.id for row in default_pack().rules.values() if row.conflict} == {
        *("us-al", "us-ct", "us-il", "us-la", "us-me", "us-ms", "us-nv", "us-pa", "us-pa-2026", "us-ri", "us-sd"),
        *("us-tx", "us-tx-texts", "br", "ca", "ch", "de", "es", "in", "pt"),
        *("fr-works-2025", "es-energy", "es-refusal"),
    }


def test_the_floor_of_the_pack_is_that_of_the_engine() -> None:
    limits = default_pack().limits((), (), "call", "telemarketing", EPOCH)

    assert [(hours.code, hours.windows) for hours in limits.hours] == [(QUIET_HOURS_FEDERAL, TELEPHONE_FLOOR)]


def test_virginia_keeps_an_opt_out_for_ten_years() -> None:
    assert default_pack().rules["us-va"].opt_out_years == 10


def test_an_opt_out_reaches_the_whole_company_by_default() -> None:
    opt_out = default_pack().opt_out

    assert (opt_out.scope, opt_out.channels, opt_out.confirmation_within) == ("company", "all", "5m")
    assert set(opt_out.words) == {"stop", "quit", "end", "revoke", "opt out", "cancel", "unsubscribe"}


def test_the_digest_is_of_what_a_pack_says_not_of_its_comments() -> None:
    shipped = default_pack()
    commented = CompiledRulePack(read_rows(b"# read by counsel\n" + SHIPPED))
    changed = CompiledRulePack(read_rows(SHIPPED.replace(b'open = "10:00"', b'open = "10:30"', 1)))

    assert (commented.digest, commented.stamp) == (shipped.digest, shipped.stamp)
    assert shipped.stamp == f"{shipped.version}+{shipped.digest}"
    assert changed.digest != shipped.digest


MINIMAL: dict[str, Any] = {
    "version": "1",
    "opt_out": {
        "scope": "company",
        "channels": "all",
        "words": ["stop"],
        "confirmation_within": "5m",
        "source_url": "https://example.org",
        "reviewed_at": "2026-11-21",
    },
    "holiday_sets": [{"id": "company", "dates": ["2026-12-24"]}],
    "rules": [
        {
            "id": "floor",
            "country": "*",
            "gives_way": True,
            "purposes": list(PURPOSES),
            "channels": ["call", "sms"],
            "windows": [{"days": list(ALL_DAYS), "open": "08:00", "close": "21:00"}],
            "source_url": "https://example.org",
            "reviewed_at": "2026-11-21",
        }
    ],
}
RULE: dict[str, Any] = {
    "id": "us-xx",
    "country": "US",
    "state": "FL",
    "purposes": ["telemarketing"],
    "channels": ["call"],
    "windows": [{"days": ["mon"], "open": "08:00", "close": "20:00"}],
    "source_url": "https://example.org",
    "reviewed_at": "2026-11-21",
}


def toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "{" + ", ".join(f"{key} = {toml(found)}" for key, found in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case str() if value[:4].isdigit() and len(value) == 10:
            return value
        case str():
            return msgspec.json.encode(value).decode()
        case _:
            return str(value)


def document(**changes: Any) -> bytes:
    return "\n".join(f"{key} = {toml(value)}" for key, value in {**MINIMAL, **changes}.items()).encode()


def pack_with(**changes: Any) -> CompiledRulePack:
    rule = {key: value for key, value in {**RULE, **changes}.items() if value is not None}
    return CompiledRulePack(read_rows(document(rules=[*MINIMAL["rules"], rule])))


def test_a_pack_of_ones_own_is_taken() -> None:
    assert set(pack_with().rules) == {"floor", "us-xx"}


ADDED = {"name": "Day", "on": "06-14", "source_url": "https://example.org"}
REVIEW = {"country": "US", "state": "AK", "source_url": "https://example.org", "reviewed_at": "2026-11-21"}
CAP = {"count": 3, "period": "24h", "unit": "number", "counts": ["call"]}


@pytest.mark.parametrize(
    ("changes", "place", "cure"),
    [
        ({"country": "USA"}, "us-xx.country", "two capital letters such as US"),
        ({"country": "us"}, "us-xx.country", "two capital letters such as US"),
        ({"state": "Florida"}, "us-xx.state", "write its two capital letters, such as FL"),
        ({"state": "XX"}, "us-xx.state", "'XX' is no state"),
        ({"country": "DE", "state": "BY"}, "us-xx.state", "leave it out, and the rule holds in the whole country"),
        ({"gives_way": True}, "us-xx.gives_way", "remove it"),
        ({"purposes": []}, "us-xx.purposes", "name at least one of telemarketing"),
        ({"purposes": ["sales"]}, "us-xx", "`$.purposes[0]`"),
        ({"channels": []}, "us-xx.channels", "name at least one of call, sms, email"),
        ({"channels": ["fax"]}, "us-xx", "`$.channels[0]`"),
        ({"windows": None}, "us-xx.windows", "fill one, or remove the row"),
        ({"windows": [{"days": ["mon"], "open": "8", "close": "20:00"}]}, "us-xx.windows.0.open", "HH:MM"),
        ({"windows": [{"days": [], "open": "08:00", "close": "20:00"}]}, "us-xx.windows.0.days", "at least one day"),
        ({"windows": [{"days": ["mon"], "open": "08:00"}]}, "us-xx", "missing required field `close`"),
        ({"holidays": ["us-xx"]}, "us-xx.holidays", "add it under [[holiday_sets]] or correct the name"),
        ({"opt_out_years": 0}, "us-xx.opt_out_years", "at least 1"),
        ({"cap": {**CAP, "count": 0}}, "us-xx.cap.count", "from 1 to 1000"),
        ({"cap": {**CAP, "count": 1001}}, "us-xx.cap.count", "from 1 to 1000"),
        ({"cap": {**CAP, "counts": []}}, "us-xx.cap.counts", "name call, sms or both"),
        ({"cap": {**CAP, "counts": ["connected"]}}, "us-xx", "`$.cap.counts[0]`"),
        ({"cap": {**CAP, "period": "one day"}}, "us-xx.cap.period", "such as 24h"),
        ({"cap": {**CAP, "period": "7d"}}, "us-xx.cap.period", "write 168h"),
        ({"cap": {**CAP, "period": "0h"}}, "us-xx.cap.period", f"from 1s to {CAP_PERIOD_MAX // HOUR}h"),
        ({"cap": {**CAP, "period": "745h"}}, "us-xx.cap.period", "the ledger keeps 31 days"),
        ({"cap": CAP, "channels": ["call", "email"]}, "us-xx.cap", "put e-mail into a row of its own"),
        ({"source_url": "statute book"}, "us-xx.source_url", "beginning with https://"),
        ({"source_url": None}, "us-xx", "missing required field `source_url`"),
        ({"reviewed_at": "1999-01-01"}, "us-xx.reviewed_at", "last read the source"),
        ({"reviewed_at": "today"}, "us-xx", "`$.reviewed_at`"),
        ({"effective_from": "2026-02-01", "effective_to": "2026-01-31"}, "us-xx.effective_to", "write 2026-02-01 or later"),
        ({"effective_to": "9999-12-31"}, "us-xx.effective_to", "leave it out where the rule always holds"),
        ({"efective_from": "2026-02-01"}, "us-xx", "unknown field `efective_from`"),
        ({"id": "floor"}, "floor.id", "give every row an id of its own"),
        ({"id": ""}, "id", "give every row an id, such as us-fl"),
    ],
)
def test_a_wrong_row_is_refused_by_its_id_with_the_cure(changes: dict[str, Any], place: str, cure: str) -> None:
    with pytest.raises(RulePackError) as refused:
        pack_with(**changes)

    assert cure in " ".join(refused.value.errors[place])
    assert f"{place}: " in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "place", "cure"),
    [
        ({"holiday_sets": [{"id": "company"}]}, "company.dates", "list dates or name a country"),
        ({"holiday_sets": [{"id": "al", "state": "AL"}]}, "al.country", "write the country of the state"),
        ({"holiday_sets": [{"id": "al", "country": "US", "state": "ALA"}]}, "al.state", "such as FL"),
        ({"holiday_sets": [{"id": "there", "country": "ZZ"}]}, "there.country", "list them as dates"),
        ({"holiday_sets": [{"id": "a", "dates": ["2026-13-01"]}]}, "pack", "correct it there"),
        ({"holiday_sets": {"company": []}}, "holiday_sets", "write each under [[holiday_sets]]"),
        ({"holiday_sets": [{"id": "a", "adds": [{**ADDED, "on": "13-01"}]}]}, "a.Day", "a day such as 06-14"),
        ({"holiday_sets": [{"id": "a", "adds": [{**ADDED, "on": "tue"}]}]}, "a.Day", "tue from 11-02"),
        ({"holiday_sets": [{"id": "a", "adds": [{**ADDED, "source_url": "-"}]}]}, "a.Day", "beginning with https://"),
        ({"holiday_sets": [{"id": "a", "adds": [{"name": "Day"}]}]}, "a", "missing required field `on`"),
        ({"holiday_sets": [{"id": "a", "country": "US", "state": "AL", "in_any_part": True}]}, "a.in_any_part", "remove it"),
        ({"reviews": [{**REVIEW, "state": "XX"}]}, "reviews XX.state", "a state of the US or CA"),
        ({"reviews": [{**REVIEW, "source_url": "-"}]}, "reviews AK.source_url", "beginning with https://"),
        ({"rules": []}, "rules", "leave call for telemarketing without hours"),
        ({"rules": [{**MINIMAL["rules"][0], "channels": ["call"]}]}, "rules", "leave sms for informational without hours"),
        ({"rules": [{**MINIMAL["rules"][0], "effective_to": "2027-01-01"}]}, "rules", "without effective dates"),
        ({"rules": ["none"]}, "rules row 1", "Expected `object`"),
        ({"version": " "}, "version", "write the date of the last change"),
        ({"version": 3}, "pack", "`$.version`"),
        ({"opt_out": {**MINIMAL["opt_out"], "words": ["Stop"]}}, "opt_out.words", "in small letters"),
        ({"opt_out": {**MINIMAL["opt_out"], "confirmation_within": "soon"}}, "opt_out.confirmation_within", "such as 90s"),
        ({"opt_out": {**MINIMAL["opt_out"], "scope": "galaxy"}}, "pack", "`$.opt_out.scope`"),
    ],
)
def test_a_wrong_pack_is_refused_with_the_cure(changes: dict[str, Any], place: str, cure: str) -> None:
    with pytest.raises(RulePackError) as refused:
        read_rows(document(**changes))

    assert cure in " ".join(refused.value.errors[place])


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(RulePackError) as refused:
        pack_with(state="XX", source_url="-", cap={**CAP, "count": 0})

    assert set(refused.value.errors) == {"us-xx.state", "us-xx.source_url", "us-xx.cap.count"}


@pytest.mark.parametrize("data", [b"rules = [", b"\xff\xfe", b"version 1"])
def test_what_is_no_toml_is_refused(data: bytes) -> None:
    with pytest.raises(RulePackError, match="is no TOML"):
        read_rows(data)


def test_the_shipped_pack_is_shipped_as_readable_toml() -> None:
    assert tomllib.loads(SHIPPED.decode())["version"] == default_pack().version
