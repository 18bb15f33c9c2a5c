"""How does the interface describe itself? OpenAPI and AsyncAPI documents, their pages, examples and links."""
