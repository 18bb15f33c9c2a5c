"""Which values does a field not take? For each type what is none of it, and what is out of its range."""

from collections.abc import Iterator, Mapping
from typing import Any

from adapters.http.document.openapi import parameter_schema
from adapters.http.exchange.exchange import Operation
from adapters.http.schema.shapes import components

NUL = "a\x00b"
LONG = "x" * 5_000

NOT_DEEP: dict[str, Any] = {"a": 1}
for _ in range(10):  # a body may be so deep, a token may not
    NOT_DEEP = {"a": NOT_DEEP}

BAD: Mapping[str, tuple[Any, ...]] = {
    "BooleanInput": ("perhaps", "2", "truee", 2, 1.5, [True], {"a": 1}),
    "MomentInput": ("noon", "2026-02-30 00:00:00 +0000", "2026-03-07 21:30:00", LONG, 1_772_919_000, {"a": 1}),
    "LocalMomentInput": ("noon", "2026-02-30 00:00:00 +0000", "2026-13-01", LONG),
    "DecimalInput": ("high", "1e400", "nan", True, [1], {"a": 1}),
    "AmountInput": ("high", "0.00001", 0.00001, "1000000000.5", "1e400", "nan", True, [1], {"a": 1}),
    "MoneyInput": ("high", "-0.01", "0.00001", "1e400", "nan", True, [1]),
    "CapInput": ("high", "-0.01", "0.00001", "nan", True, [1]),
    "IdInput": ("-4", "0", "seven", "99999999999999999999", 1.5, True, [1], {"a": 1}),
    "ReferenceInput": ("-4", "0", "seven", "9" * 30, 1.5, True, {"a": 1}),
    "IdsInput": ("a,b", "-4", [0], ["seven"], [[1]], {"a": 1}),
    "CountryInput": ("Atlantis", "U", "XX"),
    "WordsInput": ("shoe_size", LONG),
    "PhoneInput": ("12", "nobody"),
    "EmailInput": ("nobody", LONG),
    "ZoneInput": ("Mars/Olympus",),
    "AddressInput": ("nowhere", "300.0.0.1", "192.0.2.1/24", {"a": 1}),
    "TokensInput": ("flat", "[1]", {"a": NOT_DEEP}, {"a": "x" * 5_000}, {f"t{place}": 1 for place in range(201)}),
    "TextInput": (LONG,),
    "boolean": ("perhaps",),
    "integer": ("many", "1.5", "99999999999999999999", True, [1], {"a": 1}),
    "number": ("high",),
    "string": ({"a": 1},),
    "array": ({"a": 1},),
    "object": ("flat",),
    "enum": ("none_of_these",),
}
"""Type -> what is none of it."""


COMPONENTS = components()


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a reference means."""
    reference = schema.get("$ref", "").removeprefix("#/components/schemas/")
    found: Any = COMPONENTS if reference else schema
    for step in reference.split("/") if reference else ():
        found = found[step]
    return found  # type: ignore[no-any-return]


def bad_values(operation: Operation, name: str) -> Iterator[Any]:
    """Yield what a field of an operation does not take: what is none of its type, and what is out of its range."""
    schema: Mapping[str, Any] = parameter_schema(operation, name)
    reference = schema.get("$ref", "").removeprefix("#/components/schemas/")
    if not reference and "$ref" in schema.get("anyOf", [{}])[0]:  # of a field that may be null
        schema = schema["anyOf"][0]
        reference = schema["$ref"].removeprefix("#/components/schemas/")
    if reference in BAD:
        yield from BAD[reference]
        return
    schema = resolved(schema)
    if "anyOf" in schema:
        schema = resolved(schema["anyOf"][0])
    yield from BAD["enum"] if "enum" in schema else BAD.get(str(schema.get("type")), ())
    if "minimum" in schema and "maximum" in schema:
        yield from (str(schema["minimum"] - 1), str(schema["maximum"] + 1))
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
