"""Which servers run on one machine? A real Apache Kafka and a real PostgreSQL, with their data in the data folder.

`resolution` chooses between what was given, what this machine can run, and the embedded log; `kafka` and `postgres` run
the servers; `process` starts and stops them, and finds those that an earlier run left behind.
"""
