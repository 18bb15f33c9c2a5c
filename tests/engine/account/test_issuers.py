"""Does a company name its issuer whole, and does no other issuer get the secret of the one before?"""

from typing import Any

import pytest

from schemas.records import Company
from tests.engine.account.conftest import AccountWorld

ISSUER = "https://id.example.com/realms/acme"
WHOLE: dict[str, Any] = {
    "sign_in_issuer": ISSUER,
    "sign_in_client_id": "leadclock",
    "sealed_sign_in_secret": "v1.sealed",
    "sign_in_name": "Acme ID",
    "sign_in_email_domain": "Example.com",
    "sign_in_required": True,
}


def _company(account: AccountWorld) -> Company:
    body = account.body("company", 1)
    assert isinstance(body, Company)
    return body


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"sign_in_issuer": "http://id.example.com"}, "sign_in_issuer"),
        ({"sign_in_issuer": "https://id.example.com/?a=1"}, "sign_in_issuer"),
        ({"sign_in_issuer": "https://id.example.com/#x"}, "sign_in_issuer"),
        ({"sign_in_issuer": "https://ada:secret@id.example.com"}, "sign_in_issuer"),
        ({"sign_in_issuer": f"https://id.example.com/{'x' * 240}"}, "sign_in_issuer"),
        ({"sign_in_client_id": None}, "sign_in_client_id"),
        ({"sign_in_client_id": "lead\nclock"}, "sign_in_client_id"),
        ({"sign_in_name": "x" * 61}, "sign_in_name"),
        ({"sign_in_email_domain": "localhost"}, "sign_in_email_domain"),
        ({"sign_in_email_domain": "ada@example.com"}, "sign_in_email_domain"),
        ({"sign_in_required": "perhaps"}, "sign_in_required"),
        *(({"sign_in_issuer": None, name: value}, name) for name, value in WHOLE.items() if name != "sign_in_issuer"),
    ],
)
def test_what_is_no_issuer_is_refused_by_the_name_of_its_field(account: AccountWorld, fields: Any, field: str) -> None:
    has_issuer = fields.get("sign_in_issuer", ISSUER) is not None
    answer = account.update("company", 1, **{**(WHOLE if has_issuer else {}), **fields})
    assert (answer.code, list(answer.errors)) == ("validation_failed", [field])


def test_an_issuer_that_is_taken_away_takes_its_fields_with_it(account: AccountWorld) -> None:
    assert account.update("company", 1, **WHOLE).status == 200
    assert _company(account).sign_in_email_domain == "example.com"
    assert account.update("company", 1, name="Acme 2").status == 200
    assert _company(account).sealed_sign_in_secret == "v1.sealed"
    assert account.update("company", 1, sign_in_issuer=None).status == 200
    found = _company(account)
    assert [getattr(found, name) for name in WHOLE] == [None] * 5 + [False]


@pytest.mark.parametrize("fields", [{"sign_in_issuer": "https://evil.example.com"}, {"sign_in_client_id": "another client"}])
def test_another_issuer_or_client_does_not_get_the_secret_of_the_one_before(account: AccountWorld, fields: Any) -> None:
    account.update("company", 1, **WHOLE)
    assert account.update("company", 1, **fields).status == 200
    assert _company(account).sealed_sign_in_secret is None
    account.update("company", 1, **WHOLE)
    assert account.update("company", 1, **fields, sealed_sign_in_secret="v1.another").status == 200
    assert _company(account).sealed_sign_in_secret == "v1.another"
