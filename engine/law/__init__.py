"""What does the law demand before somebody is contacted? Rules as data, each with its source."""
