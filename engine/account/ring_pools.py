"""How many numbers may a ring pool have, and for how long are they held? For whom, `engine.account.number_holds` decides."""

from collections.abc import Mapping
from typing import Any

from engine.account.plans import Errors

NUMBERS_MAX = 200
"""Of one pool: all are in one value of some 10 KB, which each hold writes again. A busier site has several pools."""

HOLD_SECONDS = (60, 24 * 3_600)
"""A visitor needs a minute to dial. Longer than a day, most of the numbers would be held for visitors who are gone."""

GRACE_SECONDS_MAX = 3_600
"""Somebody who has the page open still may call within it; more is a longer hold."""


def check_numbers(given: Mapping[str, Any], values: Mapping[str, Any], errors: Errors) -> None:
    """Check that the default number is none of the numbers that are held: a call to it says nothing of a visitor."""
    del given
    if values.get("default_number_id") in values.get("number_ids", ()):
        errors.setdefault("default_number_id", []).append("must not be one of number_ids: it is held for nobody")
