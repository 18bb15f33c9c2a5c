"""What is decided? Pure functions of state, input, time and rules; every effect is somebody else's."""
