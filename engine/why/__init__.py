"""Why is a lead contacted when it is, and not sooner? Answers for any instant, from decisions and by simulation."""
