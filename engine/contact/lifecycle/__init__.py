"""How does a lead go through its schedule? Enrolment, the walk from step to step, its end, and what stops or moves it."""
