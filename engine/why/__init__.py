"""Why is a lead acted on when it is, and not sooner? Answers for any instant, from what was decided and by trying it out."""
