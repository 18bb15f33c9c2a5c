"""Which recorded bytes must be read for ever? One whole sample of each struct under `golden/`, and the smallest of each.

`python -m tests.schemas.corpus` writes what is missing: a file for each struct with fields that no file shows (`NAME.json`,
then `NAME.2.json` and so on), and a line of `smallest.json` for each struct that has none. Run it after adding a field, and
commit what it wrote. Until 0.1.0 is tagged nobody has older bytes: delete file and line of a struct that changed first. From
the tag on, both are only added.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin
from zlib import crc32

import msgspec
from msgspec import NODEFAULT, UNSET, Struct, UnsetType
from msgspec.structs import FieldInfo
from msgspec.structs import fields as fields_of

from schemas.documents import families
from schemas.state import ENTITIES
from schemas.wire import from_json, to_json, to_pack

GOLDEN = Path(__file__).parent / "golden"
SMALLEST = Path(__file__).parent / "smallest.json"
"""By struct, a line each."""

DESCRIBED_ONLY = "inbox"
"""The family whose struct only describes what others write."""


def kinds() -> dict[str, type[Struct]]:
    """Return every struct that is written, by `family.name`."""
    return {
        f"{family}.{name}": kind
        for family, kinds_of in families().items()
        if family != DESCRIBED_ONLY
        for name, kind in kinds_of.items()
    }


def files_of(name: str) -> list[Path]:
    """Return the files of a struct, oldest first."""
    further = sorted(GOLDEN.glob(f"{name}.[0-9]*.json"), key=lambda path: int(path.suffixes[-2][1:]))
    return [path for path in (GOLDEN / f"{name}.json", *further) if path.exists()]


def name_of(path: Path) -> str:
    """Return of which struct a file is."""
    name, _, number = path.stem.rpartition(".")
    return name if number.isdigit() else path.stem


def smallest(kind: type[Struct]) -> Struct:
    """Return an instance of the fields that have no default."""
    return kind(**{field.name: _value(field) for field in fields_of(kind) if field.required})


def kept_smallest() -> dict[str, bytes]:
    """Return the kept bytes of the smallest form of each struct."""
    if not SMALLEST.exists():
        return {}
    return {
        name: bytes(value) for name, value in msgspec.json.decode(SMALLEST.read_bytes(), type=dict[str, msgspec.Raw]).items()
    }


def sample(kind: type[Struct]) -> Struct:
    """Return an instance in which every field, however deep, differs from its default."""
    return kind(**{field.name: _value(field) for field in fields_of(kind)})


def missing(name: str, kind: type[Struct]) -> set[str]:
    """Return the places of fields that a sample has and no file shows."""
    shown: set[str] = set()
    for path in files_of(name):
        shown |= set(_places(msgspec.json.decode(path.read_bytes())))
    return set(_places(msgspec.json.decode(to_json(sample(kind))))) - shown


def _value(field: FieldInfo) -> Any:
    default = NODEFAULT if field.default is UNSET else field.default
    for salt in range(5):
        value = _of_type(field.type, f"{field.name}{salt or ''}")
        if value != default:
            return value
    raise AssertionError(f"{field.name} has no value but its default")


def _of_type(kind: Any, name: str) -> Any:  # noqa: PLR0911 - one line per shape of a type
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        return _of_type(next(part for part in arguments if part not in {NoneType, UnsetType}), name)
    if origin is Literal:
        return arguments[crc32(name.encode()) % len(arguments)]
    if origin is tuple:
        return tuple(_of_type(part, name) for part in _members(arguments[0]))
    if origin is list:
        return [_of_type(arguments[0], name)]
    if origin is dict:
        key = _of_type(arguments[0], f"{name}_key")
        return {key: _of_type(arguments[1], name)}
    if isinstance(kind, type) and issubclass(kind, Struct):
        return sample(kind)
    return _plain(kind, name)


def _members(kind: Any) -> tuple[Any, ...]:
    """Return what a list must hold to show every struct that may stand in it."""
    return get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)


def _plain(kind: Any, name: str) -> Any:
    number = crc32(name.encode()) % 1000 + 2
    plain: dict[Any, Any] = {
        int: number,
        float: number + 0.5,
        Decimal: Decimal(f"{number}.5"),
        bool: not name[-1].isdigit(),
        str: name,
        bytes: name.encode(),
        msgspec.Raw: msgspec.Raw(b'{"%s":1}' % name.encode()),
        date: date(2026, 1, 1) + timedelta(days=number),
        Any: {name: [1, 2.5, "x", True, None]},
    }
    return plain[kind]


def _places(value: Any, place: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield f"{place}.{name}"
            yield from _places(part, f"{place}.{name}")
    elif isinstance(value, list):
        kind = ""
        for number, part in enumerate(value):
            # Structs of one union differ by their kind, those of an array-like struct by their position.
            kind = f"[{part['kind']}]" if isinstance(part, dict) and "kind" in part else f"[{number}]"
            yield place + kind
            yield from _places(part, place + kind)


def add() -> list[Path]:
    """Write a file for each struct with fields that no file shows, and return the files."""
    written = []
    for name, kind in kinds().items():
        if missing(name, kind):
            number = len(files_of(name)) + 1
            path = GOLDEN / (f"{name}.json" if number == 1 else f"{name}.{number}.json")
            path.write_bytes(to_json(sample(kind)))
            written.append(path)
    return written + _add_packed() + _add_smallest()


def packed_of(path: Path) -> Path:
    """Return the file that holds the same value of state as it stands in memory and in the changelog."""
    return path.with_suffix(".msgpack")


def _add_packed() -> list[Path]:
    written = []
    for name, kind in ENTITIES.items():
        for path in files_of(f"state.{name}"):
            if not packed_of(path).exists():
                packed_of(path).write_bytes(to_pack(from_json(path.read_bytes(), kind)))
                written.append(packed_of(path))
    return written


def _add_smallest() -> list[Path]:
    kept = kept_smallest()
    missing_ones = {name: to_json(smallest(kind)) for name, kind in kinds().items() if name not in kept}
    if not missing_ones:
        return []
    lines = [b'"%b":%b' % (name.encode(), value) for name, value in sorted({**kept, **missing_ones}.items())]
    SMALLEST.write_bytes(b"{\n" + b",\n".join(lines) + b"\n}\n")
    return [SMALLEST]


if __name__ == "__main__":
    for added in add():
        print(f"added {added.relative_to(Path.cwd())}")  # noqa: T201 - a command says what it did
