"""How is a password stored and compared? As a hash by argon2id, made in a thread, two at once and few in line.

A hash takes 64 MiB and about 0.1 s of a core on purpose. Requests over what is in line are refused, so that a flood of them
takes neither the memory nor the cores of this process.
"""

import asyncio
import unicodedata
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from adapters.http.exchange.frequent_passwords import fault_of
from adapters.http.exchange.problems import ProblemError
from engine.submission.fields import FieldError

PASSWORD_LENGTH_MIN = 12
"""Characters of a password. NIST SP 800-63B asks for 8 beside a second factor, and for 15 without."""

PASSWORD_LENGTH_MAX = 128
"""Longer than any that a person types; NIST SP 800-63B asks for at least 64."""

HASHES_AT_ONCE = 2
"""Threads that hash: 128 MiB at most, and two cores."""

HASHES_WAITING_MAX = 40
"""Hashes in line: the last one is done after some two seconds."""

HASH_OF_NO_PASSWORD = "$argon2id$v=19$m=65536,t=3,p=4$YkeYLqRsc+5GLMjti5BEmA$5y72BLOO6DqcBAgJXZ0jlR8eYXwk7aAL+ECac4icpfo"  # noqa: S105
"""Of random bytes that were thrown away, with our parameters: compared with where a user has no password."""

BODY_ONLY = "must be in the body: addresses of requests are logged on their way"
"""Why no password or code is taken from the query."""

T = TypeVar("T")


class Passwords:
    """Hashes and compares passwords."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        self._threads = ThreadPoolExecutor(HASHES_AT_ONCE, thread_name_prefix="passwords")
        self._under_way = 0

    async def hash(self, password: str, known: Iterable[str] = ()) -> str:
        """Return the hash of a new password; `known` are the address of its user and the name of the company.

        Raises `ProblemError`: rate_limited, or validation_failed for one that is made of what is known.
        """
        fault = fault_of(password, known)
        if fault is not None:
            raise ProblemError("validation_failed", "Correct password and resend.", {"password": [fault]})
        return await self._run(lambda: self._hasher.hash(_normal(password)))

    async def is_right(self, password: str, known: str | None) -> bool:
        """Return whether a password has a hash; None takes as long as a wrong one. Raises `ProblemError` rate_limited."""
        is_same = await self._run(lambda: self._verify(_normal(password), known or HASH_OF_NO_PASSWORD))
        return is_same and known is not None

    def _verify(self, password: str, known: str) -> bool:
        try:
            return self._hasher.verify(known, password)
        except (Argon2Error, InvalidHashError):
            return False

    async def _run(self, work: Callable[[], T]) -> T:
        if self._under_way >= HASHES_AT_ONCE + HASHES_WAITING_MAX:
            detail = "Too many passwords are being checked. Try again in 2 s."
            raise ProblemError("rate_limited", detail, headers={"Retry-After": "2"})
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._under_way -= 1


def parse_password(value: Any) -> str:
    """Return a new password. Raises `FieldError` for one that is too short, too long, or among the most frequent."""
    if not isinstance(value, str):
        raise FieldError("must be text")
    if not PASSWORD_LENGTH_MIN <= len(value) <= PASSWORD_LENGTH_MAX:
        raise FieldError(f"must have {PASSWORD_LENGTH_MIN} to {PASSWORD_LENGTH_MAX} characters")
    fault = fault_of(value)
    if fault is not None:
        raise FieldError(fault)
    return value


def _normal(password: str) -> str:
    """Return one spelling of what keyboards spell in several ways."""
    return unicodedata.normalize("NFKC", password)
