"""How fast is it beside a bare baseline? One row per goal of `deploy/bench/table.py`, each a ratio in one run.

Ours and the baseline take turns, so that other load on this machine affects both.
"""
