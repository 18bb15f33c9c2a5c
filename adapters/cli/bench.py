"""How fast is it here? `leadclock bench` measures that where the source tree is: `deploy/bench` is in no wheel."""

import importlib

import click

COMMAND = "deploy.bench.command"
"""Imported by name: what runs in production does without it."""

ABSENT = "The bench is part of the source tree: clone it and run `make bench`."


def find_bench() -> click.Command:
    """Return the command of the source tree; without one, a command that takes any arguments and says where it is."""
    try:
        command: click.Command = importlib.import_module(COMMAND).bench
    except ModuleNotFoundError as error:
        if error.name is None or not COMMAND.startswith(error.name):
            raise
        return _absent
    return command


@click.command("bench", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def _absent(arguments: tuple[str, ...]) -> None:  # noqa: ARG001 - those of the source tree
    """Measure against bare baselines, from a clone of the source tree."""
    raise click.ClickException(ABSENT)


bench = find_bench()
