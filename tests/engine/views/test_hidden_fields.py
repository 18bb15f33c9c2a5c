"""Is a field hidden where each team that grants its model hides it, and with it what would say the same?"""

import pytest

from engine.account.teams import restricted_fields
from engine.views.hidden_fields import (
    _FOLLOWING,
    ACROSS,
    ALWAYS_SHOWN,
    HIDEABLE,
    MONEY_OF_ALL_CALLS,
    is_named,
    with_following,
)
from engine.views.record import BASE_COLUMNS, record_columns
from engine.views.report import CALLS, LEADS, STATS
from schemas.records import RECORD_BODIES, AccessControlList, Permission


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


COUNTED_ALONE = {"leads_count", "calls_count", "outbound_calls_count", "sms_count", "emails_count", "total_duration"}
"""Figures of reports that count the rows themselves, or add up a column of the same name."""


ATTEMPTS = {f"attempt_{period}_used" for period in ("hourly", "daily", "monthly", "total")}

WITHOUT_SOURCES: dict[str, set[str]] = {
    **{model: {"concurrency_cap_used", *ATTEMPTS} for model in ("buyer", "buyer_group", "number")},
    "traffic_source": {"concurrency_cap_used"},
    "unblock_contact_job": {"unblock_count", "failed_count", "state", "succeeded_at"},
    "company": {"has_sign_in_client_secret"},
    "offer": {"has_form_secret"},
    "schedule": {"has_form_secret"},
    "buyer_fleet": {"buyer_ids"},
    "agent_message": {"agent_widget_count"},
    "agent": {"agent_status_id", "agent_status_key", "agent_widget_id", "status_changed_at"},
    "subscription": {
        *("waiting_count", "failed_count", "last_delivered_at", "failing_since", "disabled_at", "disabled_reason"),
        *("dropped_count", "dropped_since"),
    },
    "user": {"has_password", "has_second_factor"},
    "provider_configuration": {"secret_names"},
    "ring_pool": {"held_count", "overflow_count", "last_overflow_at", "holds"},
}
"""Model -> computed columns that are made of no field that a team may hide: states, and counts of calls that run or were
tried, of jobs, posts and holds."""


@pytest.mark.parametrize("model", [model for model in RECORD_BODIES if model in HIDEABLE])
def test_every_computed_column_of_a_record_declares_what_it_is_made_of(model: str) -> None:
    settable = {*RECORD_BODIES[model].__struct_fields__, *BASE_COLUMNS}
    computed = {name for name in record_columns(model) if name not in settable and not name.endswith("_limit")}
    declared = {*_FOLLOWING[model], *ACROSS.get(model, {})}
    alone = WITHOUT_SOURCES.get(model, set())
    assert computed <= declared | alone, sorted(computed - declared - alone)
    assert alone <= computed, sorted(alone - computed)
    assert alone.isdisjoint(declared)


def test_every_figure_of_a_report_declares_what_it_is_made_of() -> None:
    for model, columns in (("lead", LEADS.columns), ("call", {**CALLS.columns, **dict.fromkeys(STATS.values())})):
        undeclared = set(columns) - set(_FOLLOWING[model]) - set(ACROSS.get(model, {})) - HIDEABLE[model] - COUNTED_ALONE
        assert undeclared == set(), model


def test_what_figures_are_made_of_are_fields_that_a_team_may_hide() -> None:
    for model, words in ACROSS.items():
        assert set(MONEY_OF_ALL_CALLS.get(model, ())) <= words.keys()
        for word, sources in words.items():
            assert word in HIDEABLE[model] | {"profit"}, (model, word)
            for source, field in sources:
                assert field in HIDEABLE[source], (word, source, field)
