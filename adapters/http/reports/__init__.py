"""What do leads and calls add up to? Reports over HTTP."""
