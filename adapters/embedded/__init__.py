"""What stands in for Kafka where there is no broker? The `Log` port in one process; see `log`."""
