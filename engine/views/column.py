"""What is a column of the interface? Its name, its type outside, and the rule that fills it."""

from typing import NamedTuple


class Column(NamedTuple):
    """One column: its type outside, and what fills it."""

    name: str
    type: str
    rule: str
