"""What is known of a lead, gathered for the question why: from the read schema at once, or from the log as proof."""
