"""Is a request whose fields contradict each other followed or refused, but never half?"""

from itertools import combinations
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")

SUBMISSION_FLAGS = (
    *("update_only", "update_all_matching_leads", "expire_existing", "delete_existing", "restart_schedule"),
    *("unblock_contact", "blocked", "assign_svc_number", "auto_format_nested_fields"),
)
CHANGE_FLAGS: tuple[dict[str, Any], ...] = (
    *({name: value} for name in ("opt_out", "blocked") for value in (True, False)),
    {"schedule_start": True},
    {"schedule_stop": True},
    {"schedule_callback_in_seconds": "60"},
    {"next_action_at": "2026-01-01 00:00:00 +0000"},
    {"caller_id": "+12125550199"},
)


async def test_flags_that_contradict_each_other_are_followed_or_refused_but_never_half(company: Any) -> None:
    schedule = await company.schedule()
    common = {"lead_token": schedule["lead_token"], "time_zone": "America/New_York"}
    for place, (first, second) in enumerate(combinations(SUBMISSION_FLAGS, 2)):
        for path in ("/api/v1/leads", "/api/v1/leads/create_or_update"):
            fields = {**common, "caller_id": f"+1212556{place:04d}", first: True, second: True}
            for _ in range(2):  # where nobody is, and where somebody is
                answer = await company.send("POST", path, json=fields)
                assert answer.status_code in {200, 201, 409, 422}, (first, second, answer.text)
                if answer.status_code == 409:
                    assert answer.json()["code"] == "lead_not_live", answer.text
    moved = await company.schedule()
    changes = (*CHANGE_FLAGS, {"move_to_another_schedule_id": moved["id"]})
    for place, (one, other) in enumerate(combinations(changes, 2)):
        made = await company.send("POST", "/api/v1/leads", json={**common, "caller_id": f"+1212557{place:04d}"})
        path = f"/api/v1/leads/{made.json()['lead']['id']}"
        before = (await company.send("GET", path)).json()["lead"]
        answer = await company.send("PUT", path, json={**one, **other})
        assert answer.status_code in {200, 409, 422}, (one, other, answer.text)
        after = (await company.send("GET", path)).json()["lead"]
        if answer.status_code != 200:
            assert {**after, "expires_in": None} == {**before, "expires_in": None}, (one, other, answer.text)
        elif (one | other).get("blocked") or (one | other).get("opt_out"):
            assert after["next_action_at"] is None, (one, other)
