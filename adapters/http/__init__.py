"""How does the outside speak with leadclock over HTTP? Litestar carries bytes; binding, rules and answers are ours.

Nothing in here decides: a write becomes a request on a topic and is answered from the projection, a read is one query.
"""
