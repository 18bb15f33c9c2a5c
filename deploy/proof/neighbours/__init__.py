"""Does one company's bad behaviour slow another's work? `python -m deploy.proof.neighbours` measures it."""
