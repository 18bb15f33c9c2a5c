"""Which settings file does `--profile NAME` use? That of this name in the folder of the person, not `LEADCLOCK_CONFIG`.

A profile is typed, so it counts as the deployment that was typed. Variables of the shell go before a settings file: a
variable that sets what the profile sets would send the command to another deployment, and is refused.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from adapters.cli.deployment import TYPED
from adapters.settings import CONFIG_VARIABLE, SECRETS, VARIABLES, SettingsError, read_settings_file

ENDING = ".toml"

READABLE_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def profile_folder() -> Path:
    """Return the folder of the profiles: `~/.config/leadclock` on Linux."""
    return Path(click.get_app_dir("leadclock"))


def profiles() -> Iterator[str]:
    """Yield the names of the profiles."""
    for path in sorted(profile_folder().glob(f"*{ENDING}")):
        yield path.name.removesuffix(ENDING)


def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the profiles that a shell offers."""
    return [CompletionItem(name) for name in profiles() if name.startswith(incomplete)]


def choose(context: click.Context, _parameter: click.Parameter, name: str | None) -> None:
    """Let the command use a profile. Raises `click.UsageError`."""
    if name is None or context.resilient_parsing:
        return
    path = _path_of(name)
    own = os.environ.get(CONFIG_VARIABLE)
    if own and Path(own) != path:
        raise click.UsageError(f"--profile {name} is {path}, but {CONFIG_VARIABLE} names {own}: unset it")
    try:
        content = frozenset(read_settings_file(path))
    except SettingsError as error:
        raise click.UsageError(str(error)) from error
    doubled = [variable for variable, field in VARIABLES.items() if os.environ.get(variable) and field in content]
    if doubled:
        raise click.UsageError(
            f"this shell sets {', '.join(doubled)}, which goes before the same setting of --profile {name}: unset it"
        )
    if SECRETS & content and path.stat().st_mode & READABLE_BY_OTHERS:
        click.echo(f"warning: {path} holds secrets and others may read it; run: chmod 600 {path}", err=True)
    os.environ[CONFIG_VARIABLE] = str(path)
    context.meta[TYPED] = "env"


def _path_of(name: str) -> Path:
    known = list(profiles())
    if name not in known:
        there = f"there are {', '.join(known)}" if known else "there is none yet"
        raise click.UsageError(
            f"no profile {name!r} in {profile_folder()}; {there}. A profile is a settings file NAME{ENDING}"
        )
    return profile_folder() / f"{name}{ENDING}"
