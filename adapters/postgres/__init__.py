"""How is PostgreSQL used? Migrations, named SQL, a pool with our codecs, the queries of the read API, and claims.

Two schemas: `read` is a projection that can be dropped and rebuilt from the topics; `work` holds what a rebuild must never
touch (claims of deliveries and Idempotency-Keys). SQL names them `{read}` and `{work}`, so that a rebuild can run beside.
"""
