"""Can the bytes of every past version still be read, and are they written the same today?"""

import sys
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from engine.partition.state import unpack_any
from schemas.contact import Lead
from schemas.instant import EPOCH
from schemas.short import SHORT_NAMES
from schemas.state import ENTITIES
from schemas.wire import Entity, from_json, to_json, to_pack
from tests.schemas.corpus import GOLDEN, files_of, kinds, missing, packed_of, sample

KINDS = kinds()
FILES = sorted(GOLDEN.glob("*.json"))
PACKED = [path for name in ENTITIES for path in files_of(f"state.{name}")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bytes_of_every_version_are_read_and_written_the_same(path: Path) -> None:
    name = path.name.rsplit(".", 2)[0]
    value = from_json(path.read_bytes(), KINDS[name])
    assert to_json(value) == path.read_bytes()


@pytest.mark.parametrize("name", KINDS)
def test_every_field_is_shown_by_some_file(name: str) -> None:
    assert files_of(name), f"no bytes of {name} are kept: run python -m tests.schemas.corpus and commit what it adds"
    assert not missing(name, KINDS[name]), "run python -m tests.schemas.corpus and commit the file that it adds"


@pytest.mark.parametrize("name", KINDS)
def test_a_sample_has_every_field(name: str) -> None:
    whole = msgspec.structs.asdict(sample(KINDS[name]))
    written = msgspec.json.decode(to_json(sample(KINDS[name])))
    assert len(written) - ("type" in written and "type" not in whole) - ("kind" in written and "kind" not in whole) == len(
        whole
    )


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_field_that_is_not_known_is_passed_over(kind: type[Struct]) -> None:
    decoded = msgspec.json.decode(to_json(sample(kind))) | {"of_a_later_version": {"a": 1}}
    assert from_json(msgspec.json.encode(decoded), kind) == sample(kind)


@pytest.mark.parametrize("name", ENTITIES)
def test_the_changelog_gives_back_what_was_packed(name: str) -> None:
    entity = sample(ENTITIES[name])
    assert isinstance(entity, Entity)
    packed = to_pack(entity)
    assert unpack_any(f"{name}/1", packed) == entity
    assert to_pack(unpack_any(f"{name}/1", packed)) == packed
    assert to_json(unpack_any(f"{name}/1", packed)) == to_json(entity)


@pytest.mark.parametrize("path", PACKED, ids=lambda path: path.stem)
def test_packed_bytes_of_every_version_are_read_and_written_the_same(path: Path) -> None:
    _, name, _, _ = path.name.split(".")
    packed = packed_of(path).read_bytes()
    entity = unpack_any(f"{name}/1", packed)
    assert type(entity) is ENTITIES[name]
    assert to_json(entity) == path.read_bytes()
    # Not byte for byte: the head of a map is longer where a struct may have more than fifteen fields.
    assert unpack_any(f"{name}/1", to_pack(entity)) == entity


def test_short_names_are_letters_of_their_own() -> None:
    letters = list(SHORT_NAMES.values())
    assert len(set(letters)) == len(letters)
    assert all(len(letter) == 1 and letter.isascii() and letter.isalnum() for letter in letters)
    assert set(letters).isdisjoint(name for kind in ENTITIES.values() for name in kind.__struct_fields__)


def test_packing_leaves_an_entity_as_it_was() -> None:
    broken = Lead(id=1, uuid="\ud800", company_id=1, contact_key="1|+1", created_at=EPOCH, updated_at=EPOCH)
    with pytest.raises(UnicodeEncodeError):
        to_pack(broken)
    assert type(broken) is Lead


def test_what_is_kept_of_an_entity_takes_no_more_room_than_its_bytes() -> None:
    entities = [
        Lead(id=1, uuid="u" * size, company_id=1, contact_key="1|+1", created_at=EPOCH, updated_at=EPOCH)
        for size in range(400)
    ]
    to_pack(entities[0])  # makes what packs them
    taken = []
    for _ in range(3):  # threads of earlier tests may allocate meanwhile; the least is what packing itself takes
        tracemalloc.start()
        try:
            kept = [to_pack(entity) for entity in entities]
            taken.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    assert min(taken) <= sum(map(sys.getsizeof, [kept, *kept])) * 1.02


def test_no_file_is_of_a_struct_that_is_gone() -> None:
    assert {path.name.rsplit(".", 2)[0] for path in FILES} <= KINDS.keys()
