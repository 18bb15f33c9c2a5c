"""Where does a reader resume, and by which rules? At a committed offset, with a note."""

from msgspec import Struct


class Checkpoint(Struct, frozen=True, array_like=True):
    """Everything before `offset` is done; `note` is what the reader committed with the offset."""

    offset: int
    note: str = ""
