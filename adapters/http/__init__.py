"""How does a client use leadclock over HTTP? Litestar transports bytes; binding, rules and answers are our code.

Nothing here decides about leads: a write becomes a request on a topic and is answered from the projection; a read is one
query.
"""
