"""What do the generated clients speak with? The deployment of the tests of the HTTP interface, served on a port."""

from tests.adapters.http.conftest import company, town

__all__ = ["company", "town"]
