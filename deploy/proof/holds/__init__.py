"""Does "stop all contacting" hold, and is nothing lost or doubled after its release? `make prove-holds`."""
