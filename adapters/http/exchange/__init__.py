"""How does one request become one answer? Reading, access, limits, errors, sending; what every operation shares."""
