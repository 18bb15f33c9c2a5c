"""How does the command line create an account record? By a request, as the API does; it polls the rules for the result."""

from collections.abc import Mapping
from typing import Any

from adapters.partitions.feed import RulesTopic
from adapters.partitions.routing import partition_of
from engine.partition.ports import Appender, Clock, Log, Outgoing
from engine.partition.runner import TopicNames
from schemas.envelope import Envelope, to_headers
from schemas.errors import SenderError
from schemas.requests import RecordChangeRequested
from schemas.topics import ACCOUNTS_REQUESTS
from schemas.wire import to_json

WAIT_SECONDS = 60.0
"""How long an accounts role that has just started may take to join its group and to own its partitions."""

POLL_SECONDS = 0.05


class RecordNotCreatedError(SenderError):
    """A requested record was not created: no accounts role runs, or it refused."""


class RecordClient:
    """Creates records of one company; existing ones stay as they are."""

    def __init__(
        self, log: Log, names: TopicNames, rules: RulesTopic, appender: Appender, clock: Clock, *, company_id: int
    ) -> None:
        self._log = log
        self._names = names
        self._rules = rules
        self._appender = appender
        self._clock = clock
        self._company_id = company_id

    async def ensure(self, record_type: str, unique: str, fields: Mapping[str, Any]) -> int:
        """Return the id of the record with the value of the unique field; create it where there is none.

        Raises `RecordNotCreatedError` after a bounded wait, and `LogError`.
        """
        found = self.find(record_type, unique, fields[unique])
        if found is not None:
            return found
        await self._request(record_type, fields, request_id=f"{record_type}/{fields[unique]}/{self._clock.now()}")
        deadline = self._clock.monotonic() + WAIT_SECONDS
        while self._clock.monotonic() < deadline:
            await self._rules.refresh()
            found = self.find(record_type, unique, fields[unique])
            if found is not None:
                return found
            await self._clock.sleep(POLL_SECONDS)
        raise RecordNotCreatedError(
            f"the {record_type} {fields[unique]!r} was not made within {WAIT_SECONDS:.0f} s: "
            "no `leadclock accounts` runs, or it refused (see accounts.decisions)"
        )

    def find(self, record_type: str, unique: str, value: object) -> int | None:
        """Return the id of the live record of a type that has a value, or None."""
        for record in self._rules.rules.records(record_type, self._company_id):
            if record.body.get(unique) == value:
                return record.id
        return None

    def fields(self, record_type: str, record_id: int) -> dict[str, Any]:
        """Return the fields of a record that was found or created. Raises `RecordNotCreatedError` where it was deleted."""
        record = self._rules.rules.record(record_type, record_id)
        if record is None:
            raise RecordNotCreatedError(f"the {record_type} {record_id} is gone")
        return record.body

    async def _request(self, record_type: str, fields: Mapping[str, Any], *, request_id: str) -> None:
        key = str(self._company_id).encode()
        topic = self._names.of(ACCOUNTS_REQUESTS.name)
        request = RecordChangeRequested(
            company_id=self._company_id, type=record_type, operation="create", fields=dict(fields)
        )
        envelope = Envelope(id=request_id, type="record.change_requested", source="/cli", actor="cli;;")
        outgoing = Outgoing(topic, key, to_json(request), to_headers(envelope))
        await self._appender.append(partition_of(key, await self._log.partition_count(topic)), [outgoing])
