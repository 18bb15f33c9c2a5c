"""Which pages does the console have? Every route, in the order of the navigation. A page that is not built is not here."""

from adapters.http.console import sign_in_pages, today_page
from adapters.http.console.visits import ConsolePage

PAGES: tuple[ConsolePage, ...] = (
    *today_page.PAGES,
    *sign_in_pages.PAGES,
)
