"""Is a user one person of a company, known by a hash, and does the last superuser stay?"""

from typing import Any

import pytest

from engine.account.users import SUPERUSER_TEAMS_MAX
from engine.rules import Rules
from schemas.records import User
from tests.engine.account.conftest import AccountWorld

HASH = "$argon2id$v=19$m=65536,t=3,p=4$YkeYLqRsc+5GLMjti5BEmA$5y72BLOO6DqcBAgJXZ0jlR8eYXwk7aAL+ECac4icpfo"
ADA, GRACE = "ada@example.com", "grace@example.com"


def _user(account: AccountWorld, email: str, **fields: Any) -> int:
    return account.create("user", name=email, email=email, **{"state": "active", "password_hash": HASH, **fields})


def _superusers(account: AccountWorld, *emails: str) -> int:
    return account.create("access_control_list", name="Owners", users_emails=list(emails), superuser=True)


def test_an_address_is_of_one_user_of_a_company_whatever_its_case(account: AccountWorld) -> None:
    ada = account.create("user", name="Ada", email="Ada@Example.com")
    assert account.body("user", ada) == User(name="Ada", email=ADA)
    again = account.change("create", "user", name="Ada", email=ADA)
    assert (again.code, list(again.errors)) == ("duplicate_value", ["email"])
    account.create("company", company_id=2, name="Shady")
    account.create("user", company_id=2, name="Ada", email=ADA)
    account.delete("user", ada)
    account.create("user", name="Ada", email=ADA)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"email": "ada"}, "email"),
        ({"state": "asleep"}, "state"),
        ({"state": "active"}, "state"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"password_hash": "correct horse battery staple"}, "password_hash"),
        ({"password_hash": HASH.replace("m=65536", "m=999999999")}, "password_hash"),
        ({"password_hash": HASH.replace("argon2id", "argon2i")}, "password_hash"),
        ({"second_factor_salt": "short"}, "second_factor_salt"),
        ({"password": "correct horse battery staple"}, "password"),
    ],
)
def test_what_is_no_user_is_refused_by_the_name_of_its_field(account: AccountWorld, fields: Any, field: str) -> None:
    answer = account.change("create", "user", **{"name": "Ada", "email": ADA, **fields})
    assert (answer.code, list(answer.errors)) == ("validation_failed", [field])


def test_every_way_to_lose_the_last_superuser_is_refused(account: AccountWorld) -> None:
    ada, team = _user(account, ADA), _superusers(account, ADA)
    refused = [
        account.delete("user", ada),
        account.update("user", ada, state="disabled"),
        account.update("user", ada, state="invited"),
        account.update("user", ada, email=GRACE),
        account.delete("access_control_list", team),
        account.update("access_control_list", team, superuser=False),
        account.update("access_control_list", team, users_emails=[]),
        account.update("access_control_list", team, users_emails=[GRACE]),
    ]
    assert [(answer.code, answer.status) for answer in refused] == [("last_superuser", 409)] * len(refused)
    assert account.update("user", ada, name="Ada L.").status == 200
    assert account.update("access_control_list", team, name="Owners 2", users_emails=[ADA, GRACE]).status == 200


def test_a_superuser_beside_whom_there_is_another_may_go(account: AccountWorld) -> None:
    ada, grace = _user(account, ADA), _user(account, GRACE)
    first = _superusers(account, ADA)
    _superusers(account, GRACE)
    assert account.update("user", ada, state="disabled").status == 200
    assert account.delete("access_control_list", first).status == 200
    assert account.delete("user", grace).code == "last_superuser"
    assert account.update("user", ada, state="active").status == 200
    assert account.delete("user", grace).code == "last_superuser", "ada is in no team of superusers any more"


def test_superusers_who_cannot_sign_in_do_not_count(account: AccountWorld) -> None:
    ada = _user(account, ADA)
    _user(account, GRACE, state="invited", password_hash=None)
    _superusers(account, ADA, GRACE)
    assert account.delete("user", ada).code == "last_superuser"


def test_a_company_without_users_changes_its_teams_as_it_likes(account: AccountWorld) -> None:
    team = _superusers(account, ADA)
    assert account.update("access_control_list", team, users_emails=[]).status == 200
    assert account.delete("access_control_list", team).status == 200


def test_superusers_of_another_company_save_no_one(account: AccountWorld) -> None:
    ada = _user(account, ADA)
    _superusers(account, ADA)
    account.create("company", company_id=2, name="Shady")
    account.create("user", company_id=2, name="G", email=GRACE, state="active", password_hash=HASH)
    account.create("access_control_list", company_id=2, name="Owners", users_emails=[GRACE], superuser=True)
    assert account.delete("user", ada).code == "last_superuser"


def test_teams_of_superusers_are_bounded(account: AccountWorld) -> None:
    teams = [_superusers(account, ADA) for _ in range(SUPERUSER_TEAMS_MAX)]
    more = account.change("create", "access_control_list", name="One more", superuser=True)
    assert (more.code, list(more.errors)) == ("validation_failed", ["superuser"])
    account.delete("access_control_list", teams[0])
    _superusers(account, ADA)


def test_a_person_is_shut_out_while_disabled_deleted_or_under_another_address(account: AccountWorld) -> None:
    rules, ada = Rules(), _user(account, ADA)

    def adopt() -> None:
        rules.apply(0, account.record("user", ada))

    adopt()
    assert not rules.is_shut_out(1, ADA)
    for fields, shut_out in (
        ({"state": "disabled"}, True),
        ({"state": "active"}, False),
        ({"email": GRACE}, True),
        ({"email": ADA}, False),
    ):
        account.update("user", ada, **fields)
        adopt()
        assert rules.is_shut_out(1, ADA) is shut_out, fields
        assert not rules.is_shut_out(2, ADA)
    account.delete("user", ada)
    adopt()
    assert rules.is_shut_out(1, ADA)
