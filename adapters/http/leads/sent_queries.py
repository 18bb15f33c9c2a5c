"""How is a query of the list of leads read where it is sent as an object? A bulk job's filter and a saved view are one.

Its faults are faults of the one field that holds it, so each sentence names the parameter.
"""

from collections.abc import Collection, Mapping
from typing import Any

from adapters.http.exchange.parameters import Parameters
from engine.account.did_you_mean import did_you_mean
from engine.submission.fields import FieldError
from engine.submission.reading import json_object

NAME_LENGTH_SHOWN = 100
"""Characters of an unknown name that a refusal repeats."""


def read_query(value: Any) -> Mapping[str, Any] | None:
    """Return a query as it was sent, which a form may send as JSON; None if it is no object."""
    if isinstance(value, str):
        try:
            value = json_object(value)
        except FieldError:
            return None
    return value if isinstance(value, Mapping) else None


def select_known(parameters: Parameters, field: str, given: Mapping[str, Any], known: Collection[str]) -> Parameters:
    """Return the known parameters of a query, to be read; the others are faults of the field that holds it."""
    for name in given.keys() - set(known):
        hint = did_you_mean(name, known)
        parameters.refuse(field, f"has {str(name)[:NAME_LENGTH_SHOWN]}, by which leads are not listed{hint}")
    return Parameters({name: value for name, value in given.items() if name in known})


def add_faults(parameters: Parameters, field: str, faults: Mapping[str, Collection[str]]) -> None:
    """Add the faults of a query's parameters to those of the field that holds it."""
    for name, sentences in faults.items():
        for sentence in sentences:
            parameters.refuse(field, f"has {name}, which {sentence}")
