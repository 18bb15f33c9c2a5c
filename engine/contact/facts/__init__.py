"""What is known of a contact? The person's state within one decision, the ledger of attempts, calls and results."""
