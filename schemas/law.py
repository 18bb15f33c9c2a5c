"""How is the law written as data? As rows: what each limits, where, for whom, from which date, by which source.

A pack is a TOML document of this shape (`engine/law/pack.toml` is the one that is shipped and explains its fields); a
company's own rows are a record of type `rule_pack` (`schemas.records.RulePack`).
"""

from datetime import date
from typing import Literal

from msgspec import Struct

from schemas.schedule import Channel, Window

Purpose = Literal["telemarketing", "informational", "collections", "callback_requested"]
PURPOSES: tuple[Purpose, ...] = ("telemarketing", "informational", "collections", "callback_requested")
CHANNELS: tuple[Channel, ...] = ("call", "sms", "email")

Sector = Literal[
    "energy_renovation",
    "home_adaptation",
    "training_account",
    "energy_supply",
    "claims_management",
    "pensions",
    "other",
]
SECTORS: tuple[Sector, ...] = (
    "energy_renovation",
    "home_adaptation",
    "training_account",
    "energy_supply",
    "claims_management",
    "pensions",
    "other",
)
"""What an offer sells, as far as a law asks: works that save or produce energy at home, works for age or handicap, courses
paid by the French training account, electricity and gas, claims for damages, pensions; none of them."""

EVERYWHERE = "*"
"""The country of a row that holds in all of them."""


class LawRow(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A part of a pack."""


class CapRow(LawRow, frozen=True, kw_only=True):
    """At most `count` contacts in any `period` (`24h`; elapsed, so in hours, minutes or seconds).

    `counts` names the kinds of the ledger that are counted. `unit` is what the law counts by: our ledger is one per
    number, which is never laxer.
    """

    count: int
    period: str
    unit: Literal["number", "person", "account"]
    counts: tuple[Literal["call", "sms"], ...]


class RuleRow(LawRow, frozen=True, kw_only=True):
    """One rule; `effective_from` and `effective_to` are its first and last date, None: always.

    `sectors`: it is about offers of these alone; such a row `bars` every contact, or asks for consent. A person with a
    contract in progress is none of its business where it `excepts_contracts`. After a person has refused an offer nobody
    contacts the person for `refusal_days` whole days of the calendar.

    `conflict` says where sources disagree (the stricter reading is kept), `unverified` what could not be read.
    `override` is for rows of a company: the row takes the place of the shipped one with its id, for the written `reason`.
    """

    id: str
    country: str
    purposes: tuple[Purpose, ...]
    channels: tuple[Channel, ...]
    source_url: str
    reviewed_at: date
    state: str | None = None
    gives_way: bool = False
    windows: tuple[Window, ...] = ()
    cap: CapRow | None = None
    holidays: tuple[str, ...] = ()
    opt_out_years: int | None = None
    requires_consent: bool = False
    excepts_contracts: bool = False
    sectors: tuple[Sector, ...] = ()
    bars: bool = False
    refusal_days: int | None = None
    effective_from: date | None = None
    effective_to: date | None = None
    note: str = ""
    conflict: str = ""
    unverified: str = ""
    override: bool = False
    reason: str = ""


class HolidayChange(LawRow, frozen=True, kw_only=True):
    """A day that a statute adds to the public holidays of a set, or that is none by the statute.

    `on` is `MM-DD`, a weekday from a date on (`tue from 11-02`), or days from Easter Sunday (`easter-2`). `years` are those
    in which it is a holiday. `saturday` and `sunday` say on which day it is kept too where it falls on one.
    """

    name: str
    on: str
    source_url: str
    years: Literal["all", "even", "odd"] = "all"
    saturday: Literal["", "friday", "monday"] = ""
    sunday: Literal["", "monday"] = ""
    note: str = ""


class HolidaySet(LawRow, frozen=True, kw_only=True):
    """A named set of dates: the public holidays of a country or state, and those listed.

    `in_any_part` takes the holidays of every part of the country, as the part where a person lives is not known. `eves`
    takes the day before each holiday too. `adds` and `removes` correct what the library of holidays says.
    """

    id: str
    country: str | None = None
    state: str | None = None
    dates: tuple[date, ...] = ()
    in_any_part: bool = False
    eves: bool = False
    adds: tuple[HolidayChange, ...] = ()
    removes: tuple[HolidayChange, ...] = ()


class LawReview(LawRow, frozen=True, kw_only=True):
    """That the law of a state was read, and no row is needed: the hours of its country hold.

    `unverified` says what could not be read.
    """

    country: str
    state: str
    source_url: str
    reviewed_at: date
    note: str = ""
    unverified: str = ""


class OptOutRow(LawRow, frozen=True, kw_only=True):
    """What an opt-out reaches, and the words that are one in themselves."""

    scope: Literal["company", "brand", "offer", "channel"]
    channels: Literal["all", "same"]
    words: tuple[str, ...]
    confirmation_within: str
    source_url: str
    reviewed_at: date
    note: str = ""


class PackRows(LawRow, frozen=True, kw_only=True):
    """The document; its `version` is a name for people, its digest is what decisions are checked by."""

    version: str
    opt_out: OptOutRow
    rules: tuple[RuleRow, ...]
    holiday_sets: tuple[HolidaySet, ...] = ()
    reviews: tuple[LawReview, ...] = ()
