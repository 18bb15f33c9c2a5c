"""In which zone and state is a zip code? A table of one byte a code, made of the package `zipcodes` before a release.

The file is compressed: a line with the pairs of zone and state as JSON, then for each code from 00000 to 99999 the place of
its pair, counted from one; 0 is a code that is not given out. `python deploy/write_zip_places.py` writes it.
"""

import zlib
from functools import cache
from importlib.resources import files

import msgspec

import engine.submission

ZIP_CODES = 100_000
ZIP_DIGITS = 5

Pair = tuple[str | None, str | None]
"""Zone and state; None where it is not known."""

NOWHERE: Pair = (None, None)

_FILE = "zip_places.bin"


def zip_place(code: str) -> Pair:
    """Return the zone and the state of five digits."""
    if len(code) != ZIP_DIGITS or not (code.isascii() and code.isdigit()):
        return NOWHERE
    pairs, places = _table()
    place = places[int(code)]
    return pairs[place - 1] if place else NOWHERE


def packed(places: list[Pair]) -> bytes:
    """Return the table of what is at each code. Raises `ValueError` beyond 255 pairs."""
    pairs = sorted({pair for pair in places if pair != NOWHERE}, key=str)
    at = {NOWHERE: 0} | {pair: place for place, pair in enumerate(pairs, start=1)}
    return msgspec.json.encode(pairs) + b"\n" + bytes(at[pair] for pair in places)


@cache
def _table() -> tuple[list[Pair], bytes]:
    head, _, places = zlib.decompress(files(engine.submission).joinpath(_FILE).read_bytes()).partition(b"\n")
    return msgspec.json.decode(head, type=list[Pair]), places
