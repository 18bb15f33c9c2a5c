"""What does every store of the sandbox's orders promise?"""

from adapters.gateway.ports import SandboxOrders
from schemas.instant import DAY, EPOCH


class SandboxOrdersContract:
    """Run by the test class of every store, with its fixture `orders`."""

    async def test_an_order_is_found_as_it_was_given_first(self, orders: SandboxOrders) -> None:
        await orders.begin("command-1", EPOCH + DAY, None)
        await orders.begin("command-1", EPOCH + 2 * DAY, None)

        assert await orders.find("command-1") == EPOCH + DAY

    async def test_an_order_that_was_never_given_is_not_found(self, orders: SandboxOrders) -> None:
        assert await orders.find("command-1") is None
