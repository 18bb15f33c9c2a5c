"""Which certificates do tests of TLS use? Those of an authority that the test makes, by OpenSSL's program."""

import subprocess
from pathlib import Path

from msgspec import Struct

from adapters.local.process import LOCALHOST

DAYS = 365
SERVER_NAME = f"IP:{LOCALHOST}"


class Issued(Struct, frozen=True):
    """A key and a certificate that the authority has signed, as PEM files."""

    key: Path
    certificate: Path


class Authority:
    """A certificate authority in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self.certificate = folder / "ca.pem"
        self._new("authority", folder / "ca.key", self.certificate)

    def issue(self, subject: str, *, name: str = SERVER_NAME) -> Issued:
        """Issue a certificate for a server that answers as `name`, or for a client that logs in as `subject`."""
        issued = Issued(self._folder / f"{subject}.key", self._folder / f"{subject}.pem")
        signing: list[str | Path] = ["-CA", self.certificate, "-CAkey", self._folder / "ca.key"]
        signing += ["-addext", f"subjectAltName={name}"]
        self._new(subject, issued.key, issued.certificate, *signing)
        return issued

    def _new(self, subject: str, key: Path, certificate: Path, *more: str | Path) -> None:
        new_key = ["-newkey", "rsa:2048", "-nodes", "-days", str(DAYS), "-subj", f"/CN={subject}"]
        command = ["openssl", "req", "-x509", *new_key, *map(str, more), "-keyout", str(key), "-out", str(certificate)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
