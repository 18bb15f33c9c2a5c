"""Is a deployment fit to be run? Each module here examines one part and returns findings; nothing stays changed."""
