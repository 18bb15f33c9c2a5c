"""What must be regenerated after an update of the zip codes? `engine/submission/zip_places.bin`: run this and commit it.

Loading all that the package knows (towns, counties, coordinates) takes half a second and answers one question; the table
of zones and states alone is 15 KB and there at once.
"""

# ruff: noqa: INP001 - a command, not a package

import sys
import zlib
from pathlib import Path

import zipcodes

sys.path.insert(0, str(Path(__file__).parent.parent))  # a checkout that is not installed has them too

from engine.calendar.zones import is_zone
from engine.submission.states import STATES
from engine.submission.zip_places import ZIP_CODES, Pair, packed

TARGET = Path(__file__).parent.parent / "engine" / "submission" / "zip_places.bin"


def table() -> bytes:
    """Return the bytes of the table."""
    places: list[Pair] = [(None, None)] * ZIP_CODES
    for row in zipcodes.filter_by(country="US"):  # type: ignore[no-untyped-call]
        # A few rows name a town or nothing instead of a zone.
        zone = row["timezone"] if is_zone(row["timezone"]) else None
        places[int(row["zip_code"])] = zone, row["state"] if row["state"] in STATES else None
    return zlib.compress(packed(places), 9)


if __name__ == "__main__":
    TARGET.write_bytes(table())
