"""Can every planted defect still be planted? Its patch applies at one place, and the tests that it names are there."""

import re

import pytest

from tests.planted.patch import ROOT, Patch, apply, patches, places


@pytest.mark.parametrize("patch", patches(), ids=lambda patch: patch.name)
def test_a_planted_defect_applies_and_names_its_tests(patch: Patch) -> None:
    assert patch.defect.endswith("."), "a patch begins with `Defect:` and a sentence"
    assert patch.finders, "a patch names a test that finds it, as `Found by: path::test`"
    for finder in patch.finders:
        path, _, name = finder.test.partition("::")
        bare = name.rpartition("::")[2].partition("[")[0]
        assert re.search(rf"def {bare}\(", (ROOT / path).read_text("utf-8")), f"{finder.test} is not there"
        assert finder.words, "a patch says by which words the test shows it, as `Shown as: words` in the next line"
    assert apply(patch, ROOT, "--check") == ""
    assert set(places(patch, ROOT)) == {1}, "git could plant it at another place with the same lines: give it more context"


def test_every_patch_is_small() -> None:
    """A large one is written for one version of the code, and says less clearly which line matters."""
    changed = {
        patch.name: len(re.findall(r"^[+-](?![+-])", patch.path.read_text("utf-8"), re.MULTILINE)) for patch in patches()
    }

    assert {name: lines for name, lines in changed.items() if lines > 20} == {}
