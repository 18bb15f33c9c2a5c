"""Which decisions do the decision rules make? The digest of the history that they recorded, until 0.1.0 is released.

Until then a changed decision does not raise the version: the history is recorded again (CONTRIBUTING.md), and the recording
command writes its digest here. Data of a tree with another digest is refused (`adapters/data_digest.py`).
"""

RECORDED_HISTORY_SHA256 = "ffa50eafdf77334a730e36caa04e480023f3820f741b54f934071f8661edbf46"
