"""How fast does Quix Streams count by key, exactly once, with its state in RocksDB? Arguments: broker, topic, count, folder.

Prints {"seconds": ...}: from the first message that is processed to the end of the last transaction.
"""

# ruff: noqa: INP001 - a command of another environment, not a package

import json
import sys
import time

from quixstreams import Application
from quixstreams.state import State

started: list[float] = []


def count(lead: dict, state: State) -> dict:
    """Count the leads of a key: the state is read and written once per message."""
    if not started:
        started.append(time.perf_counter())
    seen = state.get("seen", 0) + 1
    state.set("seen", seen)
    return {"contact_key": lead["contact_key"], "seen": seen}


def main(broker: str, topic: str, messages: int, folder: str) -> None:
    """Process all messages and stop."""
    app = Application(
        broker_address=broker,
        consumer_group=f"{topic}.quix",
        auto_offset_reset="earliest",
        processing_guarantee="exactly-once",
        state_dir=folder,
        loglevel="WARNING",
    )
    source = app.topic(topic, key_deserializer="bytes", value_deserializer="json")
    target = app.topic(f"{topic}.counted", key_serializer="bytes", value_serializer="json")
    frame = app.dataframe(source).apply(count, stateful=True).to_topic(target)
    app.run(frame, count=messages, collect=False)
    sys.stdout.write(json.dumps({"seconds": time.perf_counter() - started[0]}) + "\n")


main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
