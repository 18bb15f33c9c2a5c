"""How does a Kafka run that takes nobody without TLS? With a listener for each way to log in; as one broker or as three."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.local.cluster import ClusterNode
from adapters.local.jars import find_jars, find_java
from adapters.local.kafka import ManagedKafka, broker_answers, port_is_open
from adapters.local.process import LOCALHOST, free_port, run_to_end
from tests.system.certificates import Authority, Issued
from tests.system.token_endpoint import AUDIENCE

USER, PASSWORD = "leadclock", "hunter-2-hunter"
"""Of the listener with SCRAM."""

SESSION_MILLISECONDS = 600_000
"""After this a connection with a token is closed, or when the token ends: then a client must come with a new one."""

LISTENERS = {"SCRAM": "SASL_SSL", "OAUTH": "SASL_SSL", "CERTIFICATE": "SSL", "OWN": "PLAINTEXT", "CONTROLLER": "PLAINTEXT"}
SECURITY = "org.apache.kafka.common.security"


class SecureListeners(ManagedKafka):
    """Of brokers whose clients log in by SCRAM (`bootstrap`), a token (`by_token`) or a certificate (`by_certificate`)."""

    def secure(self, authority: Authority, server: Issued, key_set: Path | None = None) -> None:
        """Say whom to trust and what to show, before the broker is started."""
        self._authority, self._server, self._key_set = authority, server, key_set
        self.by_token, self.by_certificate, self._own = (f"{LOCALHOST}:{free_port()}" for _ in range(3))

    def _settings(self) -> dict[str, str]:
        store = self._folder / "server.pem"
        store.write_text(self._server.key.read_text() + self._server.certificate.read_text())
        addresses = {"SCRAM": self.bootstrap, "CERTIFICATE": self.by_certificate, "OWN": self._own}
        addresses |= {"OAUTH": self.by_token} if self._key_set else {}
        advertised = [f"{name}://{address}" for name, address in addresses.items()]
        return super()._settings() | {
            "listeners": ",".join([*advertised, f"CONTROLLER://{LOCALHOST}:{self.ports[1]}"]),
            "advertised.listeners": ",".join(advertised),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
            "inter.broker.listener.name": "OWN",
            "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{SECURITY}.scram.ScramLoginModule required;",
            "listener.name.certificate.ssl.client.auth": "required",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._authority.certificate),
            **(self._token_settings(self._key_set) if self._key_set else {}),
        }

    def _token_settings(self, key_set: Path) -> dict[str, str]:
        bearer = "listener.name.oauth.oauthbearer"
        return {
            "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{bearer}.sasl.jaas.config": f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required;",
            f"{bearer}.sasl.server.callback.handler.class": f"{SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler",
            f"{bearer}.connections.max.reauth.ms": str(SESSION_MILLISECONDS),
            "sasl.oauthbearer.jwks.endpoint.url": key_set.as_uri(),
            "sasl.oauthbearer.expected.audience": AUDIENCE,
        }

    def _command(self, *java_arguments: str) -> list[str]:
        allowed = [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self._key_set.as_uri()}"] if self._key_set else []
        return super()._command(*allowed, *java_arguments)

    async def _format(self) -> None:
        command = self._command("kafka.tools.StorageTool", "format", "--cluster-id", self._cluster_id())
        command += ["--config", str(self._properties), "--add-scram"]
        await run_to_end([*command, f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"], seconds=60, cwd=self._folder)

    async def _answers(self) -> bool:
        return await port_is_open(*self.bootstrap.split(":")) and await broker_answers(self._own)


class SecureKafka(SecureListeners):
    """One broker."""

    def __init__(self, folder: Path, authority: Authority, server: Issued, key_set: Path | None = None) -> None:
        super().__init__(folder, java=find_java(os.environ), jars=find_jars(os.environ))
        self.secure(authority, server, key_set)


class SecureNode(SecureListeners, ClusterNode):
    """One broker of three."""

    def __init__(self, folder: Path, *, authority: Authority, server: Issued, **node: Any) -> None:
        super().__init__(folder, **node)
        self.secure(authority, server)

    def _command(self, *java_arguments: str) -> list[str]:
        # Compiled once and lightly: three brokers that live for a minute never earn back what more costs.
        return super()._command("-XX:TieredStopAtLevel=1", *java_arguments)


@asynccontextmanager
async def secure_kafka(
    folder: Path, authority: Authority, server: Issued, key_set: Path | None = None
) -> AsyncIterator[SecureKafka]:
    """Run one; tokens are taken where `key_set` says by which keys they are signed."""
    kafka = SecureKafka(folder, authority, server, key_set)
    await kafka.start()
    try:
        yield kafka
    finally:
        await kafka.stop()
