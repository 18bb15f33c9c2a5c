"""What runs where there is no broker? The same log port in one process; see `log`."""
