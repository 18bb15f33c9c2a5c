"""Do topics, database and processes belong together, and does each channel have what it needs?"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterator

from adapters.data_digest import OtherDataError
from adapters.doctor.findings import Finding, failure, ok, warning
from adapters.operator.contact_holds import company_of_hold, holds_in_force
from adapters.postgres.gateways import PostgresServing
from adapters.postgres.pool import open_pool
from adapters.postgres.server_facts import read_refused_commands, read_using_processes
from adapters.providers.account_trials import accounts_with, try_account
from adapters.providers.registry import Unusable, installed
from adapters.reads.ports import Serving
from adapters.roles.context import Context
from adapters.roles.identity import IdentityError, NotPreparedError, check
from adapters.roles.provider_connections import provider_connections, provider_http
from adapters.roles.site import ACCEPT, compare_site, find_site
from adapters.secret_fingerprint import secret_fingerprint
from adapters.settings import CHANNELS
from engine.rules import Rules
from schemas.instant import to_rfc3339
from schemas.records import Number, Schedule, body_of
from schemas.schedule import KIND_OF_STEP

PAGE = "deploy/docs/operators.md, Identity of a deployment, says which case this is"

MAIL_PROVIDERS = ("smtp", "ses", "mailgun", "sendgrid")

ACCOUNTS_TRIED_MAX = 20
"""Accounts of a kind that are tried, all at once: one look must not look like an attack to a host of many companies."""

CAPABILITIES = {"call": "voice", "sms": "sms"}
"""Kind of a step -> what its company's numbers must be able to do."""


async def check_identity(context: Context, *, with_database: bool) -> list[Finding]:
    """Compare settings, topics and database. Raises `LogError`, `DatabaseAwayError`."""
    try:
        found = await check(context, with_database=with_database)
    except (IdentityError, NotPreparedError, OtherDataError) as error:
        return [failure("identity", str(error), PAGE)]
    of = "settings, topics and database" if with_database else "settings and topics"
    return [ok("identity", f"{of} are of deployment {found.id}")]


async def check_secret_keys(context: Context) -> list[Finding]:
    """Compare this secret key with those of the processes that run now. Raises `DatabaseAwayError`."""
    settings = context.settings
    shown: dict[int, list[str]] = defaultdict(list)
    for process in await read_using_processes(settings.postgres_dsn):
        if process.fingerprint is not None:
            shown[process.fingerprint].append(process.name)
    own = None
    if settings.secret_key:
        own = await asyncio.to_thread(secret_fingerprint, settings.secret_key, context.deployment_id())
    others = {key: names for key, names in shown.items() if key != own}
    if len(shown) > 1 or (own is not None and others):
        named = "; ".join(", ".join(sorted(names)) for names in others.values())
        found = f"not the same everywhere: {named} differ" + ("" if own is None else " from these settings")
        cure = "give every process the same LEADCLOCK_SECRET_KEY and restart it: signatures of webhooks differ meanwhile"
        return [failure("secret keys", found, cure)]
    if shown:
        count = sum(map(len, shown.values()))
        with_own = "" if own is None else " and of these settings"
        return [ok("secret keys", f"the same in {count} running processes{with_own}")]
    return []


async def read_serving(dsn: str) -> Serving:
    """Return which channels gateways serve. Raises `ReadsUnavailableError`."""
    pool = await open_pool(dsn, size=1)
    try:
        return await PostgresServing(pool).read()
    finally:
        await pool.close()


async def check_channels(context: Context, serving: Serving) -> list[Finding]:
    """Judge which channels gateways have served within a day, by what, and which ones are missing. Raises `LogError`."""
    await context.rules.refresh()
    deployment = context.rules.deployment
    is_demo = deployment is not None and deployment.is_demo
    findings = []
    real = [channel for channel in CHANNELS if channel in serving.channels and channel not in serving.sandbox]
    if real:
        findings.append(ok("channels", f"served by real providers: {', '.join(real)}"))
    if serving.sandbox:
        found = f"served by the sandbox, which reaches no real person: {', '.join(serving.sandbox)}"
        cure = "expected in a trial; else take these channels off LEADCLOCK_SANDBOX"
        findings.append(ok("channels", found) if is_demo else warning("channels", found, cure))
    idle = [channel for channel in CHANNELS if channel not in serving.channels]
    wanted = {kind for _, kind in _steps(context.rules.rules)}
    if missed := [channel for channel in idle if channel in wanted or not serving.channels]:
        found = f"no gateway has served {', '.join(missed)} within a day: schedules with such steps cannot be published"
        findings.append(warning("channels", found, "start `leadclock gateway` with a provider for them"))
    elif idle:
        findings.append(ok("channels", f"no schedule has a step on one that no gateway serves: {', '.join(idle)}"))
    return findings


async def check_mail_accounts(context: Context) -> list[Finding]:
    """Log in to the companies' own mail accounts, at most `ACCOUNTS_TRIED_MAX`; no message is sent. Raises `LogError`."""
    unsent = "let the company correct it: its e-mails are not sent"
    return await _check_accounts(context, MAIL_PROVIDERS, "mail accounts", cure=unsent, works="take the login")


async def check_carrier_accounts(context: Context) -> list[Finding]:
    """Send a harmless request by the companies' accounts with carriers, at most `ACCOUNTS_TRIED_MAX`; nobody is reached.

    Raises `LogError`.
    """
    usable = [name for name, found in installed().items() if not isinstance(found, Unusable)]
    carriers = [name for name in usable if name not in MAIL_PROVIDERS]
    unsent = "let the company correct it: its calls or texts are not placed"
    return await _check_accounts(context, carriers, "carrier accounts", cure=unsent, works="answer")


async def _check_accounts(
    context: Context, providers: Collection[str], check_name: str, *, cure: str, works: str
) -> list[Finding]:
    await context.rules.refresh()
    rules = context.rules.rules
    accounts = [one for name in providers for one in accounts_with(rules, name) if not one.body.paused]
    if not accounts or not context.settings.secret_key:
        return []
    http = provider_http(context)
    try:
        connections = provider_connections(context, http)
        tried = await asyncio.gather(*(try_account(connections, one) for one in accounts[:ACCOUNTS_TRIED_MAX]))
    finally:
        await http.close()
    findings = [
        warning(
            check_name,
            f"provider configuration {one['id']} of company {one['company_id']} cannot be used: {one['said']}",
            cure,
        )
        for one in tried
        if not one["works"]
    ]
    count = sum(one["works"] for one in tried)
    return [*findings, *([ok(check_name, f"{count} of {len(accounts)} of companies {works}")] if count else [])]


async def check_site(context: Context) -> list[Finding]:
    """Compare Kafka's cluster id and the operator's word with those recorded. Raises `LogError`."""
    await context.rules.refresh()
    problem = compare_site(context.rules.deployment, await find_site(context))
    if problem is None:
        return [ok("site", "the recorded one")]
    return [failure("site", f"{problem}: gateways contact nobody", f"once people are to be contacted from here: {ACCEPT}")]


async def check_command_order(dsn: str) -> list[Finding]:
    """Name the topics whose commands were decided again by a state that was lost or is old. Raises `DatabaseAwayError`."""
    return [
        failure(
            "commands",
            f"{count} of {topic} were decided again and refused: contacts.state was lost, or is older than they are",
            "deploy/docs/alerts.md, LeadclockCommandsOutOfOrder",
        )
        for topic, count in (await read_refused_commands(dsn)).items()
    ]


async def check_contact_holds(context: Context) -> list[Finding]:
    """Name the holds in force: nobody is contacted whom one covers. Raises `LogError`."""
    findings = [
        warning(
            "contact holds",
            f"{company_of_hold(one)} is on hold since {to_rfc3339(one.created_at)}: {one.body['reason']}",
            f"once contacting may go on, run `leadclock release {one.id}`",
        )
        for one in await holds_in_force(context)
    ]
    return findings or [ok("contact holds", "none")]


async def check_numbers(context: Context) -> list[Finding]:
    """Look at the companies' own numbers: is there one to call and text from, and is none of two companies?

    Raises `LogError`.
    """
    await context.rules.refresh()
    rules = context.rules.rules
    owners: dict[str, set[int]] = defaultdict(set)
    able: dict[int, set[str]] = defaultdict(set)
    for record in rules.of_type("number"):
        body = body_of(record)
        if isinstance(body, Number) and not body.paused:
            owners[body.number].add(record.company_id)
            able[record.company_id] |= {name for name in CAPABILITIES.values() if getattr(body, name)}
    findings = [
        warning("numbers", f"{number} is in use by companies {', '.join(map(str, sorted(ids)))}", "leave it to one of them")
        for number, ids in sorted(owners.items())
        if len(ids) > 1
    ]
    findings += [
        warning(
            "numbers",
            f"company {company_id} has schedules with {kind} steps and no number for them",
            "add one under /api/v1/numbers",
        )
        for company_id, kind in sorted(_contacting(rules))
        if CAPABILITIES[kind] not in able[company_id]
    ]
    return findings or [ok("numbers", f"{len(owners)} that are not paused")]


def _contacting(rules: Rules) -> set[tuple[int, str]]:
    """Return the companies that have a live schedule with steps that call or text, and which."""
    return {(company_id, kind) for company_id, kind in _steps(rules) if kind in CAPABILITIES}


def _steps(rules: Rules) -> Iterator[tuple[int, str]]:
    """Yield the kind of each step of each live schedule, with its company."""
    for record in rules.of_type("schedule"):
        body = body_of(record)
        if isinstance(body, Schedule) and not body.paused:
            for step in body.steps:
                yield record.company_id, KIND_OF_STEP.get(type(step), "")
