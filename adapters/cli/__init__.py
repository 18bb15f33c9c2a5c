"""What can be done from a shell? `leadclock`: everything on one machine, one role, or operating a deployment."""

from adapters.cli.main import main

__all__ = ["main"]
