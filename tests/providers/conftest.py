"""What do real providers serve? A company of the deployment of the tests of the HTTP interface."""

from tests.adapters.http.conftest import company, town

__all__ = ["company", "town"]
