"""How are a session's own requests and answers written? As SMPP 3.4, section 4, has them.

smpp34 writes and reads texts and receipts, with their optional parameters; of all else it gives and takes header and body.
"""

import struct
from collections.abc import Sequence

from msgspec import Struct

from schemas.errors import DependencyError

HEADER = struct.Struct(">IIII")
"""Length, command, status, sequence number."""

RESPONSE = 0x8000_0000
GENERIC_NACK = 0x8000_0000
QUERY_SM, SUBMIT_SM, DELIVER_SM, UNBIND = 0x03, 0x04, 0x05, 0x06
BIND_TRANSCEIVER, ENQUIRE_LINK, ALERT_NOTIFICATION = 0x09, 0x15, 0x102

RECEIPTED_MESSAGE_ID, NETWORK_ERROR_CODE, MESSAGE_PAYLOAD, MESSAGE_STATE = 0x001E, 0x0423, 0x0424, 0x0427
"""Tags of optional parameters (section 5.3.2)."""

SAR = (0x020C, 0x020E, 0x020F)
"""`sar_msg_ref_num`, `sar_total_segments`, `sar_segment_seqnum`: which part of a text this is."""

OK = 0
INVALID_LENGTH, INVALID_COMMAND = 0x02, 0x03
NOT_NOW = 0x64
"""ESME_RX_T_APPN: the receiver cannot take it at present; the carrier sends it again."""

PDU_BYTES_MAX = 70_000
"""A message_payload has at most 64 KiB."""

SEQUENCE_MAX = 0x7FFF_FFFF

VERSION = 0x34


class BrokenPduError(DependencyError):
    """What the carrier sent is no SMPP: the session cannot go on."""


class Header(Struct, frozen=True):
    """The header of a PDU."""

    length: int
    command: int
    status: int
    sequence: int


def read_header(octets: bytes) -> Header:
    """Return a header. Raises `BrokenPduError` where its length cannot be."""
    found = Header(*HEADER.unpack(octets))
    if not HEADER.size <= found.length <= PDU_BYTES_MAX:
        raise BrokenPduError(f"a PDU of {found.length} octets")
    return found


def written(command: int, sequence: int, body: bytes = b"", *, status: int = OK) -> bytes:
    """Return a PDU."""
    return HEADER.pack(HEADER.size + len(body), command, status, sequence) + body


def bind_transceiver(system_id: str, password: str, system_type: str) -> bytes:
    """Return the body of a request to send and receive; the carrier knows itself which numbers are the account's."""
    return _strings(system_id, password, system_type) + bytes((VERSION, 0, 0)) + _strings("")


def query_sm(message_id: str, ton: int, npi: int, source: str) -> bytes:
    """Return the body of a question about a text; `source` is the number that it was sent from."""
    return _strings(message_id) + bytes((ton, npi)) + _strings(source)


def first_string(body: bytes) -> str:
    """Return the string that a body begins with: the id of a text, in the answer to it."""
    return body.partition(b"\x00")[0].decode("latin-1")


def state_of_query(body: bytes) -> tuple[int, int]:
    """Return state and error code of an answer to `query_sm`. Raises `BrokenPduError`."""
    numbers: Sequence[bytes] = body.split(b"\x00", 2)[2:]
    if not numbers or len(numbers[0]) < 2:  # noqa: PLR2004 - the two
        raise BrokenPduError("an answer to query_sm without a state")
    return numbers[0][0], numbers[0][1]


def _strings(*texts: str) -> bytes:
    return b"".join(text.encode("latin-1") + b"\x00" for text in texts)
