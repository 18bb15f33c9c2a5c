"""How does a command start without loading the others? The group imports a command's module when it is called."""

import importlib
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

Table = Mapping[str, tuple[str, str]]
"""Name -> (module, help sentence). The command's variable has its name with `_` for `-`, perhaps with a `_` at the end."""


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called."""

    def __init__(self, *arguments: Any, table: Table, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of the table."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return the command, imported."""
        if cmd_name not in self._table:
            return None
        module, attribute = importlib.import_module(self._table[cmd_name][0]), cmd_name.replace("-", "_")
        command: Any = getattr(module, attribute, None) or getattr(module, f"{attribute}_")
        return command if isinstance(command, click.Command) else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what a shell offers: commands of the table without importing them, and options."""
        named = [CompletionItem(name, help=line) for name, (_, line) in self._table.items() if name.startswith(incomplete)]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the table without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, sentence) for name, (_, sentence) in self._table.items()])
