"""How is a broker reached, and what do its errors mean? One value for every client, one translation of errors."""

import ssl
from dataclasses import dataclass, field
from typing import Any

from aiokafka import errors
from aiokafka.abc import AbstractTokenProvider

from engine.partition.ports import FencedError, LogError, RecordRefusedError

DEADLINE_SECONDS = 5.0
"""Bound of every wait for the broker: a third of the transaction timeout, so that we time out before the broker does."""

TRANSACTION_TIMEOUT_MS = 15_000
"""After this the broker aborts; our own deadlines are shorter, so that the broker never decides."""

CLIENT_ERRORS = (errors.KafkaError, TimeoutError, OSError, AssertionError)
"""What the library raises when a broker or a connection fails. It asserts that a broker which has just come back
knows of brokers, and that a producer can still be used."""

PERMANENT_ERRORS = (
    errors.ClusterAuthorizationFailedError,
    errors.GroupAuthorizationFailedError,
    errors.IllegalStateError,
    errors.IncompatibleBrokerVersion,
    errors.InvalidTopicError,
    errors.InvalidTransactionTimeout,
    errors.SaslAuthenticationFailed,
    errors.SecurityDisabled,
    errors.TopicAuthorizationFailedError,
    errors.TransactionalIdAuthorizationFailed,
    errors.UnsupportedSaslMechanismError,
)

FENCE_ERRORS = (errors.ProducerFenced, errors.InvalidProducerEpoch)
"""A newer owner has taken the partition, or the broker has ended the transaction after its timeout."""


class InvalidRecordError(errors.BrokerResponseError):  # type: ignore[misc]  # aiokafka has no types
    """The broker takes no such record, such as one without a key in a compacted topic. The library knows no code 87."""

    errno = 87
    message = "INVALID_RECORD"
    description = "This record has failed the validation on the broker and hence was rejected."


errors.kafka_errors[InvalidRecordError.errno] = InvalidRecordError

RECORD_ERRORS = (
    InvalidRecordError,
    errors.MessageSizeTooLargeError,
    errors.PolicyViolationError,
    errors.RecordListTooLargeError,
    errors.RecordTooLargeError,
    errors.UnsupportedForMessageFormatError,
)
"""The broker refused a batch for a record in it, mostly for its size, and wrote nothing of it."""


@dataclass(frozen=True, slots=True)
class Security:
    """How to authenticate. `protocol` is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, as Kafka names them."""

    protocol: str = "PLAINTEXT"
    mechanism: str = "PLAIN"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    tokens: AbstractTokenProvider | None = field(default=None, repr=False)
    """Of the mechanism OAUTHBEARER."""


@dataclass(frozen=True, slots=True)
class KafkaConnection:
    """Where the brokers are (`host:port,host:port`), our client id, and how to authenticate."""

    bootstrap: str
    client_id: str = "leadclock"
    security: Security = Security()

    def options(self, *, request_timeout_seconds: float = DEADLINE_SECONDS) -> dict[str, Any]:
        """Return the arguments that every aiokafka client takes."""
        return {
            "bootstrap_servers": self.bootstrap.split(","),
            "client_id": self.client_id,
            "request_timeout_ms": int(request_timeout_seconds * 1000),
            "security_protocol": self.security.protocol,
            "sasl_mechanism": self.security.mechanism,
            "sasl_plain_username": self.security.username,
            "sasl_plain_password": self.security.password,
            "sasl_oauth_token_provider": self.security.tokens,
            "ssl_context": self.security.tls,
        }


def to_log_error(error: BaseException, doing: str, fenced: tuple[str, int] | None = None) -> LogError:
    """Translate an error of the library to one of the port; `fenced` names the partition that was owned."""
    if isinstance(error, LogError):
        return error
    error, wrapped = _answer_in(error), error
    is_fence = isinstance(error, FENCE_ERRORS) or (error is not wrapped and isinstance(error, errors.UnknownError))
    if fenced is not None and is_fence:
        return FencedError(*fenced)
    if isinstance(error, RECORD_ERRORS):
        return RecordRefusedError(f"{doing}: the broker takes no such record ({error!r})", index=None)
    if isinstance(error, TimeoutError):
        return LogError(f"{doing}: no answer in time")
    if isinstance(error, errors.KafkaConnectionError | errors.NodeNotReadyError | OSError):
        return LogError(f"{doing}: no broker answers")
    why = repr(error)
    if isinstance(error, errors.InvalidTransactionTimeout):
        setting = f"transaction.max.timeout.ms={TRANSACTION_TIMEOUT_MS} or more on every broker"
        why = f"a broker allows shorter transactions than leadclock needs; set {setting}"
    return LogError(f"{doing}: {why}", retryable=not isinstance(error, PERMANENT_ERRORS))


def _answer_in(error: BaseException) -> BaseException:
    """Return what the broker answered: the library wraps an answer to a transaction that it does not expect.

    One of these is UNKNOWN_SERVER_ERROR. A coordinator of Kafka 4.3.0 gives it to a commit that comes while a newer owner is
    fencing the older ("Preparing transaction state transition to ONGOING while it already a pending state
    PREPARE_EPOCH_FENCE" in its log). So it counts as a fence there: an owner that was not fenced is confirmed by the group.
    """
    cause = error.__cause__
    return cause if type(error) is errors.KafkaError and isinstance(cause, errors.KafkaError) else error
