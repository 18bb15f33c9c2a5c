"""How does a shell complete our commands? By a script that asks `leadclock` itself, as click makes it for each shell."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")

VARIABLE = "_LEADCLOCK_COMPLETE"
"""In which the script asks; click makes this name of the program's."""


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    r"""Print the script that completes commands, options and profiles.

    \b
    bash: leadclock completion bash >> ~/.bashrc
    zsh:  leadclock completion zsh >> ~/.zshrc
    fish: leadclock completion fish > ~/.config/fish/completions/leadclock.fish
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click knows no completion for {shell}")
    click.echo(found(click.get_current_context().find_root().command, {}, "leadclock", VARIABLE).source())
