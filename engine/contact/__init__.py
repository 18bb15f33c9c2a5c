"""What happens to a person's leads? One aggregate per number or address decides it."""
