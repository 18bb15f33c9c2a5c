"""How does a role open the companies' provider configurations? By the deployment's key, public URL and address guard."""

from adapters.clock import wall_now
from adapters.gateway.addresses import networks
from adapters.providers.connections import Connections
from adapters.providers.provider_http import GuardedProviderHttp
from adapters.providers.provider_sockets import GuardedProviderSockets
from adapters.roles.context import Context


def provider_http(context: Context) -> GuardedProviderHttp:
    """Return what sends requests to vendors; its user closes it."""
    return GuardedProviderHttp(allowed=networks(context.settings.webhook_private_networks), own_ports=context.own_ports)


def provider_connections(context: Context, http: GuardedProviderHttp) -> Connections:
    """Return the connections of a process."""
    settings = context.settings
    return Connections(
        http=http,
        deployment_secret=settings.secret_key,
        public_url=settings.public_url,
        now=wall_now,
        sockets=GuardedProviderSockets(allowed=networks(settings.webhook_private_networks), own_ports=context.own_ports),
    )
