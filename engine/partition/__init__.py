"""How is one partition of an aggregate run? Read, decide, commit, fire what is due; over ports, with no clock of its own."""
