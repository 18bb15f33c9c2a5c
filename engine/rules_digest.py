"""Which decisions do the decision rules make? The digest of the history that they recorded, until 0.1.0 is released.

Until then a changed decision does not raise the version: the history is recorded again (CONTRIBUTING.md), and the recording
command writes its digest here. Data of a tree with another digest is refused (`adapters/data_digest.py`).
"""

RECORDED_HISTORY_SHA256 = "c35a49d8672e1b0c330417b877665fd4e40e451c1155442644fb4d8c69fc4305"
