"""How is a picture written to a file? Whole or not at all: beside it first, then in its place."""

import os
from pathlib import Path

import click


def write_picture(path: Path, text: str) -> None:
    """Write the text of a picture. Raises `click.ClickException` where the file cannot be written."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise click.ClickException(f"{path} cannot be written: {error.strerror or error}") from error
