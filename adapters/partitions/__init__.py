"""How do partitions run in a process? Hosts, the rules feed, outboxes and snapshots drive the runner of the engine."""
