"""A company's account records as one file: read from the API, compared, and applied to a company."""
