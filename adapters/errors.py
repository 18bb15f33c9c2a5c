"""Which error do several adapters share? `StoreError`, for a database that fails."""

from schemas.errors import DependencyError


class StoreError(DependencyError):
    """The database did not answer or refused. The same statement may succeed later."""
