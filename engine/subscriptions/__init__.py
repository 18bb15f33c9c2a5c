"""Which events are there for other systems, and what does each say?"""
