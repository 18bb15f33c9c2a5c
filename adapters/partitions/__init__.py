"""How do partitions live in a process? What drives the runner of the engine: hosts, feeds, outboxes, snapshots."""
