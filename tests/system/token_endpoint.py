"""Which OAuth server gives tokens to tests? One of this file: client credentials (RFC 6749), tokens signed by RS256."""

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from adapters.local.process import LOCALHOST
from tests.system.certificates import Issued

CLIENT, SECRET = "leadclock", "client:secret+1"
AUDIENCE = "kafka"
KEY_ID = "test"


class TokenServer:
    """Where tokens come from, how many were given, and the public key that brokers check them by."""

    def __init__(self, *, held_seconds: int) -> None:
        self._key = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
        self.held_seconds = held_seconds
        self.given = 0
        self.url = ""

    def write_key_set(self, path: Path) -> None:
        """Write the public key as a JSON Web Key Set (RFC 7517)."""
        numbers = self._key.public_key().public_numbers()
        n, e = (encoded(value.to_bytes((value.bit_length() + 7) // 8)) for value in (numbers.n, numbers.e))
        path.write_text(json.dumps({"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": KEY_ID, "n": n, "e": e}]}))

    def token(self, subject: str) -> str:
        """Return a new token of a client."""
        now = int(time.time())
        claims = {"sub": subject, "aud": AUDIENCE, "iat": now, "exp": now + self.held_seconds, "scope": ["kafka"]}
        head = {"alg": "RS256", "kid": KEY_ID, "typ": "JWT"}
        signed = ".".join(encoded(json.dumps(part).encode()) for part in (head, claims))
        return f"{signed}.{encoded(self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


@contextmanager
def token_server(server: Issued, *, held_seconds: int = 3600) -> Iterator[TokenServer]:
    """Serve tokens by HTTPS until the context ends."""
    tokens = TokenServer(held_seconds=held_seconds)
    login = base64.b64encode(b"leadclock:client%3Asecret%2B1").decode()  # each part is encoded before: section 2.3.1

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            is_known = self.headers["Authorization"] == f"Basic {login}" and form["grant_type"] == ["client_credentials"]
            if is_known:
                tokens.given += 1
                held = {"token_type": "Bearer", "expires_in": tokens.held_seconds}
                self._answer(200, {"access_token": tokens.token(CLIENT), **held})
            else:
                self._answer(401, {"error": "invalid_client"})

        def _answer(self, status: int, answer: object) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing into the test's output."""

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(server.certificate, server.key)
    with ThreadingHTTPServer((LOCALHOST, 0), Handler) as running:
        running.socket = tls.wrap_socket(running.socket, server_side=True, do_handshake_on_connect=False)
        tokens.url = f"https://{LOCALHOST}:{running.server_address[1]}/token"
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield tokens
        running.shutdown()
        thread.join()
