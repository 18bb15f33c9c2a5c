"""How does a command exit that found no fault, but could not prove all that it was asked to?"""

FOLDED = 4
"""Decisions of other rules or other data were folded: a release that is named decides them again, this one cannot."""

UNPROVED = 3
"""The log no longer holds the beginning that the proof rests on; the output says what is proved and what is not."""
