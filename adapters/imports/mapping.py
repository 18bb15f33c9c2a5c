"""Which field of a lead does each column of a file become? What was typed, else the field of that name, else a token.

An exported list can be taken as it is: what leadclock gives itself (ids, counters, instants) is left out. Columns that the
map of a schedule or source reads, and posts of vendors, go on as they are: they are read as over HTTP.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from adapters.imports.rows import ImportFileError
from engine.account.did_you_mean import did_you_mean
from engine.submission.columns import RESERVED
from engine.submission.consents import CONSENT
from engine.submission.fields import is_blank
from engine.submission.near_names import field_of
from engine.submission.normalise import NAMED_FIELDS
from engine.views.lead_columns import LEAD_COLUMNS

Use = Literal["typed", "field", "token", "map", "left out"]

LEFT_OUT = "-"
"""Typed instead of a field: `--map notes=-`."""

DATA = "data"
DATA_PREFIX = "data."
NEVER = frozenset({"auth_token", "lead_token", "lead_import_id"})
"""Credentials: the token that leads go to is typed once, and no key stands in a file. And the import, which is this one."""

EXPORTED = frozenset({"id", "uuid", "created_at"})
"""A file with all of these columns is an export of leads."""

NOT_FROM_EXPORTS = frozenset({"next_action_at", "blocked", "traffic_source_id", "contact_field_type"})
"""Fields of an exported lead that say where it stood there, not what was submitted."""

REACHED_BY = ("caller_id", "email")

NO_VALUES = frozenset({"NULL", "null", "\\N", "N/A", "n/a", "#N/A", "-"})
"""What databases and spreadsheets write into a cell that has no value; a person may be called Null."""


class ColumnUse(Struct, frozen=True):
    """One column: the field or token that it becomes, and why; `field` None where it is left out."""

    column: str
    field: str | None
    use: Use


class FileMapping:
    """The use of every column of one file; NDJSON may have further ones in any line.

    `read_by_map` are the columns that a lead map reads; with `holds_posts` every row is the body of a post. `stated` is the
    consent that the import states once, for each lead of the file that states none of its own.
    """

    def __init__(
        self,
        columns: Sequence[str],
        typed: Mapping[str, str],
        stated: Mapping[str, str] | None = None,
        *,
        read_by_map: frozenset[str] = frozenset(),
        holds_posts: bool = False,
    ) -> None:
        self._typed = typed
        self._stated = stated_fields(stated)
        self._read_by_map = read_by_map
        self._holds_posts = holds_posts
        self._is_export = set(columns) >= EXPORTED
        self._uses: dict[str, ColumnUse] = {}
        _refuse_unknown(columns, typed)
        self.uses = [self.use_of(column) for column in columns]
        _refuse_double(self.uses)
        if not (holds_posts or read_by_map) and not {_meant(use) for use in self.uses} & {*REACHED_BY, DATA}:
            named = ", ".join(repr(column) for column in columns)
            raise ImportFileError(
                f"no column is a telephone number or an e-mail address: type --map COLUMN=caller_id or "
                f"--map COLUMN=email; the columns are {named}"
            )

    def use_of(self, column: str) -> ColumnUse:
        """Return what a column becomes."""
        found = self._uses.get(column)
        if found is None:
            found = self._uses[column] = self._use(column)
        return found

    def _use(self, column: str) -> ColumnUse:
        typed = self._typed.get(column)
        if typed is not None:
            return ColumnUse(column, None if typed == LEFT_OUT else typed, "left out" if typed == LEFT_OUT else "typed")
        if column in self._read_by_map or (self._holds_posts and column not in NEVER):
            return ColumnUse(column, column, "map")
        name = column.casefold().replace(" ", "_").replace("-", "_")
        if not column or name in NEVER or (self._is_export and name in NOT_FROM_EXPORTS):
            return ColumnUse(column, None, "left out")
        if name in NAMED_FIELDS:
            return ColumnUse(column, name, "field")
        if name in RESERVED or (self._is_export and name in LEAD_COLUMNS):
            return ColumnUse(column, None, "left out")
        # A template names it: {{first_name}} for the column "First Name".
        return ColumnUse(column, name if " " in column or "-" in column else column, "token")

    def submission(self, cells: Mapping[str, Any], lead_token: str) -> dict[str, Any]:
        """Return the submission of a row; blank cells are left out. Raises `ValueError` where `data` is no object."""
        found: dict[str, Any] = {"lead_token": lead_token}
        if self._holds_posts:
            found["auto_format_nested_fields"] = True
        tokens: dict[str, Any] = {}
        for column, value in cells.items():
            use = self.use_of(column)
            if use.field is None or is_blank(value) or (isinstance(value, str) and value.strip() in NO_VALUES):
                continue
            if use.use == "map":
                found[use.field] = value
            elif use.field == DATA:
                tokens = _object(value) | tokens
            elif use.use == "token" or use.field.startswith(DATA_PREFIX):
                tokens[use.field.removeprefix(DATA_PREFIX)] = value
            else:
                found[use.field] = value
        if self._is_export and "name" in found and found["name"] in [found.get(one) for one in ("full_name", *REACHED_BY)]:
            del found["name"]  # an export shows a name for leads that have none
        if self._stated and CONSENT not in found and CONSENT not in tokens:
            found[CONSENT] = self._stated
        return {**found, DATA: tokens} if tokens else found


def stated_fields(stated: Mapping[str, str] | None) -> list[dict[str, str]]:
    """Return the consent that an import states, as a lead does; none where it states nothing."""
    said = {name: value for name, value in (stated or {}).items() if value}
    return [{"kind": "form of the import", **said}] if said else []


def _meant(use: ColumnUse) -> str | None:
    """Return the field that a column fills: one that becomes a token may be taken for a field by its name."""
    if use.use != "token" or use.field is None:
        return use.field
    return field_of(use.field) or use.field


def read_typed(pairs: Iterable[str]) -> dict[str, str]:
    """Return the uses that were typed as `COLUMN=FIELD`. Raises `ImportFileError`."""
    found: dict[str, str] = {}
    for pair in pairs:
        column, separator, field = pair.rpartition("=")
        column, field = column.strip(), field.strip()
        if not separator or not column or not field:
            raise ImportFileError(f"--map {pair} must be COLUMN=FIELD, such as --map phone=caller_id")
        if column in found:
            raise ImportFileError(f"--map names the column {column} twice")
        if field in NEVER or (field != LEFT_OUT and field in RESERVED and field not in NAMED_FIELDS):
            raise ImportFileError(f"--map {pair}: leads get their {field} from leadclock; choose another field")
        found[column] = field if field == LEFT_OUT or field in NAMED_FIELDS else _token(field)
    return found


def _token(field: str) -> str:
    return field if field.startswith(DATA_PREFIX) else f"{DATA_PREFIX}{field}"


def _refuse_unknown(columns: Sequence[str], typed: Mapping[str, str]) -> None:
    for column in typed:
        if column not in columns:
            raise ImportFileError(
                f"--map names the column {column}, which the file does not have{did_you_mean(column, columns)}; "
                f"the columns are {', '.join(repr(one) for one in columns)}"
            )


def _refuse_double(uses: Iterable[ColumnUse]) -> None:
    """Refuse two columns that become one field: one would overwrite the other."""
    first: dict[str, str] = {}
    for use in uses:
        if use.field is None or use.field == DATA:
            continue
        other = first.setdefault(use.field.removeprefix(DATA_PREFIX), use.column)
        if other != use.column:
            raise ImportFileError(
                f"the columns {other!r} and {use.column!r} both become {use.field}: type --map '{use.column}=-' "
                "to leave one out"
            )


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    try:
        return msgspec.json.decode(value, type=dict[str, Any])
    except (msgspec.DecodeError, TypeError) as error:
        raise ValueError("data must be a JSON object") from error
