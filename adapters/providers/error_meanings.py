"""What does an error code of a vendor mean for a lead? A row of its table, which `deploy/docs/providers.md` publishes."""

from msgspec import Struct


class ErrorMeaning(Struct, frozen=True, kw_only=True):
    """The outcome of a code (`not_placed`: nobody was reached), and what it says.

    `tries_next`: another provider configuration may do better.
    """

    outcome: str
    says: str
    tries_next: bool = False
