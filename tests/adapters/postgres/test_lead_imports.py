"""Are uploaded files handed to one process at a time, with each error stored once, and purged? In a real PostgreSQL."""

import asyncio

from adapters.postgres.lead_imports import RETENTION, PostgresLeadImports
from adapters.postgres.pool import Pool
from adapters.reads.ports import DecidedLine, ImportPosition, LineProblem, NewLeadImport, SentBatch, SentLine
from schemas.instant import DAY
from tests.adapters.gateway.world import NOON

LEASE_SECONDS = 600.0


def new(digest: str = "d1", *, company_id: int = 1, number: int = 1, dry_run: bool = False) -> NewLeadImport:
    return NewLeadImport(
        company_id=company_id,
        digest=digest,
        number=number,
        dry_run=dry_run,
        created_at=NOON,
        lead_token="lt_x",
        offer_id=None,
        schedule_id=2,
        format="csv",
        encoding="utf-8",
        mapping={"phone": "caller_id"},
        columns={"phone": "caller_id"},
        lead_import_id=None if dry_run else 77,
        file=b"phone\n1\n",
        key_id=7,
        user_email=None,
        address="192.0.2.7",
    )


async def test_one_process_has_an_import_and_one_of_a_company_runs(pool: Pool) -> None:
    imports = PostgresLeadImports(pool)
    first = await imports.create(new("d1"))
    await imports.create(new("d2"))
    other = await imports.create(new("d1", company_id=2))
    claims = await asyncio.gather(*(imports.claim(f"process {n}", LEASE_SECONDS, NOON) for n in range(6)))
    assert sorted(one.id for one in claims if one is not None) == [first["id"], other["id"]]
    holder = f"process {next(n for n, one in enumerate(claims) if one is not None and one.id == first['id'])}"
    assert await imports.file(first["id"], holder) == b"phone\n1\n"
    assert await imports.file(first["id"], "another") == b""


async def test_companies_take_turns(pool: Pool) -> None:
    imports = PostgresLeadImports(pool)
    made = [await imports.create(new("d1", company_id=number)) for number in (1, 2, 3)]
    claimed = []
    for _ in range(6):
        one = await imports.claim("p", LEASE_SECONDS, NOON)
        assert one is not None
        await imports.release(one.id, "p")
        claimed.append(one.id)
    assert claimed == [one["id"] for one in made] * 2


async def test_each_line_that_was_sent_is_settled_once_by_the_process_that_has_the_import(pool: Pool) -> None:
    imports = PostgresLeadImports(pool)
    made = await imports.create(new())
    await imports.claim("p", LEASE_SECONDS, NOON)
    position = ImportPosition(line=5, last_line=5, good=4, offset=5)
    assert await imports.save(made["id"], "p", position, SentBatch(NOON, (2, 3, 4, 5)), LEASE_SECONDS)
    assert await imports.undecided(made["id"], 3) == [SentLine(line, NOON) for line in (2, 3, 4)]
    wrong = LineProblem(3, "error", "email", "is blank")
    lines = [DecidedLine(2, "decided"), DecidedLine(3, "rejected", (wrong,)), DecidedLine(5, "unknown")]

    assert not await imports.settle(made["id"], "another", lines, 7, LEASE_SECONDS)
    assert await imports.settle(made["id"], "p", lines, 7, LEASE_SECONDS)
    assert await imports.settle(made["id"], "p", [DecidedLine(2, "decided")], 8, LEASE_SECONDS)

    assert await imports.undecided(made["id"], 3) == [SentLine(4, NOON)]
    counts = "SELECT decided_count, rejected_count, unknown_count, dead_offset FROM work.lead_imports"
    assert tuple(await pool.fetchrow(counts)) == (1, 1, 1, 8)
    assert await pool.fetchval("SELECT count(*) FROM work.lead_import_errors") == 1


async def test_an_import_is_open_until_it_ends_and_cancels_until_all_is_sent(pool: Pool) -> None:
    imports = PostgresLeadImports(pool)
    made = await imports.create(new())
    await imports.claim("p", LEASE_SECONDS, NOON)
    await imports.end_sending(made["id"], "p", NOON)
    await imports.cancel(1, made["id"], NOON)
    assert await pool.fetchval("SELECT canceled_at FROM work.lead_imports") is None
    assert await imports.file(made["id"], "p") == b""
    assert [await imports.open_ids(company, 77) for company in (1, 2)] == [[made["id"]], []]
    await imports.finish(made["id"], "p", NOON)
    assert await imports.open_ids(1, 77) == []


async def test_what_a_former_process_stores_does_not_count(pool: Pool) -> None:
    imports = PostgresLeadImports(pool)
    made = await imports.create(new())
    assert await imports.claim("dies", LEASE_SECONDS, NOON) is not None
    await pool.execute("UPDATE work.lead_imports SET leased_until = now() - interval '1 s'")
    assert await imports.claim("lives", LEASE_SECONDS, NOON) is not None
    wrong = (LineProblem(2, "error", "caller_id", "is no number"),)
    position = ImportPosition(line=2, last_line=2, good=0, refused=1, offset=5)
    batch = SentBatch(NOON, problems=wrong)
    assert not await imports.save(made["id"], "dies", position, batch, LEASE_SECONDS)
    await imports.end_sending(made["id"], "dies", NOON, "broken off")
    await imports.finish(made["id"], "dies", NOON)
    assert await imports.save(made["id"], "lives", position, batch, LEASE_SECONDS)
    assert await pool.fetchval("SELECT count(*) FROM work.lead_import_errors") == 1
    row = await pool.fetchrow("SELECT line, refused_count, inbox_offset, failure FROM work.lead_imports")
    assert tuple(row) == (2, 1, 5, None)


async def test_the_same_file_is_stored_once_but_for_dry_runs(pool: Pool) -> None:
    imports = PostgresLeadImports(pool)
    rows = await asyncio.gather(*(imports.create(new()) for _ in range(3)))
    assert len({row["id"] for row in rows}) == 1
    checks = [await imports.create(new(dry_run=True)) for _ in range(2)]
    assert len({row["id"] for row in checks}) == 2
    again = await imports.create(new(number=2))
    newest = await imports.newest_of(1, "d1")
    assert newest is not None
    assert newest["id"] == again["id"]
    assert await imports.newest_of(2, "d1") is None


async def test_imports_that_ended_long_ago_are_deleted_with_their_errors(pool: Pool) -> None:
    imports = PostgresLeadImports(pool)
    made = [await imports.create(new(digest, company_id=number)) for number, digest in enumerate(("a", "b", "c"), start=1)]
    for one, at in zip(made, (NOON - RETENTION - 1, NOON - RETENTION + DAY), strict=False):
        claimed = await imports.claim("p", LEASE_SECONDS, NOON)
        assert claimed is not None
        batch = SentBatch(NOON, problems=(LineProblem(2, "warning", "", "is blank"),))
        await imports.save(one["id"], "p", ImportPosition(line=2), batch, LEASE_SECONDS)
        await imports.finish(one["id"], "p", at)
    assert await imports.purge(NOON) == 1
    rows = await pool.fetch("SELECT job_id FROM work.lead_import_errors")
    assert [row["job_id"] for row in rows] == [made[1]["id"]]
