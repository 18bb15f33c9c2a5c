"""Is a user one person of a company, known by a hash, and does the last superuser stay?"""

from typing import Any

import pytest

from engine.account.users import SUPERUSER_TEAMS_MAX
from engine.rules import Rules
from schemas.records import AgentMessage, BuyerGroup, UnblockContactJob, User
from schemas.requests import AgentStatusChangeRequested, RecordChangeRequested
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


def test_records_name_the_user_who_asked(account: AccountWorld) -> None:
    ada, grace = _user(account, ADA), _user(account, GRACE)

    def change(email: str, operation: Any, record_type: str, record_id: int | None = None, **fields: Any) -> Any:
        request = RecordChangeRequested(company_id=1, type=record_type, operation=operation, id=record_id, fields=fields)
        sealed = account.ask(request, actor=f"key/7;{email};192.0.2.1")
        assert sealed.decision.answer is not None
        assert sealed.decision.verdict == "done", sealed.decision
        return account.body(record_type, sealed.decision.answer.record_id or 0), sealed.decision.answer.record_id

    def paused_by(body: Any) -> tuple[bool, int | None]:
        assert isinstance(body, BuyerGroup)
        return body.paused, body.paused_by_user_id

    message, message_id = change(ADA, "create", "agent_message", content="Hello")
    assert isinstance(message, AgentMessage)
    assert message.user_id == ada
    changed, _ = change(GRACE, "update", "agent_message", message_id, content="Hello again")
    assert changed == AgentMessage(content="Hello again", user_id=ada)  # who wrote it
    job, _ = change(GRACE, "create", "unblock_contact_job", confirm_all=True)
    assert isinstance(job, UnblockContactJob)
    assert job.user_id == grace
    group, group_id = change(ADA, "create", "buyer_group", name="Closers", paused=True)
    assert paused_by(group) == (True, ada)
    assert paused_by(change(GRACE, "update", "buyer_group", group_id, name="Openers")[0]) == (True, ada)
    assert paused_by(change(GRACE, "update", "buyer_group", group_id, paused=False)[0]) == (False, ada)
    assert paused_by(change(GRACE, "update", "buyer_group", group_id, paused=True)[0]) == (True, grace)
    change(ADA, "update", "buyer_group", group_id, paused=False)
    assert paused_by(change("nobody@example.com", "update", "buyer_group", group_id, paused=True)[0]) == (True, None)
    account.create("company", company_id=2, name="Shady")
    other = account.create("agent_message", company_id=2, content="Hello")
    assert account.body("agent_message", other) == AgentMessage(content="Hello")


def test_no_sender_says_which_user_asked(account: AccountWorld) -> None:
    for record_type, fields in (("agent_message", {"content": "Hello"}), ("unblock_contact_job", {"confirm_all": True})):
        answer = account.change("create", record_type, **fields, user_id=7)
        assert (answer.code, list(answer.errors)) == ("validation_failed", ["user_id"])


def test_the_log_of_statuses_names_the_user_who_set_one(account: AccountWorld) -> None:
    ada, agent = _user(account, ADA), account.create("agent", name="Grace")
    status = account.create("agent_status", name="Available", key="available")
    request = AgentStatusChangeRequested(company_id=1, agent_id=agent, agent_status_id=status)
    account.ask(request, actor=f"session;{ADA};192.0.2.1")
    account.ask(AgentStatusChangeRequested(company_id=1, agent_id=agent, agent_status_id=status, agent_widget_id=7))
    facts = [fact.data.get("user_id") for fact in account.facts if fact.type == "agent.status_changed"]
    assert facts == [ada, None]


INVITATION: dict[str, Any] = {"invitation_sha256": "0" * 64, "invitation_expires_at": "2026-03-09T14:00:00Z"}


def _invitation(account: AccountWorld, user_id: int) -> tuple[Any, Any]:
    user = account.body("user", user_id)
    assert isinstance(user, User)
    return user.invitation_sha256, user.invitation_expires_at


@pytest.mark.parametrize(
    "fields", [{"password_hash": HASH, "state": "active"}, {"state": "disabled"}, {"email": "other@example.com"}]
)
def test_an_invitation_is_used_up_by_a_password_and_ends_with_its_user(account: AccountWorld, fields: Any) -> None:
    ada = account.create("user", name="Ada", email=ADA, **INVITATION)
    account.update("user", ada, name="Ada L.", time_zone="UTC")
    assert _invitation(account, ada)[0] == INVITATION["invitation_sha256"]
    account.update("user", ada, **fields)
    assert _invitation(account, ada) == (None, None)


def test_a_further_invitation_replaces_the_one_before(account: AccountWorld) -> None:
    ada = account.create("user", name="Ada", email=ADA, **INVITATION)
    account.update("user", ada, **{**INVITATION, "invitation_sha256": "1" * 64})
    assert _invitation(account, ada)[0] == "1" * 64


def test_the_token_of_an_invitation_has_no_place_in_a_record(account: AccountWorld) -> None:
    answer = account.change("create", "user", name="Ada", email=ADA, invitation_sha256="iv_7.secret")
    assert (answer.code, list(answer.errors)) == ("validation_failed", ["invitation_sha256"])


ISSUER, IDENTITY = "https://id.example.com", "a" * 64
LINKED: dict[str, Any] = {"identity_issuer": ISSUER, "identity_sha256": IDENTITY}


def _issuer(account: AccountWorld, issuer: str | None = ISSUER) -> Any:
    return account.update("company", 1, sign_in_issuer=issuer, **({"sign_in_client_id": "leadclock"} if issuer else {}))


def test_an_identity_uses_up_the_invitation_and_makes_a_user_active_without_a_password(account: AccountWorld) -> None:
    ada = account.create("user", name="Ada", email=ADA, **INVITATION)
    assert account.update("user", ada, state="active", **LINKED).status == 200
    assert _invitation(account, ada) == (None, None)
    refused = account.update("user", ada, identity_issuer=None, identity_sha256=None)
    assert (refused.code, list(refused.errors)) == ("validation_failed", ["state"])


def test_an_identity_is_of_one_user_of_a_company_until_it_is_unlinked(account: AccountWorld) -> None:
    ada, grace = _user(account, ADA, **LINKED), _user(account, GRACE)
    taken = account.update("user", grace, **LINKED)
    assert (taken.code, list(taken.errors)) == ("duplicate_value", ["identity"])
    account.create("company", company_id=2, name="Shady")
    account.create("user", company_id=2, name="Ada", email=ADA, **LINKED)
    assert account.update("user", ada, identity_issuer=None, identity_sha256=None).status == 200
    assert account.update("user", grace, **LINKED).status == 200


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"identity_sha256": IDENTITY}, "identity_issuer"),
        ({"identity_issuer": ISSUER}, "identity_issuer"),
        ({**LINKED, "identity_sha256": "subject 7"}, "identity_sha256"),
        ({**LINKED, "identity_issuer": "http://id.example.com"}, "identity_issuer"),
    ],
)
def test_half_an_identity_is_refused(account: AccountWorld, fields: Any, field: str) -> None:
    answer = account.change("create", "user", name="Ada", email=ADA, **fields)
    assert (answer.code, list(answer.errors)) == ("validation_failed", [field])


def test_the_user_of_an_identity_is_found_while_it_is_linked_and_in_its_company_alone(account: AccountWorld) -> None:
    rules, ada = Rules(), _user(account, ADA, **LINKED)

    def found() -> int | None:
        rules.apply(0, account.record("user", ada))
        user = rules.user_of_identity(1, IDENTITY)
        return None if user is None else user[0].id

    assert found() == ada
    assert rules.user_of_identity(2, IDENTITY) is None
    account.update("user", ada, identity_issuer=None, identity_sha256=None)
    assert found() is None
    account.update("user", ada, **LINKED)
    assert found() == ada
    account.delete("user", ada)
    assert found() is None


def test_a_superuser_without_a_password_counts_while_the_company_has_the_issuer(account: AccountWorld) -> None:
    _issuer(account)
    ada = _user(account, ADA, password_hash=None, **LINKED)
    team = _superusers(account, ADA)
    refused = [
        account.delete("user", ada),
        account.update("user", ada, state="invited", identity_issuer=None, identity_sha256=None),
        account.update("access_control_list", team, users_emails=[]),
        _issuer(account, None),
        _issuer(account, "https://other.example.com"),
    ]
    assert [answer.code for answer in refused] == ["last_superuser"] * len(refused)
    assert account.update("company", 1, name="Acme 2").status == 200
    _user(account, GRACE)
    account.update("access_control_list", team, users_emails=[ADA, GRACE])
    assert _issuer(account, None).status == 200
    assert account.update("user", ada, name="Ada L.").status == 200
    assert account.update("access_control_list", team, users_emails=[ADA]).code == "last_superuser"
