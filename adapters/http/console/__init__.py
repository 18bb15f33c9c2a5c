"""What does a person see in a browser? Pages under `/console`, which call the API's own operations for who is signed in."""
