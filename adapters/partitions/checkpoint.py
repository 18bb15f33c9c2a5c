"""Where does a reader go on, and what must it know there? An offset, and a note that was kept with it."""

from msgspec import Struct


class Checkpoint(Struct, frozen=True, array_like=True):
    """Everything before `offset` is done; `note` is what the reader had to say when it kept the offset."""

    offset: int
    note: str = ""
