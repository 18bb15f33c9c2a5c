"""How does a server end with the process that started it, even by `kill -9`? The kernel signals it: PR_SET_PDEATHSIG.

Run as a script (`python -I -S parent_death.py PARENT SIGNAL UID GID COMMAND…`), which COMMAND replaces: no extra process,
and no Python code between fork and exec of a threaded parent (Python 3.12 warns about that). Only Linux has
PR_SET_PDEATHSIG; elsewhere the next start finds and stops a server that was left behind.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>
KEEP_USER = -1


def become(uid: int, gid: int) -> None:
    """Become another user for good, supplementary groups included."""
    if uid == KEEP_USER:
        return
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def die_with(parent: int, signal_number: int) -> None:
    """Ask for a signal at the parent's death; must follow `become`, because the kernel forgets it when the user changes."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the process that asked for this server has ended")


def main(arguments: list[str]) -> None:
    """Tie this process to its parent, then become the command."""
    parent, signal_number, uid, gid = (int(argument) for argument in arguments[:4])
    command = arguments[4:]
    become(uid, gid)
    die_with(parent, signal_number)
    try:
        os.execv(command[0], command)  # noqa: S606 - a fixed program with a list of arguments, never a shell
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
