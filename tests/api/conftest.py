"""What do the tests of the whole interface run on? The same deployment as those of single operations, served on a port."""

from tests.adapters.http.conftest import company, other, own_town, town

__all__ = ["company", "other", "own_town", "town"]
