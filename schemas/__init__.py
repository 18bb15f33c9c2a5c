"""Which words travel? Every message on a topic, every value of state and every answer over HTTP is a struct in here.

One source: JSON Schema, the AsyncAPI document and the OpenAPI document are generated from here. Fields are only ever added,
with a default, so that the bytes of every past version can still be read (tests/schemas/golden holds them to it).
"""
