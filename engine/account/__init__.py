"""What may a company's records say, and who gets a slot? The account aggregate: one per company."""
