"""How are recordings of calls kept? Fetched from the vendor, stored privately, deleted in time."""
