"""How did the last transaction of a partition's owners end? Its coordinator says so, until a new owner starts.

The start of a producer aborts what is open and clears the coordinator's state, so the question comes before it. The answer
decides by which marker a new owner settles what may hang (`producers.settle`). aiokafka 0.14 has no such request.
"""

from typing import Any, ClassVar

from aiokafka import errors
from aiokafka.client import CoordinationType
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.transaction import EndTxnRequest
from aiokafka.protocol.types import CompactArray, CompactString, Int16, Int32, Int64, Schema, TaggedFields
from msgspec import Struct

from adapters.kafka.connection import DEADLINE_SECONDS, KafkaConnection
from adapters.kafka.coordinators import Coordinators

_ID_NOT_FOUND = 105
"""TRANSACTIONAL_ID_NOT_FOUND, which the library does not know."""

_ENDS_BY_ABORT = {"Ongoing", "PrepareAbort", "CompleteAbort", "PrepareEpochFence"}
"""What is ongoing is aborted by the start of the new owner."""

_ENDS_BY_COMMIT = {"PrepareCommit", "CompleteCommit"}


class _DescribeTransactionsResponse(Response):  # type: ignore[misc]  # aiokafka has no types
    API_KEY = 65
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "states",
            CompactArray(
                ("error_code", Int16),
                ("transactional_id", CompactString()),
                ("state", CompactString()),
                ("timeout_ms", Int32),
                ("start_time_ms", Int64),
                ("producer_id", Int64),
                ("producer_epoch", Int16),
                (
                    "topics",
                    CompactArray(("topic", CompactString()), ("partitions", CompactArray(Int32)), ("tags", TaggedFields)),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class _DescribeTransactionsRequestV0(RequestStruct):  # type: ignore[misc]
    FLEXIBLE_VERSION = True
    API_KEY = 65
    API_VERSION = 0
    RESPONSE_TYPE = _DescribeTransactionsResponse
    SCHEMA = Schema(("transactional_ids", CompactArray(CompactString())), ("tags", TaggedFields))


class _DescribeTransactionsRequest(Request[_DescribeTransactionsRequestV0]):  # type: ignore[misc]
    API_KEY: ClassVar[int] = 65

    def __init__(self, transactional_id: str) -> None:
        self._transactional_id = transactional_id

    def build(self, request_struct_class: type[_DescribeTransactionsRequestV0]) -> _DescribeTransactionsRequestV0:
        return request_struct_class([self._transactional_id], {})


class ProducerEpoch(Struct, frozen=True):
    """Which start of which producer a transaction belongs to."""

    producer_id: int
    epoch: int


class LastTransaction(Struct, frozen=True):
    """What the coordinator says of the last transaction: its word for the state, and whose it is."""

    state: str
    owner: ProducerEpoch


class Unsettled(Struct, frozen=True):
    """How a transaction ended, as long as something of it may hang; `settler` is the producer that settles it now."""

    is_abort: bool
    settler: ProducerEpoch | None = None


class LastTransactions:
    """Asks coordinators how transactions end, and keeps each answer until its partition is settled.

    A take-over that fails between the start of its producer and the settling has cleared the coordinator's state: the next
    attempt of this process goes by the answer that is kept. One of another process takes the transaction for committed.
    """

    def __init__(self, connection: KafkaConnection, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._coordinators = Coordinators(connection, CoordinationType.TRANSACTION, deadline_seconds=deadline_seconds)
        self._unsettled: dict[str, Unsettled] = {}

    async def look_up_abort(self, transactional_id: str) -> bool:
        """Return and keep whether the last transaction is aborted, or will be when a producer starts. Raises `LogError`.

        The empty transaction of an attempt of this process that broke off says nothing about it: the answer from before
        stays, and an empty one that was to commit is committed here. The next producer would abort it, and with it what
        hangs.
        """
        doing = f"asking how the last transaction of {transactional_id} ended"
        request = _DescribeTransactionsRequest(transactional_id)
        last = await self._coordinators.ask(transactional_id, doing, request, _last_transaction)
        kept = self._unsettled.get(transactional_id)
        if last is None:
            return kept is not None and kept.is_abort
        if kept is not None and last.owner == kept.settler:
            if last.state == "Ongoing" and not kept.is_abort:
                await self._commit(transactional_id, last.owner)
            return kept.is_abort
        if last.state in _ENDS_BY_ABORT or last.state in _ENDS_BY_COMMIT:
            kept = self._unsettled[transactional_id] = Unsettled(last.state in _ENDS_BY_ABORT)
        return kept is not None and kept.is_abort

    def begin_settling(self, transactional_id: str, settler: ProducerEpoch) -> None:
        """Note whose empty transaction settles the partition from now on."""
        kept = self._unsettled.get(transactional_id)
        self._unsettled[transactional_id] = Unsettled(kept is not None and kept.is_abort, settler)

    def forget(self, transactional_id: str) -> None:
        """Forget the answer: a marker of the new owner stands in everything that the last transaction wrote."""
        self._unsettled.pop(transactional_id, None)

    async def close(self) -> None:
        """Close the connection. Never raises."""
        await self._coordinators.close()

    async def _commit(self, transactional_id: str, owner: ProducerEpoch) -> None:
        doing = f"committing the empty transaction of {transactional_id} that broke off"
        request = EndTxnRequest(transactional_id, owner.producer_id, owner.epoch, transaction_result=True)
        await self._coordinators.ask(transactional_id, doing, request, _check_end)


def _last_transaction(answer: Any) -> LastTransaction | None:
    """Return what the coordinator knows, None where it knows no such id."""
    error_code, transactional_id, state, _timeout_ms, _started_ms, producer_id, epoch, *_rest = answer.states[0]
    if error_code == _ID_NOT_FOUND:
        return None
    if error_code:
        raise errors.for_code(error_code)(transactional_id)
    return LastTransaction(str(state), ProducerEpoch(int(producer_id), int(epoch)))


def _check_end(answer: Any) -> None:
    if answer.error_code:
        raise errors.for_code(answer.error_code)
