"""Which files do the pages load? Style, scripts and icon, under names with a hash of what they hold, compressed once.

A changed file has another name, so a browser may keep each for a year. Nothing comes from another host.
"""

import gzip
from functools import cache
from hashlib import sha256
from importlib.resources import files

from msgspec import Struct

from adapters.pictures.style import stylesheet

PREFIX = "/console/assets"

PICTURES = "pictures.css"
"""Computed: the colours of pictures are a table of code, which their files have as well."""

ICON = "icon.svg"

MEDIA_TYPES = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "htmx-2.0.11.min.js": "text/javascript; charset=utf-8",
    ICON: "image/svg+xml",
    PICTURES: "text/css; charset=utf-8",
}
"""Every file that is served, and as what."""

CACHED = "public, max-age=31536000, immutable"
"""A year (RFC 9111 names no longest time; caches treat a year as for good)."""

CACHED_FOR_A_DAY = "public, max-age=86400"
"""Of a name without a hash: what it holds may change with a release."""

HASH_LENGTH = 16
"""Hexadecimal digits of a name's hash: two versions of a file never share 64 bits by chance."""


class Asset(Struct, frozen=True):
    """A file as it is sent."""

    url: str
    media_type: str
    plain: bytes
    gzipped: bytes


@cache
def assets() -> dict[str, Asset]:
    """Return each file by its own name."""
    return {name: _load(name, media_type) for name, media_type in MEDIA_TYPES.items()}


def asset_at(url: str) -> Asset | None:
    """Return the file of a URL, or None where its name or its hash is no longer one of ours."""
    return next((asset for asset in assets().values() if asset.url == url), None)


def url_of(name: str) -> str:
    """Return where a page loads a file from."""
    return assets()[name].url


def _load(name: str, media_type: str) -> Asset:
    content = stylesheet().encode() if name == PICTURES else files(__package__).joinpath("assets", name).read_bytes()
    digest = sha256(content).hexdigest()[:HASH_LENGTH]
    stem, _, ending = name.rpartition(".")
    return Asset(f"{PREFIX}/{stem}.{digest}.{ending}", media_type, content, gzip.compress(content, mtime=0))
