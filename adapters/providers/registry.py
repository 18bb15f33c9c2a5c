"""Which providers are installed? Those that entry points of the group `leadclock.providers` name.

A package adds one by an entry point whose name is the provider's and whose value is an object as `Provider` asks. It is
loaded where it is used; one that cannot be loaded does not stop the others.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from adapters.providers.ports import Provider, ResumeKind
from engine.account.did_you_mean import did_you_mean
from schemas.errors import SenderError
from schemas.records import ProviderChannel

GROUP = "leadclock.providers"

CHANNELS: frozenset[str] = frozenset(get_args(ProviderChannel))

Faults = dict[str, list[str]]


class UnknownProviderError(SenderError):
    """No provider of this name is installed, or it cannot be used; the text says why."""


class Unusable(Struct, frozen=True):
    """An entry point that names no provider, and why."""

    name: str
    reason: str


@cache
def installed() -> Mapping[str, Provider | Unusable]:
    """Return the installed providers by name, in the order of their names."""
    found = {point.name: point for point in entry_points(group=GROUP)}
    return {name: loaded(name, found[name].load) for name in sorted(found)}


def loaded(name: str, load: Any) -> Provider | Unusable:
    """Return what an entry point names, or why it cannot be used."""
    try:
        provider = load()
    except Exception as error:  # noqa: BLE001 - another package's code: whatever it raises, the others go on
        return Unusable(name, f"cannot be loaded: {type(error).__name__}: {error}")
    fault = fault_of(name, provider)
    return provider if fault is None else Unusable(name, fault)


def fault_of(name: str, provider: Any) -> str | None:
    """Return what is wrong with an object that an entry point names."""
    if getattr(provider, "name", None) != name:
        return f"its `name` must be {name}, as that of its entry point"
    channels: Any = getattr(provider, "channels", ())
    if not channels or not set(channels) <= CHANNELS:
        return f"its `channels` must be some of {', '.join(sorted(CHANNELS))}"
    settings = getattr(provider, "settings", None)
    if not (
        isinstance(settings, type) and issubclass(settings, Struct) and settings.__struct_config__.forbid_unknown_fields
    ):
        return "its `settings` must be a msgspec Struct with forbid_unknown_fields"
    if getattr(provider, "resume", None) not in get_args(ResumeKind):
        return f"its `resume` must be one of {', '.join(get_args(ResumeKind))}"
    if "call" in channels and not isinstance(getattr(provider, "presses_keys", None), bool):
        return "its `presses_keys` must be true or false: whether keys can be pressed on a call in progress"
    return None


def find_provider(name: str) -> Provider:
    """Return an installed provider. Raises `UnknownProviderError`."""
    found = installed().get(name)
    if found is None:
        known = ", ".join(installed())
        raise UnknownProviderError(f"is not installed{did_you_mean(name, installed())}; the providers are {known or 'none'}")
    if isinstance(found, Unusable):
        raise UnknownProviderError(f"{name} {found.reason}")
    return found


def read_settings(provider: Provider, settings: Mapping[str, Any]) -> Struct:
    """Return settings as the struct of a provider. Raises `msgspec.ValidationError`."""
    return msgspec.convert(dict(settings), provider.settings, strict=False)


def settings_faults(provider: Provider, settings: Mapping[str, Any]) -> Faults:
    """Return what is wrong with each setting, by field: `settings.account_sid`."""
    known = {field.encode_name: field for field in fields(provider.settings)}
    faults: Faults = {}
    for name in settings.keys() - known.keys():
        listed = ", ".join(known) or "none"
        faults[f"settings.{name}"] = [f"is no setting of {provider.name}{did_you_mean(name, known)}; those are {listed}"]
    for name, field in known.items():
        if name not in settings:
            if field.required:
                faults[f"settings.{name}"] = [f"must be given for {provider.name}"]
            continue
        try:
            msgspec.convert(settings[name], field.type, strict=False)
        except msgspec.ValidationError as error:
            faults[f"settings.{name}"] = [_sentence(str(error))]
    return faults or _faults_together(provider, settings)


def _faults_together(provider: Provider, settings: Mapping[str, Any]) -> Faults:
    try:
        read_settings(provider, settings)
    except msgspec.ValidationError as error:
        return {"settings": [_sentence(str(error))]}
    return {}


def _sentence(text: str) -> str:
    """Return what msgspec says, as the rest of a sentence that begins with the field."""
    return f"is refused: {text[:1].lower()}{text[1:]}"


def secret_faults(provider: Provider, names: Sequence[str]) -> Faults:
    """Return which given secrets a provider does not have."""
    listed = ", ".join(provider.secrets) or "none"
    return {
        f"secrets.{name}": [f"is no secret of {provider.name}{did_you_mean(name, provider.secrets)}; those are {listed}"]
        for name in names
        if name not in provider.secrets
    }
