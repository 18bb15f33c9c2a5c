"""What is sent to a gateway, and may it be sent? Commands, the buyers and numbers they use, and their slots."""
