"""How does leadclock meet the world? Kafka, PostgreSQL, HTTP, gateways, and the command line that drives them."""
