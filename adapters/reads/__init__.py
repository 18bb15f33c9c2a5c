"""What may a reader ask of the projection, and what does it promise? Postgres keeps these promises; HTTP relies on them."""
