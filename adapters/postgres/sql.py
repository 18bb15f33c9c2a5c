"""Where is the SQL? In named queries of `.sql` files, with `{read}` and `{work}` for the schemas.

A query begins with a line `-- name --`; what follows up to the next such line is its text, comments included.
"""

import re
from functools import cache
from importlib.resources import files

from msgspec import Struct

_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_NAME = re.compile(r"^-- ([a-z_]+) --\n", re.MULTILINE)


class Schemas(Struct, frozen=True):
    """The names of both schemas; lower-case letters, digits and `_` only, so that they need no quotes anywhere."""

    read: str = "read"
    work: str = "work"

    def __post_init__(self) -> None:
        for name in (self.read, self.work):
            if not _IDENTIFIER.fullmatch(name):
                raise ValueError(f"{name!r} is not a schema name: lower-case letters, digits and _ only")

    def fill(self, text: str) -> str:
        """Return SQL with the schemas in place."""
        return text.replace("{read}", self.read).replace("{work}", self.work)


@cache
def queries(file: str, schemas: Schemas = Schemas()) -> dict[str, str]:  # noqa: B008 - frozen
    """Return the queries of `queries/{file}.sql` by name."""
    text = files(__package__).joinpath("queries", f"{file}.sql").read_text()
    parts = _NAME.split(schemas.fill(text))
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
