"""How do decisions become rows? Read committed decisions, keep the last row of each id, write rows and position together."""
