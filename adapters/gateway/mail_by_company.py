"""Which mail server carries a company's e-mails? Its own account where it has one, else that of the deployment.

An account that is paused, or refuses, is not replaced by the deployment's server: its domain does not speak for the company.
"""

from adapters.gateway.circuit import CircuitReport
from adapters.gateway.configured import ConfiguredProviders
from adapters.gateway.ports import DeliveryResult, EmailProvider
from schemas.commands import SendEmail


class MailByCompany:
    """An `EmailProvider`. `has_server`: the deployment has a mail server, for companies without an account."""

    def __init__(self, accounts: ConfiguredProviders, server: EmailProvider, *, has_server: bool) -> None:
        self.name = server.name
        self._accounts = accounts
        self._server = server
        self._has_server = has_server

    async def send(self, command: SendEmail) -> DeliveryResult | None:
        """Send an e-mail by the server of its company."""
        if self._has_server and not self._accounts.has_account(command.company_id):
            return await self._server.send(command)
        return await self._accounts.send(command)

    def report_circuits(self) -> CircuitReport:
        """Return which accounts are spared now; the deployment's own server never is."""
        return self._accounts.report_circuits()
