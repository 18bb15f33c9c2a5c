"""Can recorded bytes still be read, and are they written the same today?"""

import sys
import tracemalloc
from collections.abc import Callable, Iterable

import msgspec
import pytest

from engine.partition.state import unpack_any
from schemas.contact import Lead
from schemas.instant import EPOCH
from schemas.short import SHORT_NAMES
from schemas.state import ENTITIES
from schemas.wire import Entity, from_json, to_json, to_pack
from tests.schemas.corpus import GOLDEN, files_of, kept_smallest, kinds, missing, name_of, packed_of, sample

ADD = "python -m tests.schemas.corpus"
KINDS = kinds()
FILES = {path.name: path for path in sorted(GOLDEN.glob("*.json"))}
PACKED = [path.name for name in ENTITIES for path in files_of(f"state.{name}")]


def faults(names: Iterable[str], is_right: Callable[[str], bool]) -> str:
    """Return for which names a check does not hold, or what it raises, in a line each."""
    lines = []
    for name in names:
        try:
            if not is_right(name):
                lines.append(name)
        except Exception as error:  # noqa: BLE001 - the other names are checked too
            lines.append(f"{name}: {error!r}")
    return "\n".join(lines)


def test_bytes_of_every_file_are_read_and_written_the_same() -> None:
    assert not (said := faults(FILES, lambda name: _is_written_the_same(FILES[name].read_bytes(), name_of(FILES[name])))), (
        said
    )


def test_the_smallest_form_of_every_struct_is_read_and_written_the_same() -> None:
    """A field that was added later has a default: what lacks it is read."""
    kept = kept_smallest()
    assert kept.keys() == KINDS.keys(), f"run {ADD} and commit what it adds"
    assert not (said := faults(kept, lambda name: _is_written_the_same(kept[name], name))), said


def _is_written_the_same(value: bytes, name: str) -> bool:
    return to_json(from_json(value, KINDS[name])) == value


def test_every_field_is_shown_by_some_file() -> None:
    said = faults(KINDS, lambda name: bool(files_of(name)) and not missing(name, KINDS[name]))
    assert not said, f"run {ADD} and commit the files that it adds for\n{said}"


def test_a_sample_has_every_field() -> None:
    def is_whole(name: str) -> bool:
        whole = msgspec.structs.asdict(sample(KINDS[name]))
        written = msgspec.json.decode(to_json(sample(KINDS[name])))
        tags = [tag for tag in ("type", "kind") if tag in written and tag not in whole]
        return len(written) - len(tags) == len(whole)

    assert not (said := faults(KINDS, is_whole)), said


def test_a_field_that_is_not_known_is_passed_over() -> None:
    def is_passed_over(name: str) -> bool:
        decoded = msgspec.json.decode(to_json(sample(KINDS[name]))) | {"of_a_later_version": {"a": 1}}
        return from_json(msgspec.json.encode(decoded), KINDS[name]) == sample(KINDS[name])

    assert not (said := faults(KINDS, is_passed_over)), said


def test_the_changelog_gives_back_what_was_packed() -> None:
    def is_given_back(name: str) -> bool:
        entity = sample(ENTITIES[name])
        assert isinstance(entity, Entity)
        packed = to_pack(entity)
        unpacked = unpack_any(f"{name}/1", packed)
        return (unpacked, to_pack(unpacked), to_json(unpacked)) == (entity, packed, to_json(entity))

    assert not (said := faults(ENTITIES, is_given_back)), said


def test_packed_bytes_of_every_file_are_read_and_written_the_same() -> None:
    def is_packed_the_same(file: str) -> bool:
        name = name_of(FILES[file]).removeprefix("state.")
        entity = unpack_any(f"{name}/1", packed_of(FILES[file]).read_bytes())
        # Not byte for byte: the head of a map is longer where a struct may have more than fifteen fields.
        is_kept = unpack_any(f"{name}/1", to_pack(entity)) == entity
        return type(entity) is ENTITIES[name] and to_json(entity) == FILES[file].read_bytes() and is_kept

    assert not (said := faults(PACKED, is_packed_the_same)), said


def test_every_fault_is_named() -> None:
    assert faults(["a", "b", "c"], lambda name: {"a": True, "b": False}[name]) == "b\nc: KeyError('c')"


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
    assert {name_of(path) for path in FILES.values()} <= KINDS.keys()
