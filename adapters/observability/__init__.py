"""How does a process say what it does? Log lines, metrics, and three questions about its health."""
