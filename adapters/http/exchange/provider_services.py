"""What do callbacks of vendors need? Connections, the orders that were given, and a way to report what became of them."""

from msgspec import Struct

from adapters.providers.connections import Connections
from adapters.providers.orders import Orders
from adapters.providers.reports import ProviderReports


class ProviderServices(Struct, frozen=True, kw_only=True):
    """The providers of one process."""

    connections: Connections
    orders: Orders
    reports: ProviderReports
