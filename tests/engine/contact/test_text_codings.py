"""Is a text of a person read in whatever alphabet its carrier delivers it?"""

import pytest

from engine.contact.schedule.text_codings import GSM_CODES, decode_joined, decode_text


@pytest.mark.parametrize(
    ("octets", "coding", "text"),
    [
        (b"STOP", 0, "STOP"),
        (b"\x00\x1b\x65\x1b\x01", 0, "@\u20ac\u00a3"),  # 3GPP TS 23.038, 6.2.1
        (b"\x1b\x14\x1b\x28\x1b\x29\x1b\x2f\x1b\x3c\x1b\x3d\x1b\x3e\x1b\x40", 0, "^{}\\[~]|"),
        (b"\x1b", 0, "\N{REPLACEMENT CHARACTER}"),
        (b"", 0, ""),
        ("St\u00f6p".encode("latin-1"), 0, "St\u00f6p"),  # carriers whose default is Latin-1
        ("ARR\u00caT".encode(), 0, "ARR\u00caT"),  # and those whose default is UTF-8
        (b"STOP", 1, "STOP"),
        ("ARR\u00caT".encode("latin-1"), 1, "ARR\u00caT"),
        ("ARR\u00caT".encode("latin-1"), 3, "ARR\u00caT"),
        ("ARR\u00caT".encode(), 3, "ARR\u00caT"),
        (b"don\x92t text me", 3, "don\u2019t text me"),  # Windows' quotes under the name of Latin-1
        (b"a\x81b", 3, "a\x81b"),
        (b"STOP", 2, "STOP"),
        (b"STOP", 4, "STOP"),
        ("ARR\u00caT".encode("latin-1"), 4, "ARR\u00caT"),
        (b"STOP\x00", 4, "STOP"),
        (b"\x01\x02", 4, None),
        (b"\x01\x02", 0xF5, None),
        ("\u0441\u0442\u043e\u043f".encode("iso8859_5"), 6, "\u0441\u0442\u043e\u043f"),
        ("\u05d4\u05e1\u05e8".encode("iso8859_8"), 7, "\u05d4\u05e1\u05e8"),
        ("\u0441\u0442\u043e\u043f".encode("utf-16-be"), 8, "\u0441\u0442\u043e\u043f"),
        (b"\xfe\xff" + "STOP".encode("utf-16-be"), 8, "STOP"),
        (b"\xff\xfe" + "STOP".encode("utf-16-le"), 8, "STOP"),
        ("\u0441\u0442\u043e\u043f".encode("utf-16-be"), 0x18, "\u0441\u0442\u043e\u043f"),
        ("\u505c\u6b62".encode("iso2022_jp"), 10, "\u505c\u6b62"),
        ("\uc911\uc9c0".encode("euc_kr"), 14, "\uc911\uc9c0"),
        ("\u505c\u6b62".encode("shift_jis"), 5, "\u505c\u6b62"),
        (b"STOP", 0x10, "STOP"),
        (b"STOP", 0xF0, "STOP"),
        (b"STOP", 0xF1, "STOP"),
        (b"STOP", 0xF5, "STOP"),
        (b"STOP", 0xC8, "STOP"),
        ("STOP".encode("utf-16-be"), 0xE0, "STOP"),
        (b"STOP", 0x2A, "STOP"),  # a coding that is in no table
    ],
)
def test_a_text_is_read_in_each_alphabet(octets: bytes, coding: int, text: str | None) -> None:
    assert decode_text(octets, coding) == text


def test_every_character_of_the_gsm_alphabet_is_read_as_it_is_written() -> None:
    assert decode_text(b"".join(GSM_CODES.values()), 0) == "".join(GSM_CODES)


@pytest.mark.parametrize("cut", range(1, 9))
def test_octets_of_one_alphabet_are_joined_wherever_they_were_cut(cut: int) -> None:
    octets = "a\U0001f600b\u20ac".encode("utf-16-be")
    assert decode_joined([(octets[:cut], 8), (octets[cut:], 8)]) == "a\U0001f600b\u20ac"
