"""How is an inbound call or text tried? These commands send the reports that a gateway would send.

They speak with an `up` that runs here, never with an address that was typed: a report is believed, so that at a deployment a
text of STOP would opt somebody out.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import click
import httpx
import msgspec

from adapters.cli.api_client import ask_api, key_option
from adapters.cli.deployment import option
from adapters.cli.failures import report_errors
from adapters.problem_sentence import refusal_sentence
from adapters.up.demo import NUMBERS

PATH = "/api/v1/calls/received"
TEXTS_PATH = "/api/v1/texts/received"
RINGS_SECONDS = 4
TALKS_SECONDS = 20
LONGEST_SECONDS = 3_600

Pause = Callable[[float], Awaitable[None]]


@click.command("call-in")
@click.argument("number")
@click.option("--to", "called", default=NUMBERS[0], show_default=True, help="The company's number that is called.")
@click.option("--rings", type=click.IntRange(0, LONGEST_SECONDS), default=RINGS_SECONDS, show_default=True, help="Seconds.")
@click.option("--talks", type=click.IntRange(0, LONGEST_SECONDS), default=TALKS_SECONDS, show_default=True, help="Seconds.")
@click.option("--missed", is_flag=True, help="The call is not answered.")
@key_option
@option
@report_errors
def call_in(  # noqa: PLR0917 - one argument per option
    number: str,
    called: str,
    rings: int,
    talks: int,
    missed: bool,
    key_file: Path | None,
    data_dir: Path,
    as_json: bool,
) -> None:
    """Simulate a call from NUMBER to a number of the company of the key."""
    talked = None if missed else talks
    playing = partial(play, person=number, called=called, rings=rings, talks=talked, pause=asyncio.sleep)
    call = ask_api(playing, key_file=key_file, data_dir=data_dir)
    if as_json:
        click.echo(msgspec.json.encode(call))
    else:
        lead = "no lead" if call["lead_id"] is None else f"lead {call['lead_id']}"
        route = call["route"]
        taken = "" if route is None else f" ({route['action']}, {route['buyer_id'] or route['agent_id'] or route['reason']})"
        click.echo(f"call {call['id']} of {lead}: {call['outcome']}, {call['total_duration']} s{taken}")


@click.command("text-in")
@click.argument("number")
@click.argument("body")
@click.option("--to", "texted", default=NUMBERS[0], show_default=True, help="The company's number that is texted.")
@key_option
@option
@report_errors
def text_in(  # noqa: PLR0917 - one argument per option
    number: str, body: str, texted: str, key_file: Path | None, data_dir: Path, as_json: bool
) -> None:
    """Simulate a text with BODY from NUMBER to a number of the company of the key."""
    texting = partial(send_text, person=number, texted=texted, body=body)
    text = ask_api(texting, key_file=key_file, data_dir=data_dir)
    if as_json:
        click.echo(msgspec.json.encode(text))
    else:
        lead = "no lead" if text["lead_id"] is None else f"lead {text['lead_id']}"
        click.echo(f"text to {texted} of {lead}: understood as {text['meaning']}")


async def send_text(client: httpx.AsyncClient, person: str, texted: str, body: str) -> dict[str, Any]:
    """Report a text; return how it was understood. Raises `click.ClickException` for a refusal."""
    about = {"from": person, "to": texted, "text_ref": f"cli-{uuid4()}", "provider": "sandbox", "body": body}
    answer = await client.post(TEXTS_PATH, json=about)
    if answer.is_error:
        raise click.ClickException(refusal_sentence(answer))
    text: dict[str, Any] = answer.json().get("text", {"lead_id": None, "meaning": "not known yet"})
    return text


async def play(
    client: httpx.AsyncClient, person: str, called: str, *, rings: int, talks: int | None, pause: Pause
) -> dict[str, Any]:
    """Report a call from its ringing to its end (`talks` None: it is not answered); return it as it is then.

    The call goes to the buyer or agent of its route, who answers; if nobody takes it, it ends. Seconds are domain
    time: `pause` gets them divided by the speed. Raises `click.ClickException` for a refusal.
    """
    about = {"from": person, "to": called, "call_ref": f"cli-{uuid4()}", "provider": "sandbox"}

    async def send(fields: dict[str, Any], seconds: float) -> dict[str, Any]:
        answer = await client.post(PATH, json={**about, **fields})
        if answer.is_error:
            raise click.ClickException(refusal_sentence(answer))
        await pause(seconds / float(answer.headers.get("Leadclock-Speed", "1")))
        found: dict[str, Any] = answer.json()
        return found

    found = await send({"state": "ringing"}, rings)
    call, route = found.get("call", {}), found.get("route")
    for seconds, fields in _reports(talks, route):
        call = (await send(fields, seconds)).get("call", call)
    return {**call, "route": route}


def _reports(talks: int | None, route: Mapping[str, Any] | None) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield each report after the first, with the seconds until the next one."""
    is_elsewhere = route is not None and route["action"] != "connect"
    if talks is None or is_elsewhere:
        cause = "no answer" if route is None or not is_elsewhere else route["action"]
        yield 0, {"state": "ended", "hung_up_by": "caller", "hangup_cause": cause}
        return
    # A route names a buyer or an agent.
    taker = {} if route is None else {name: route[name] for name in ("buyer_id", "agent_id") if route[name] is not None}
    yield talks, {"state": "connected", **taker}
    yield 0, {"state": "ended", "hung_up_by": "caller", "hangup_cause": "normal clearing", "talk_seconds": talks}
