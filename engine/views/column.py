"""What describes a column of the API? Its name, its type, the rule that fills it, and its value in a new record."""

from typing import Any, NamedTuple


class Column(NamedTuple):
    """One column: its name, its type in JSON, what fills it, and its value in a record that is only built."""

    name: str
    type: str
    rule: str
    initial: Any = None
