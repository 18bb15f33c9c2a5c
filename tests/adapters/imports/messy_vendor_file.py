"""Which lines does a messy file of a vendor have, and what is each to become? Forty, in two encodings."""

from msgspec import Struct


class MessyLine(Struct, frozen=True):
    """A line as it is in the file, and what it becomes: number, first name and zip of a lead, or the field that is wrong."""

    text: bytes
    caller_id: str | None = None
    first_name: str | None = None
    zip_code: str | None = None
    email: str | None = None
    wrong: tuple[str, str] | None = None


HEADER = b"Phone Number,First Name,Last Name,E-Mail,Zip Code,State\r\n"


def good(
    text: str,
    caller_id: str | None,
    first_name: str | None = None,
    zip_code: str | None = None,
    email: str | None = None,
    *,
    encoding: str = "utf-8",
) -> MessyLine:
    return MessyLine(text.encode(encoding), caller_id, first_name, zip_code, email)


def bad(text: str, field: str, piece: str) -> MessyLine:
    return MessyLine(text.encode(), wrong=(field, piece))


LINES: tuple[MessyLine, ...] = (
    good(
        "(305) 555-0101,Ada,Lovelace,ada@example.com,33101,FL",
        "+13055550101",
        first_name="Ada",
        zip_code="33101",
        email="ada@example.com",
    ),
    good("+1 305 555 0102,,,,,", "+13055550102"),
    good("1-305-555-0103,,,,,", "+13055550103"),
    good("305.555.0104,,,,,", "+13055550104"),
    good("3055550105.0,,,,,", "+13055550105"),  # a number of a spreadsheet
    good('="3055550106",,,,,', "+13055550106"),  # text of a spreadsheet
    good("'+13055550107,,,,,", "+13055550107"),  # an apostrophe against formulas
    good("tel:+1-305-555-0108,,,,,", "+13055550108"),
    good("\uff13\uff10\uff15\uff15\uff15\uff15\uff10\uff11\uff10\uff19,,,,,", "+13055550109"),  # full width
    good("\u202a+13055550110\u202c,,,,,", "+13055550110"),  # pasted from a contact card
    good("305\u00a0555\u00a00111,,,,,", "+13055550111"),
    good("305-555-0112 ext. 7,,,,,", "+13055550112"),
    good("0013055550113,,,,,", "+13055550113"),
    good(" 3055550114 ,,,,,", "+13055550114"),
    good(",Eva,,eva@example.com,,", None, first_name="Eva", email="eva@example.com"),
    good("3055550116,Jos\u00e9,,,,", "+13055550116", first_name="Jos\u00e9", encoding="cp1252"),
    good("3055550117,Zo\u00eb,,,,", "+13055550117", first_name="Zo\u00eb"),
    good("3055550118,J\u00f6rg,M\u00fcller\u2019s,,,", "+13055550118", first_name="J\u00f6rg", encoding="cp1252"),
    good('3055550119,"Bud ""Buddy""",,,,', "+13055550119", first_name='Bud "Buddy"'),
    good('3055550120,"Mary\r\nAnn",,,,', "+13055550120", first_name="Mary\r\nAnn"),
    good('3055550121,Ada,"Smith, Jr.",,,', "+13055550121", first_name="Ada"),
    good("3055550122,,, Ada@Example.COM ,,", "+13055550122", email="Ada@Example.COM"),
    good("3055550123,,,,33101-1234,", "+13055550123", zip_code="33101-1234"),
    good("3055550124,,,,33101.0,", "+13055550124", zip_code="33101"),
    good('3055550125,,,,="01101",', "+13055550125", zip_code="01101"),
    good("3055550126,,,,2134,MA", "+13055550126", zip_code="02134"),  # a spreadsheet took its zero
    good("3055550127,,,,,Florida", "+13055550127"),
    good("3055550128,,,,,fl", "+13055550128"),
    good("3055550129", "+13055550129"),  # empty cells at the end are missing
    good("3055550130,,,,,,,,", "+13055550130"),  # or too many
    good("3055550131,N/A,,,NULL,-", "+13055550131"),
    good("3055550132,Ada,,ada@example.com.,,", "+13055550132", first_name="Ada"),  # with a warning
    good("3055550139,,,ada(at)example.com,,", "+13055550139"),  # so is this
    bad("1.30556E+10,,,,,", "phone_number", "digits"),
    bad("3.05556E+09,,,,,", "phone_number", "digits"),
    bad(",,,,33101,FL", "caller_id", "must be given"),
    bad("555-0136,,,,,", "phone_number", "not a valid telephone number"),
    bad("305-555-0137 / 305-555-0138,,,,,", "phone_number", "holds two numbers"),
    bad("3055550140,Ada,,,,,x", "", "has 7 cells"),
    bad("3055550141,A\x00da,,,,", "data.first_name", "NUL"),
)


def messy_file() -> bytes:
    """The file; a blank line is in the middle."""
    lines = [one.text + b"\r\n" for one in LINES]
    return b"\xef\xbb\xbf" + HEADER + b"".join(lines[:20]) + b"\r\n" + b"".join(lines[20:])
