"""What did a topic lose, and how does a deployment go on? Looking, folding, and decisions of an operator."""
