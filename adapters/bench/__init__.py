"""How fast is it, against the least that anybody could do? One row per promise of design.md 9, each a ratio in one run.

Ours and the baseline take turns, so that whatever else this machine does falls on both.
"""
