"""When is the next action of a lead, and what holds it back? Plans, contact hours and pauses."""
