"""What does an operator of the whole deployment look at? Partitions, lag and dead letters, of all companies, in the log."""
