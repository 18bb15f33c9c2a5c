"""What did visitors see? Impressions are posted, alone or in batches, and listed."""
