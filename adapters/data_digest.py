"""Which development version wrote the data? Topics, databases and the folders of `leadclock up` hold a digest that says so.

Nothing is released, so no version reads the data of another one: decision rules keep version 1, and the baseline migrations
are edited in place. Where the digest is another one, or missing, a process refuses before it decodes anything, and names
what to give instead. A version that is added to the table of decision rules leaves the digest as it is: its code decides
the data of the former version too. Once 0.1.0 is released, versions and migrations take the place of the digest.
"""

from functools import cache
from hashlib import sha256
from importlib.resources import files

from adapters.settings import PREFIX
from engine.rules_digest import RECORDED_HISTORY_SHA256
from schemas.errors import DependencyError

SHOWN = 12
"""Digits of a digest in a sentence: nobody meets two versions that agree in them."""


class OtherDataError(DependencyError):
    """Data of another development version; `str(error)` names it and what to give instead."""

    def __init__(self, holder: str, found: str | None, remedy: str) -> None:
        theirs = "no digest" if found is None else f"digest {found[:SHOWN]}"
        super().__init__(
            f"{holder} data of another development version of leadclock ({theirs}, this one has {data_digest()[:SHOWN]}). "
            f"No version reads the data of another one before 0.1.0 is released: {remedy}"
        )


@cache
def data_digest() -> str:
    """Return the digest of this version: of what its decision rules recorded, and of the text of its migrations."""
    parts = [RECORDED_HISTORY_SHA256]
    for schema in ("read", "work"):
        # By the folder, not the module that reads it: a scheduler starts without the database's modules.
        folder = files("adapters").joinpath("postgres", "migrations", schema)
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            parts += [schema, file.name, file.read_text()]
    return sha256("\0".join(parts).encode()).hexdigest()


def refuse_topics(topics: str, found: str | None) -> OtherDataError:
    """Return the error for the topics of another version; `topics` names them."""
    return OtherDataError(
        f"{topics} hold",
        found,
        f"stop the processes that use them, then give another {PREFIX}TOPIC_PREFIX and run `leadclock topics create`",
    )


def refuse_schemas(database: str, schemas: list[str], found: str | None) -> OtherDataError:
    """Return the error for schemas of a database that another version made."""
    named = ", ".join(schemas)
    return OtherDataError(
        f"in the database {database}, {named} hold{'s' if len(schemas) == 1 else ''}",
        found,
        f"stop the processes that use it, then give another {PREFIX}POSTGRES_DSN, or type DROP SCHEMA {named} CASCADE in "
        "psql, and run `leadclock db migrate`",
    )


def refuse_folder(folder: str, found: str | None) -> OtherDataError:
    """Return the error for a folder of `leadclock up` that another version filled."""
    return OtherDataError(
        f"the folder {folder} holds", found, "move it away, or give another one with --data-dir, and run `leadclock up`"
    )
