"""Is waiting free? What a call costs does not grow with the leads that wait, and a lead that waits costs nothing."""

import pytest

from deploy.bench.waiting import CALL_TIME, LINES, WaitingCompany, count_free, count_waiting
from schemas.contact import Lead, OpenSlotRequests, waits_in_queue
from schemas.instant import HOUR, MINUTE, SECOND
from schemas.state import ASKING_PREFIX, lead_key

LEADS = 1_000


def crowd(leads: int = LEADS, lines: int = LINES, *, mixed: bool = False) -> WaitingCompany:
    """Return a company whose leads have all been decided; with `mixed`, each of another priority, the last not the best."""
    company = WaitingCompany(lines)
    for number in range(leads):
        company.submit(number, lead_priority=float(number * 7919 % leads) if mixed else 100.0)
    company.run(company.now + MINUTE)
    return company


def waiting_leads(company: WaitingCompany) -> dict[int, Lead]:
    keys = [(part, key) for part in company.contacts for key, _ in part.state.items() if key.startswith(lead_key(0)[:-1])]
    leads = [part.state.get(key, Lead) for part, key in keys]
    return {lead.id: lead for lead in leads if lead is not None and waits_in_queue(lead)}


@pytest.mark.parametrize("mixed", [False, True])
def test_a_call_takes_five_messages_about_slots_at_most_however_many_leads_wait(mixed: bool) -> None:
    counts = [crowd(leads, mixed=mixed) for leads in (300, LEADS, 3 * LEADS)]
    found = [company.run(company.now + 5 * MINUTE) for company in counts]
    of_call = [one.of_call(one.slot_messages) for one in found]
    assert max(of_call) <= 5
    assert max(of_call) <= 1.2 * min(of_call)
    assert all(one.busy_time >= 0.97 * LINES * one.lasted for one in found)


def test_the_records_of_a_call_are_about_those_of_one_whose_line_is_free() -> None:
    waiting = count_waiting(LEADS)
    free = count_free(waiting.calls)
    assert free.calls == waiting.calls > 100
    assert waiting.of_call(waiting.records) <= 1.2 * free.of_call(free.records)


def test_a_lead_that_waits_writes_nothing_while_nothing_changes_for_it() -> None:
    company = crowd(3 * LEADS)
    first = company.next_end()
    assert first is not None
    company.run(first + SECOND)
    ended = company.next_end()
    assert ended is not None
    quiet = company.run(ended - 1)
    assert (quiet.lasted > 15 * SECOND, quiet.records) == (True, 0)


def test_intake_is_decided_once_for_each_lead() -> None:
    company = WaitingCompany(1)
    for number in range(LEADS):
        company.submit(number)
    found = company.run(company.now + CALL_TIME)
    assert found.records <= 10 * LEADS


@pytest.mark.parametrize("lines", [1, LINES, 40])
def test_calls_go_by_urgency_over_all_partitions_with_an_inversion_of_at_most_one_call_a_line(lines: int) -> None:
    company = crowd(LEADS, lines, mixed=True)
    before = len(company.called)
    leads = waiting_leads(company)
    company.run(company.now + HOUR)
    called = [leads[lead_id].lead_priority for lead_id in company.called[before:] if lead_id in leads]
    assert len(called) > 100
    for place, priority in enumerate(called):
        assert sum(other > priority for other in called[:place]) <= lines, f"{priority} at {place}"


def test_no_more_leads_of_a_partition_ask_than_there_are_lines() -> None:
    company = crowd(LEADS, lines=3, mixed=True)
    for part in company.contacts:
        keys = [key for key, _ in part.state.items() if key.startswith(ASKING_PREFIX)]
        assert [len(asking.open) for key in keys if (asking := part.state.get(key, OpenSlotRequests))] == [3]
