"""Is a field hidden where each team that grants its model hides it, and with it what would say the same?"""

import pytest

from engine.account.teams import restricted_fields
from engine.views.hidden_fields import ALWAYS_SHOWN, HIDEABLE, is_named, with_following
from schemas.records import AccessControlList, Permission


@pytest.mark.parametrize("model", sorted(HIDEABLE))
def test_each_field_is_hidden_by_itself_and_by_its_team_alone(model: str) -> None:
    open_team = AccessControlList(name="Open", permissions={model: Permission(actions=("read",))})
    elsewhere = AccessControlList(name="Elsewhere", permissions={})
    for name in HIDEABLE[model]:
        restricted = Permission(actions=("read",), fields={name: "none"})
        closed = AccessControlList(name="Closed", permissions={model: restricted})
        assert restricted_fields([closed, elsewhere], model, ("none",)) == {name}
        assert restricted_fields([closed, open_team], model, ("none",)) == frozenset()
        assert restricted_fields([closed, AccessControlList(name="All", superuser=True)], model, ("none",)) == frozenset()
        assert name in with_following(model, {name})
    assert with_following(model, ()) == frozenset()


def test_what_follows_from_a_hidden_field_is_hidden_too() -> None:
    assert with_following("lead", {"caller_id"}) >= {"caller_id", "name", "context_menu_name", "number", "fulltext"}
    assert with_following("call", {"revenue"}) == {"revenue", "profit", "add_revenue"}
    assert with_following("call", {"from_number"}) >= {"caller_number", "number_called"}


def test_a_span_names_its_field() -> None:
    assert is_named("next_action_at_from", {"next_action_at"})
    assert is_named("call_limits.revenue_daily_used", {"revenue_daily_used"})
    assert not is_named("created_at_day", {"next_action_at"})


def test_ids_and_moments_of_a_record_are_always_shown() -> None:
    for model, fields in HIDEABLE.items():
        assert fields.isdisjoint({"id", "uuid", "created_at", "updated_at", "version"}), model
        assert fields.isdisjoint(ALWAYS_SHOWN), model
