"""How do leads that producers put on Kafka become requests? The `intake` role."""
