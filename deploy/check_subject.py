"""Does the subject of a commit message keep the rules of CONTRIBUTING.md? `check_subject.py FILE` exits with 1 where not.

Whether it is imperative is for its reader to judge.
"""

# ruff: noqa: INP001 - a command, not a package

import re
import sys
from pathlib import Path

LENGTH_MAX = 72
"""What `git log --oneline`, hosting pages and mail show of a subject without cutting it."""

WRITTEN_BY_GIT = re.compile(r'(Merge |Revert "|fixup! |squash! |amend! )')


def find_faults(message: str) -> list[str]:
    """Return what is wrong with the subject of a message; git's own subjects pass."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject = next((line for line in lines if line.strip()), "")
    if WRITTEN_BY_GIT.match(subject):
        return []
    rest = lines[lines.index(subject) + 1 :] if subject else []
    checks = [
        (not subject, "Write a subject."),
        (len(subject) > LENGTH_MAX, f"Shorten the subject to {LENGTH_MAX} characters; it has {len(subject)}."),
        (not subject[:1].isupper(), "Begin the subject with a capital letter."),
        (subject.endswith("."), "Drop the full stop at the end of the subject."),
        (bool(rest and rest[0].strip()), "Leave a blank line between the subject and the body."),
    ]
    return [sentence for is_fault, sentence in checks if is_fault]


def main() -> int:
    """Check the message in the file that git names."""
    faults = find_faults(Path(sys.argv[1]).read_text("utf-8"))
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
