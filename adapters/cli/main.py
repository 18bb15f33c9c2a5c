"""Which command runs? Each is imported when it is called, so that `leadclock --help` and `preview` start at once."""

import importlib
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from adapters.cli.lazy import LazyGroup, Table

COMMANDS: Table = {
    "up": ("adapters.cli.up", "Run everything on this machine, with a demo company to try."),
    "api": ("adapters.cli.roles", "Run the HTTP interface."),
    "intake": ("adapters.cli.roles", "Run the role that reads the inboxes."),
    "scheduler": ("adapters.cli.roles", "Run the role that decides on leads."),
    "accounts": ("adapters.cli.roles", "Run the role that decides on account records and slots."),
    "projector": ("adapters.cli.roles", "Run the role that writes the read schema."),
    "gateway": ("adapters.cli.roles", "Run the role that carries out commands."),
    "deliverer": ("adapters.cli.roles", "Run the role that posts events to subscriptions."),
    "topics": ("adapters.cli.topics", "Create the topics, or compare them with what is needed."),
    "db": ("adapters.cli.db", "Migrate the database, or show its state."),
    "doctor": ("adapters.cli.doctor", "Look at brokers, database, clocks, keys and channels, and say what to do."),
    "recover": ("adapters.cli.recover", "Say which topics lost records, and settle it."),
    "site": ("adapters.cli.site", "Compare where this is with where the deployment is recorded to run, or accept it."),
    "hold": ("adapters.cli.hold", "Stop all contacting, of everybody or one company; list what is on hold."),
    "release": ("adapters.cli.hold", "Release a hold: its leads go on."),
    "keys": ("adapters.cli.keys", "Create companies and API keys."),
    "leads": ("adapters.cli.leads", "List, watch, show, send and import leads."),
    "schedules": ("adapters.cli.schedules", "List, show, preview and publish the schedules of a company."),
    "offers": ("adapters.cli.records", "List and show the offers of a company."),
    "buyers": ("adapters.cli.records", "List and show the buyers of a company."),
    "providers": ("adapters.cli.providers", "List installed providers, or test the accounts with one."),
    "company": ("adapters.cli.company", "Write a company's records to a file, compare them with one, or apply one."),
    "mail": ("adapters.cli.mail", "Read the e-mails that the local mail server kept, or take a bounce."),
    "explain": ("adapters.cli.explain", "Say why a lead is contacted when it is, and not sooner."),
    "preview": ("adapters.cli.preview", "Simulate a schedule: what it does to a lead, when, and why then."),
    "law": ("adapters.cli.law", "Show which rows of law hold for a person at an instant, or check their dates."),
    "audit": ("adapters.cli.audit", "Prove what was decided."),
    "projection": ("adapters.cli.projection", "Look at the read schema, verify it, or build it again."),
    "deadletter": ("adapters.cli.deadletter", "Look at refused records, or send them again."),
    "config": ("adapters.cli.config", "Show the settings that apply, and where each is set."),
    "completion": ("adapters.cli.completion", "Print the script that completes commands in bash, zsh or fish."),
    "bench": ("adapters.cli.bench", "Measure against bare baselines, from a clone of the source tree."),
}


def _choose_profile(context: click.Context, parameter: click.Parameter, name: str | None) -> None:
    if name is not None:
        importlib.import_module("adapters.cli.profiles").choose(context, parameter, name)


def _complete_profile(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    found: list[CompletionItem] = importlib.import_module("adapters.cli.profiles").complete(context, parameter, incomplete)
    return found


@click.group(cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="leadclock")
@click.option(
    "--profile",
    metavar="NAME",
    expose_value=False,
    callback=_choose_profile,
    shell_complete=_complete_profile,
    help="Use the settings file NAME.toml of ~/.config/leadclock.",
)
def cli() -> None:
    """Event-driven lead scheduling: exactly-once, explainable, replayable."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. Expected errors are one line on standard error, status 1; usage is 2."""
    try:
        status = cli.main(args=None if arguments is None else list(arguments), prog_name="leadclock", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort as abort:
        if isinstance(abort.__cause__, EOFError):  # not the end of somebody's input: a prompt names no cause
            raise abort.__cause__ from None
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return status if isinstance(status, int) else 0  # click returns the status of `Exit`
