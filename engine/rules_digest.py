"""Which decisions do the decision rules make? The digest of the history that they recorded, until 0.1.0 is released.

Until then a changed decision does not raise the version: the history is recorded again (CONTRIBUTING.md), and the recording
command writes its digest here. Data of a tree with another digest is refused (`adapters/data_digest.py`).
"""

RECORDED_HISTORY_SHA256 = "42418f911da263c0862a9c6df849af36d921d4d8ca043195b6fdb4501abc4696"
