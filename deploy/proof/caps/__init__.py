"""Was a cap passed, and are all counters right? `make prove-caps`: limited calls, and schedulers killed under load."""
