"""How do the TLS settings of the database reach every connection? As parameters of its DSN, which all of them get.

The names are those of libpq: `sslmode`, `sslrootcert`, `sslcert`, `sslkey`. A DSN may have them itself; then the settings
may not say something else. What would have no effect is refused, because nobody would notice that nothing is checked.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

PARAMETERS: Mapping[str, str] = {
    "postgres_sslmode": "sslmode",
    "postgres_ca_file": "sslrootcert",
    "postgres_certificate_file": "sslcert",
    "postgres_key_file": "sslkey",
}
"""Setting -> parameter of the DSN."""

CHECKED = ("verify-ca", "verify-full")
ENCRYPTED = ("require", *CHECKED)
"""Any other mode takes a connection in clear text where the server offers no TLS."""

FILES = ("sslrootcert", "sslcert", "sslkey")


def read_tls_parameters(dsn: str) -> dict[str, str]:
    """Return the parameters of a DSN that are about TLS; of one that is given twice the last, as the library takes it."""
    given = parse_qs(urlsplit(dsn).query, keep_blank_values=True)
    return {name: given[name][-1] for name in PARAMETERS.values() if name in given}


def is_checked(dsn: str) -> bool:
    """Return whether connections by this DSN are refused where the server's certificate is not trusted."""
    return read_tls_parameters(dsn).get("sslmode") in CHECKED


def find_contradictions(dsn: str, given: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for everything in `given` (setting -> value) that the DSN contradicts, or that has no effect."""
    stated = read_tls_parameters(dsn)
    for setting, value in given.items():
        parameter = PARAMETERS[setting]
        if stated.get(parameter, value) != value:
            other = f"LEADCLOCK_POSTGRES_DSN has {parameter}={stated[parameter]}"
            yield f"{_variable(setting)} is {value!r}, but {other}: give one of them"
    mode = _mode(stated, given)
    if "postgres_ca_file" in given and mode not in CHECKED:
        yield f"LEADCLOCK_POSTGRES_CA_FILE has no effect with sslmode {mode}: it takes {' or '.join(CHECKED)}"
    if "postgres_certificate_file" in given and mode not in ENCRYPTED:
        yield f"LEADCLOCK_POSTGRES_CERTIFICATE_FILE has no effect with sslmode {mode}: it takes {', '.join(ENCRYPTED)}"
    if "postgres_key_file" in given and "sslcert" not in stated and "postgres_certificate_file" not in given:
        yield "LEADCLOCK_POSTGRES_KEY_FILE has no effect without LEADCLOCK_POSTGRES_CERTIFICATE_FILE"


def add_tls_parameters(dsn: str, given: Mapping[str, str]) -> str:
    """Return the DSN with the TLS settings in it; one that has them already comes back as it is."""
    stated = read_tls_parameters(dsn)
    added = {"sslmode": _mode(stated, given)} if "postgres_ca_file" in given else {}
    added |= {PARAMETERS[setting]: value for setting, value in given.items()}
    missing = [f"{name}={quote(value, safe='/')}" for name, value in added.items() if name not in stated]
    parts = urlsplit(dsn)
    return urlunsplit(parts._replace(query="&".join([*filter(None, [parts.query]), *missing])))


def _mode(stated: Mapping[str, str], given: Mapping[str, str]) -> str:
    """Return the mode that applies: one that is stated, else the strictest where there is an authority to check by."""
    default = "verify-full" if "postgres_ca_file" in given else "prefer"
    return given.get("postgres_sslmode") or stated.get("sslmode") or default


def _variable(setting: str) -> str:
    return f"LEADCLOCK_{setting.upper()}"
