"""How do leads come in from a file? Checked line by line, and sent once each, however often that is interrupted."""
