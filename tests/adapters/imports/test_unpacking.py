"""Is the sheet of a stranger unpacked within bounds, and not a moment longer than somebody waits for it?"""

import asyncio
import os
import time
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook

from adapters.imports.rows import ImportFile, rows
from adapters.imports.sheets import SheetError
from adapters.imports.unpacking import TOO_MUCH_TEXT, unpack

ROWS = [("caller_id", "name"), ("+12125550114", "Zoë"), (None, None), ("+12125550115", 'two\nlines, "quoted"')]


def sheet(path: Path, *lines: tuple[object, ...]) -> Path:
    book = Workbook()
    for line in lines:
        book.active.append(line)
    book.save(path)
    return path


def with_entry(path: Path, name: str, content: bytes) -> Path:
    """Return a copy of a sheet with one entry of the archive replaced."""
    changed = path.with_suffix(".changed.xlsx")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            target.writestr(entry.filename, content if entry.filename == name else source.read(entry))
    return changed


async def test_an_unpacked_sheet_has_the_rows_of_the_sheet(tmp_path: Path) -> None:
    source, target = sheet(tmp_path / "leads.xlsx", *ROWS), tmp_path / "rows"
    await unpack(source, target)
    whole = list(rows(ImportFile(source, "xlsx")))
    assert list(rows(ImportFile(source, "xlsx", unpacked=target))) == whole
    assert [row.line for row in whole] == [2, 4]


CELL = b'<c r="A%d" t="inlineStr"><is><t>x</t></is></c>'
HEAD = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
TAIL = b"</sheetData></worksheet>"

HOSTILE = {
    "few bytes that unpack to many": (HEAD + b" " * (64 << 20) + TAIL, "unpacks to [0-9]+ bytes"),
    "a row far below": (HEAD + b'<row r="1048576">' + CELL % 1_048_576 + b"</row>" + TAIL, "more than 200001 rows"),
    "rows that are as wide as a sheet": (
        HEAD + b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (n, n) for n in range(1, 400)) + TAIL,
        "or 4000000 cells",
    ),
    "no XML": (b"<" * 100, "is no XLSX file"),
    "an entity that stands for many": (
        b'<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>' + HEAD + b"&b;" + TAIL,
        "is no XLSX file",  # openpyxl reads by defusedxml where that is installed
    ),
}


@pytest.mark.parametrize("case", sorted(HOSTILE))
async def test_a_hostile_sheet_is_refused_or_harmless(tmp_path: Path, case: str) -> None:
    content, said = HOSTILE[case]
    path = with_entry(sheet(tmp_path / "leads.xlsx", *ROWS), "xl/worksheets/sheet1.xml", content)
    before = time.monotonic()
    if said:
        with pytest.raises(SheetError, match=said):
            await unpack(path, tmp_path / "rows")
    else:
        await unpack(path, tmp_path / "rows")
        assert (tmp_path / "rows").stat().st_size < 1_000
    assert time.monotonic() - before < 60


@pytest.mark.parametrize(("limit", "value"), [("PROCESSOR_SECONDS", 1), ("MEMORY_BYTES", 32 << 20), ("OUTPUT_BYTES", 1_000)])
async def test_the_operating_system_ends_what_takes_too_much(
    tmp_path: Path, limit: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sheet(tmp_path / "leads.xlsx", *[(f"+1212555{n:04}", f"name {n}") for n in range(60_000)])
    script = tmp_path / "limited.py"
    script.write_text(
        f"import sys; from adapters.imports import unpacking as u; u.{limit} = {value}; sys.exit(u.main(*sys.argv[1:]))"
    )
    command = asyncio.create_subprocess_exec

    async def limited(program: str, _flag: str, _module: str, *given: str, **more: object) -> object:
        return await command(program, str(script), *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", limited)
    with pytest.raises(SheetError, match=TOO_MUCH_TEXT):
        await unpack(path, tmp_path / "rows")


async def test_the_child_ends_with_who_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sheet(tmp_path / "leads.xlsx", *[(f"+1212555{n:04}", f"name {n}") for n in range(60_000)])
    children: list[asyncio.subprocess.Process] = []
    command = asyncio.create_subprocess_exec

    async def noted(*given: str, **more: object) -> asyncio.subprocess.Process:
        children.append(await command(*given, **more))  # type: ignore[arg-type]
        return children[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    work = asyncio.create_task(unpack(path, tmp_path / "rows"))
    while not children:
        await asyncio.sleep(0.01)
    work.cancel()
    await asyncio.wait([work])
    assert children[0].returncode is not None
    with pytest.raises(ProcessLookupError):
        os.kill(children[0].pid, 0)
