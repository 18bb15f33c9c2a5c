"""How does everything run on one machine? `leadclock up`: broker, database, all roles, sandbox channels, a demo company."""
