"""Does a preview of a random schedule agree with the running engine?"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.account.bodies import read_schedule
from engine.partition.draft import RefusedError
from tests.engine.preview.test_forecast import LEADS, OUTCOMES, compare

IDS = [f"step-{number}" for number in range(7)]
GOTO = st.sampled_from(IDS)
FILTERS = st.sampled_from(["outcome:busy", "attempts:>=2", "tags:seen", "weekday:mon|tue", "time:<12:00", "state:FL"])
DURATIONS = st.sampled_from(["90s", "20m", "3h", "1d", "1w"])
RETRY = st.dictionaries(
    st.sampled_from(["busy", "no_answer", "congestion"]),
    st.fixed_dictionaries({}, optional={"delay": st.sampled_from(["10m", "5h", "1d"]), "max": st.integers(1, 3)}),
)
MISSES = st.sampled_from(["next_open", "same_time_next_allowed_day", "skip_step"])
UNTIL = st.fixed_dictionaries(
    {"time": st.sampled_from(["02:30", "09:15", "23:00"])},
    optional={"days": st.sampled_from([["mon"], ["sat", "sun"]]), "if_passed": st.just("now"), "zone": st.just("schedule")},
)


def step(kind: str, required: dict[str, Any] | None = None, **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    fixed = {"kind": kind, "template": "Hi {{roof}}"} if kind in {"sms", "email"} else {"kind": kind}
    return st.fixed_dictionaries(
        {**{name: st.just(value) for name, value in fixed.items()}, **(required or {})}, optional=optional
    )


RULES = st.fixed_dictionaries({"if": st.lists(FILTERS, min_size=1, max_size=2), "goto": GOTO})
STEPS = st.one_of(
    step("call", retry=RETRY, await_disposition=st.just("30m"), window_miss=MISSES),
    step("sms", missing_token=st.sampled_from(["empty", "skip_step"]), window_miss=MISSES),
    step("email", {"subject": st.just("Hello")}),
    step("webhook", {"outgoing_webhook_id": st.just(3)}),
    step("wait", {"duration": DURATIONS}),
    step("wait", {"until": UNTIL}),
    step("wait_for", {"event": st.sampled_from(["converted", "sms.received"]), "timeout": DURATIONS}, on_timeout=GOTO),
    step("branch", {"rules": st.lists(RULES, min_size=1, max_size=2)}),
    step("tag", {"add": st.just(["seen"])}),
    step("restart", {"max_restarts": st.integers(1, 2)}),
    step("schedule_callback", {"in": DURATIONS}),
    step("exit", {"result": st.sampled_from(["success", "failure", "completed"])}),
)  # fmt: skip


@st.composite
def schedules(draw: st.DrawFn) -> dict[str, Any]:
    """Up to seven steps, end steps, and everything that a schedule says about time; not all of them can be published."""
    steps = [{"id": name, **draw(STEPS)} for name in IDS[: draw(st.integers(1, len(IDS)))]]
    fields: dict[str, st.SearchStrategy[Any]] = {
        "windows": st.just({"call": [{"days": ["mon", "wed", "sat"], "open": "10:00", "close": "16:30"}]}),
        "hours_to_expire": st.integers(1, 200),
        "max_contact_attempts": st.integers(1, 4),
        "min_spacing": st.sampled_from([{"call": "4h"}, {"any": "50m"}]),
        "window_miss": MISSES,
        "close_margin_seconds": st.just(600),
        "pauses": st.just([{"from": "2026-03-09", "to": "2026-03-10"}]),
        "end_steps": st.just([{"id": "end-1", "kind": "webhook", "outgoing_webhook_id": 3}]),
        "triggers": st.just([{"on": "exit", "type": "dial", "add_tokens": {"roof": "flat"}, "goto": steps[-1]["id"]}]),
    }
    return {"steps": steps, **draw(st.fixed_dictionaries({}, optional=fields))}


@settings(max_examples=100, deadline=None)
@given(schedule=schedules(), lead=st.sampled_from(sorted(LEADS)), outcomes=st.sampled_from(sorted(OUTCOMES)))
def test_a_preview_of_any_schedule_is_what_the_running_engine_does(
    schedule: dict[str, Any], lead: str, outcomes: str
) -> None:
    try:
        read_schedule(schedule)
    except RefusedError:
        return  # a way round without a wait, a step that is never reached

    compare(schedule, LEADS[lead], OUTCOMES[outcomes])
