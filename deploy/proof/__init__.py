"""What proves that nothing is lost and nothing doubled? `make prove`: a deployment under load, killed again and again."""
