"""Which decisions do the decision rules make? The digest of the history that they recorded, until 0.1.0 is released.

Until then a changed decision does not raise the version: the history is recorded again (CONTRIBUTING.md), and the recording
command writes its digest here. Data of a tree with another digest is refused (`adapters/data_digest.py`).
"""

RECORDED_HISTORY_SHA256 = "51b70443ff59e98dbe07e0ce62afe7c4ad9c5139481ad3541ba48a8bb3007ab9"
