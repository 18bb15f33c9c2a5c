"""Which wrong values of a lead are still to be corrected? Those that its submission was stored without (`on_invalid: warn`).

They are in a token. A field that is set since is corrected, and taken off the list. Emptying the token accepts the lead.
"""

from collections.abc import Iterable

from engine.submission.columns import ALIASES
from engine.submission.reading import INVALID_FIELDS
from schemas.contact import Lead


def take_off_corrected(lead: Lead, fields: Iterable[str]) -> None:
    """Take fields that were set now off the list of a lead; without any left the token is deleted."""
    wrong = lead.data.get(INVALID_FIELDS)
    if not isinstance(wrong, dict):
        return
    corrected = set(fields)
    left = {name: value for name, value in wrong.items() if _column_of(name) not in corrected}
    if left:
        lead.data[INVALID_FIELDS] = left
    else:
        del lead.data[INVALID_FIELDS]


def _column_of(name: str) -> str:
    """Return the field that a value was sent for: at the top or in `data`, by an alias or not."""
    plain = name.removeprefix("data.")
    return ALIASES.get(plain, plain)
