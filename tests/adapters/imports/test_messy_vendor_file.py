"""Does each line of a messy file of a vendor become what it was meant as, or say which field is wrong?"""

import msgspec
import pytest

from adapters.imports.importing import ImportPlan, check_rows, map_columns
from adapters.imports.rows import FileRow, ImportFile, ImportFileError, examine, rows
from engine.submission.normalise import normalise
from tests.adapters.imports.messy_vendor_file import LINES, MessyLine, messy_file
from tests.engine.submission.conftest import RECEIVED_AT, folded

TOKEN = "schedule-token"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> ImportFile:
    path = tmp_path_factory.mktemp("messy") / "leads.csv"
    path.write_bytes(messy_file())
    return ImportFile(path, "csv", encoding="mixed")


@pytest.fixture(scope="module")
def found(file: ImportFile) -> list[FileRow]:
    examine(file)
    return list(rows(file))


def test_it_has_forty_lines_and_each_is_a_row(found: list[FileRow]) -> None:
    assert (len(LINES), len(found)) == (40, 40)


@pytest.mark.parametrize(("place", "line"), list(enumerate(LINES)))
def test_a_line_becomes_what_it_was_meant_as(file: ImportFile, found: list[FileRow], place: int, line: MessyLine) -> None:
    rules = folded()
    mapping = map_columns(file, {}, rules, TOKEN)
    plan = ImportPlan(file=file, mapping=mapping, lead_token=TOKEN, errors=file.path, warnings=file.path)
    checked = check_rows([found[place]], plan, rules, RECEIVED_AT, 1)
    if line.wrong is not None:
        (error,) = checked.errors
        assert error.field == line.wrong[0]
        assert line.wrong[1] in error.problem
        return
    assert checked.errors == []
    (_, body) = checked.good[0]
    request = normalise(msgspec.json.decode(body), rules, received_at=RECEIVED_AT, is_trusted=True).request
    became = (request.caller_id, request.data.get("first_name"), request.columns.get("zip_postal_code"), request.email)
    assert became == (line.caller_id, line.first_name, line.zip_code, line.email)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_in_one_encoding_it_is_refused_whole_and_the_sentence_says_what_to_type(file: ImportFile, encoding: str) -> None:
    with pytest.raises(ImportFileError, match="mixed where its lines are of both"):
        examine(msgspec.structs.replace(file, encoding=encoding))
