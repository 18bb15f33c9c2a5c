"""Was everything decided by the rules, and is the record whole? Replays of the log for auditors."""
