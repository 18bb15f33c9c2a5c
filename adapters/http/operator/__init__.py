"""What can somebody who operates the whole deployment ask for? Paths under `/api/v1/operator`, for operator keys alone."""
