"""What does each process of a deployment do? One module per role, all built from one context."""
