"""How does Apache Kafka keep the promises of `engine.partition.ports`? `log` hands out the rest; `topics` prepares."""
