"""What is left after faults at random? `make faults`: three brokers, every role, and one after the other struck."""
