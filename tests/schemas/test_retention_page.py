"""Does the page about retention say for every topic how long it keeps records?"""

import re
from pathlib import Path

from schemas.instant import DAY
from schemas.topics import TOPICS

PAGE = Path(__file__).parents[2] / "deploy" / "docs" / "backup.md"


def test_every_topic_is_there_with_its_days() -> None:
    rows = re.findall(r"^\| `([a-z.]+)` \| (\d+|kept) \|", PAGE.read_text(), re.MULTILINE)
    wanted = [(topic.name, "kept" if topic.retention_ms is None else str(topic.retention_ms // DAY)) for topic in TOPICS]
    assert rows == wanted
