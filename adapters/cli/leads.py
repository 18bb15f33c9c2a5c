"""Which commands does `leadclock leads` have? Each is loaded alone, so that a tail stays small."""

import click

from adapters.cli.lazy import LazyGroup, Table

COMMANDS: Table = {
    "list": ("adapters.cli.lead_commands", "List leads, the newest first."),
    "show": ("adapters.cli.lead_commands", "Show a lead (id or uuid) and its history."),
    "tail": ("adapters.cli.tail", "Show what is decided about leads, as it is decided."),
    "forecast": ("adapters.cli.lead_commands", "Show per hour what will be due."),
    "send": ("adapters.cli.lead_send", "Put a submission on an inbox, and say what came of it."),
    "map": ("adapters.cli.lead_map", "Try a lead map: show what a post would become."),
    "import": ("adapters.cli.lead_import", "Put the leads of a file on the inbox for imports."),
    "call-in": ("adapters.cli.call_in", "Simulate a call of a person."),
    "text-in": ("adapters.cli.call_in", "Simulate a text of a person."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def leads() -> None:
    """List, watch, show, send and import leads."""
