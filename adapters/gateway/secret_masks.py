"""How is an answer stored that may repeat what was sent? Without the secrets in the headers and the URL of the webhook."""

from collections.abc import Iterator

import httpx

from schemas.records import OutgoingWebhook

MASK = "***"

LENGTH_MIN = 4
"""Characters of a value that is masked: shorter ones guard nothing, and would blacken ordinary words."""


def mask_secrets(text: str, webhook: OutgoingWebhook) -> str:
    """Return a text without the values of the webhook's headers and of its URL's query and user; cut ones at its end too."""
    for secret in sorted(set(_secrets(webhook)), key=len, reverse=True):
        text = text.replace(secret, MASK)
        cut = next((length for length in range(len(secret) - 1, LENGTH_MIN - 1, -1) if text.endswith(secret[:length])), 0)
        text = text[: len(text) - cut] + MASK if cut else text
    return text


def _secrets(webhook: OutgoingWebhook) -> Iterator[str]:
    for value in webhook.headers.values():
        words = value.split()
        # An answer's white space is collapsed, and a scheme such as Bearer is often left out of it.
        yield from (one for one in (" ".join(words), *words[1:]) if len(one) >= LENGTH_MIN)
    try:
        url = httpx.URL(webhook.url)
    except httpx.InvalidURL:
        return
    raw_query = url.query.decode("ascii", "replace")
    raw = (part.partition("=")[2] for part in raw_query.split("&"))
    yield from (one for one in (url.username, url.password, *url.params.values(), *raw) if len(one) >= LENGTH_MIN)
