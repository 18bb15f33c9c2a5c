"""Which pages does the console have? Every route, in the order of the navigation. A page that is not built is not here."""

from adapters.http.console import (
    agent_page,
    bulk_pages,
    buyers_page,
    compliance_page,
    deliveries_page,
    dialling_page,
    forecast_page,
    issuer_pages,
    lead_list_page,
    lead_page,
    operations_page,
    recording_player,
    reports_page,
    schedule_editor,
    schedule_pages,
    schedule_versions_page,
    sign_in_pages,
    today_page,
)
from adapters.http.console.visits import ConsolePage

PAGES: tuple[ConsolePage, ...] = (
    *today_page.PAGES,
    *lead_list_page.PAGES,
    *lead_page.PAGES,
    *recording_player.PAGES,
    *bulk_pages.PAGES,
    *schedule_pages.PAGES,
    *schedule_editor.PAGES,
    *schedule_versions_page.PAGES,
    *forecast_page.PAGES,
    *buyers_page.PAGES,
    *reports_page.PAGES,
    *agent_page.PAGES,
    *compliance_page.PAGES,
    *deliveries_page.PAGES,
    *dialling_page.PAGES,
    *operations_page.PAGES,
    *sign_in_pages.PAGES,
    *issuer_pages.PAGES,
)
