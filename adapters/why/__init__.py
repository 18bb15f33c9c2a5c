"""What is known of a lead, for the question why? From the read schema at once, or from the log as proof."""
