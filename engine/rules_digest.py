"""Which decisions do the decision rules make? The digest of the history that they recorded, until 0.1.0 is released.

Until then a changed decision does not raise the version: the history is recorded again (CONTRIBUTING.md), and the recording
command writes its digest here. Data of a tree with another digest is refused (`adapters/data_digest.py`).
"""

RECORDED_HISTORY_SHA256 = "1b74fe21a9f0ca4fb42dfb75ae72bf31b2f20a1f0097b50b884ca7c9fd3e1d44"
