"""Do the console's templates hold no script of their own, and are the files of others those that were reviewed?"""

import re
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "adapters/http/console"

INLINE = re.compile(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|javascript:|\|\s*safe|hx-on|hx-vars|js:")
"""What the content security policy would block, and what would show a value unescaped."""


def test_no_template_has_a_script_or_a_style_of_its_own() -> None:
    for template in (FOLDER / "templates").glob("*.html"):
        text = template.read_text("utf-8")
        assert not INLINE.search(text), template


def test_the_files_of_others_are_those_that_were_reviewed() -> None:
    listed = dict(line.split() for line in (FOLDER / "assets/checksums.txt").read_text("utf-8").splitlines())
    assert listed
    for name, digest in listed.items():
        assert sha256((FOLDER / "assets" / name).read_bytes()).hexdigest() == digest, name
