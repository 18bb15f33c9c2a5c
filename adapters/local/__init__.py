"""What runs underneath on one machine? A real Apache Kafka and a real PostgreSQL, kept in the data folder.

`resolution` chooses between what was given, what this machine can run, and the embedded log; `kafka` and `postgres` run
the servers; `process` keeps a server from outliving, or being mistaken for, anything else.
"""
