"""What can be asked of a contact? One module for each kind of request, and for what it starts."""
