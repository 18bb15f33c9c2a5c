"""What should a company know about a record that is valid all the same? Countries that nothing limits, laws not kept.

Answers that show a schedule, an offer or the company carry these sentences as `warnings`, so publishing says them too.
"""

from collections.abc import Iterable, Iterator

from engine.law.company import law_of
from engine.law.pack import CompiledRulePack
from engine.rules import Rules
from engine.submission.dialling import listed_countries
from engine.submission.states import country_of_law
from schemas.instant import Instant
from schemas.law import CHANNELS, Purpose
from schemas.records import Body, Company, Offer, Schedule
from schemas.schedule import CallbackStep, CallStep, SmsStep, Step

NAMED_MAX = 10
"""Countries that one sentence names; an offer may dial every country there is."""

SALES: Purpose = "telemarketing"

TELEPHONE_STEPS = (CallStep, CallbackStep, SmsStep)


def warnings_of(rules: Rules, company_id: int, body: Body, now: Instant) -> tuple[str, ...]:
    """Return what to know about a record, none of a type or state that contacts nobody."""
    company = rules.body(Company, "company", company_id)
    if isinstance(body, Company):
        listed = body.dial_countries
        return (*_of_list(listed), *_of_laws(rules, company_id, listed or (body.country,), body))
    if isinstance(body, Offer):
        return tuple(_of_laws(rules, company_id, body.dial_countries, company))
    if not isinstance(body, Schedule) or body.unpublished or not _reaches_telephones(body.steps):
        return ()
    offer = rules.body(Offer, "offer", body.offer_id)
    listed = listed_countries(offer, company)
    dialled = listed or tuple({one.country for one in (offer, company) if one is not None})
    unset = _of_list(listed)
    unknown = _of_laws(rules, company_id, dialled, company) if body.purpose == SALES else ()
    return (*unset, *unknown, *_of_sector(law_of(rules, company_id), dialled, offer, body.purpose, now))


def _reaches_telephones(steps: Iterable[Step]) -> bool:
    return any(isinstance(step, TELEPHONE_STEPS) for step in steps)


def _of_list(listed: tuple[str, ...]) -> Iterator[str]:
    if not listed:
        yield (
            "dial_countries names none, at the offer or the company: numbers of every country are called and texted, by a "
            "lead token of anybody too. Set dial_countries."
        )


def _of_laws(rules: Rules, company_id: int, dialled: tuple[str, ...], company: Company | None) -> Iterator[str]:
    """Yield which countries have no law here."""
    unknown = [country for country in dialled if not law_of(rules, company_id).is_reviewed(country)]
    if not unknown:
        return
    is_held = company is not None and company.unreviewed_countries == "hold"
    what = "telemarketing there waits (unreviewed_countries: hold)" if is_held else "telemarketing has 08:00-21:00 there"
    yield f"No law of {_named(unknown)} is kept: {what}. Add rows of your own with a rule pack."


def _of_sector(
    law: CompiledRulePack, dialled: tuple[str, ...], offer: Offer | None, purpose: Purpose, now: Instant
) -> Iterator[str]:
    """Yield in which countries a law bars some sectors, where no offer says what it sells; or that it bars this one."""
    sector = None if offer is None else offer.sector
    asked: dict[str, None] = {}
    barred: dict[str, None] = {}
    for row in (row for channel in CHANNELS for row in law.sector_rows_anywhere(now, channel, purpose)):
        if row.country not in {country_of_law(country) for country in dialled}:
            continue
        if sector is None:
            asked |= dict.fromkeys(f"{name} in {row.country}" for name in row.sectors)
        elif row.bars and sector in row.sectors:
            barred |= dict.fromkeys([row.country])
    if barred:
        yield f"The law of {_named(list(barred))} bars contact about {sector}: leads there wait (sector_barred)."
    if asked:
        yield (
            f"The law bars contact, or asks for consent first, about {_named(list(asked))}. Nothing here says what is sold: "
            "set the sector of the offer, other if it is none of these."
        )


def _named(names: list[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
