"""Whose is a number of a carrier's account that several companies share? That of the company that has entered it first.

The carrier puts calls and texts to a number through to one of them. Who knows the same secret of the same provider has the
same account; what a company merely claims about an account keeps no number from another one.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from adapters.http.exchange.exchange import Exchange
from adapters.http.exchange.problems import ProblemError
from adapters.providers.sealing import UnreadableSecretError, unseal
from engine.submission.numbers import read_number
from schemas.records import Company, Number, ProviderConfiguration

Account = tuple[str, str]
"""A provider, and the digest of one of its secrets."""


def refuse_number_of_another(exchange: Exchange, fields: Mapping[str, Any]) -> None:
    """Raise `ProblemError` where another company with the same account of a carrier has the number."""
    number = _number(exchange, fields.get("number"))
    rules, own_id = exchange.services.source.rules, exchange.company_id
    if number is None:
        return
    owners = {
        record.company_id
        for record in rules.of_type("number")
        if record.company_id != own_id and getattr(rules.body(Number, "number", record.id), "number", None) == number
    }
    own = _accounts(exchange, own_id) if owners else set()
    if any(own & _accounts(exchange, owner_id) for owner_id in owners):
        sentence = "belongs to another company that uses the same account of the carrier; delete it there first"
        raise ProblemError("validation_failed", "Correct number and resend.", {"number": [sentence]})


def _number(exchange: Exchange, value: Any) -> str | None:
    company = exchange.services.source.rules.body(Company, "company", exchange.company_id)
    found = read_number(value, Company.country if company is None else company.country) if isinstance(value, str) else None
    return None if found is None else found.e164  # the account refuses what is none


def _accounts(exchange: Exchange, company_id: int) -> set[Account]:
    rules, key = exchange.services.source.rules, exchange.services.settings.secret_key
    found: set[Account] = set()
    for record in rules.records("provider_configuration", company_id):
        body = rules.body(ProviderConfiguration, "provider_configuration", record.id)
        if body is None:
            continue
        for name, sealed in body.sealed_secrets.items():
            try:
                text = unseal(key, sealed, company_id=company_id, provider=body.provider, name=name)
            except UnreadableSecretError:
                continue
            found.add((body.provider, sha256(text.encode()).hexdigest()))
    return found
