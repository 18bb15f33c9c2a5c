"""Does a failure of the database name it, what is wrong and the cure, and never the password?"""

import asyncpg
import pytest

from adapters.postgres.database_errors import DatabaseAwayError, convert_connection_errors, describe_database_error
from adapters.reads.ports import ReadsUnavailableError

DSN = "postgresql://leadclock:secret-word@db.example:5432/leads"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "refused"), "does not answer"),
        (TimeoutError(), "does not answer"),
        (asyncpg.ConnectionDoesNotExistError("gone"), "does not answer"),
        (asyncpg.CannotConnectNowError("starting up"), "does not answer"),
        (asyncpg.InvalidPasswordError("no"), "refuses the user or password"),
        (asyncpg.InvalidCatalogNameError("no"), "has no such database"),
        (asyncpg.UndefinedTableError("no"), "run `leadclock db migrate`"),
        (asyncpg.TooManyConnectionsError("no"), "has no room for more"),
        (asyncpg.QueryCanceledError("late"), "took too long"),
        (asyncpg.ClientConfigurationError("no"), "LEADCLOCK_POSTGRES_DSN is postgresql://"),
    ],
)
def test_each_failure_has_its_cure(error: Exception, words: str) -> None:
    sentence = describe_database_error(DSN, error)
    assert sentence.startswith("PostgreSQL at db.example:5432/leads ")
    assert words in sentence
    assert "secret-word" not in sentence
    with pytest.raises(DatabaseAwayError, match="PostgreSQL at"), convert_connection_errors(DSN):
        raise error


def test_a_statement_that_the_server_cannot_run_is_a_fault_of_ours_and_shows_where_it_happened() -> None:
    with pytest.raises(asyncpg.PostgresSyntaxError), convert_connection_errors(DSN):
        raise asyncpg.PostgresSyntaxError("near SELEC")


def test_a_read_that_says_itself_what_to_do_is_not_taken_for_a_database_that_is_down() -> None:
    assert describe_database_error(DSN, ReadsUnavailableError("run `leadclock db migrate`")) == "run `leadclock db migrate`"
