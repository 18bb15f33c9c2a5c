"""May a talk be recorded? Only where an account says so, and once both have heard its announcement.

It is announced in every state: some ask that all parties of a talk know that it is recorded (California Penal Code 632), and
where the person and the buyer are is certain of neither.
"""

from typing import Annotated

from msgspec import Meta

RECORDING_SECONDS_MAX = 4 * 3_600
"""Of a talk; longer ones are forgotten telephones. Twilio and Telnyx end a call after so long, too."""

Announcement = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=300,
        pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$",
        description="one line of up to 300 characters",
    ),
]


def check_recording(*, records: bool, announcement: str | None) -> None:
    """Raise `ValueError` for an account that would record people without their knowledge, or say what is not so."""
    if records and announcement is None:
        raise ValueError("records needs an announcement: people must know that they are recorded")
    if announcement is not None and not records:
        raise ValueError("announcement needs records: else people would hear what is not so")
