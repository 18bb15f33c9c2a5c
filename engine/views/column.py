"""What describes a column of the API? Its name, its type, and the rule that fills it."""

from typing import NamedTuple


class Column(NamedTuple):
    """One column: its name, its type in JSON, and what fills it."""

    name: str
    type: str
    rule: str
