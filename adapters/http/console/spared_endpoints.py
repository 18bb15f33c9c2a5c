"""What do pages say about endpoints that gateways spare, because they failed several times in a row?"""

from adapters.gateway.circuit import (
    CIRCUITS_REPORTED_MAX,
    FAILURES_MAX,
    PAUSE_SECONDS_MAX,
    PAUSE_SECONDS_MIN,
    WAIT_SECONDS_MAX,
)

SPARED_RULE = (
    f"A gateway spares an endpoint that failed {FAILURES_MAX} times in a row (circuit breaker): it sends nothing there for "
    f"{PAUSE_SECONDS_MIN:.0f} to {PAUSE_SECONDS_MAX:.0f} seconds. Then one delivery tries it, and ends that or doubles the "
    f"pause. Webhooks wait meanwhile, for {WAIT_SECONDS_MAX:.0f} seconds at most; calls, texts and e-mails go by the "
    "company's next account. Each gateway process has its own circuits and reports them a few times a minute. Subscriptions "
    "have none: one whose receiver fails is sent to less often, and is listed as failing."
)
"""For the pages of operators and of companies alike."""

LEFT_OUT_RULE = f"A gateway process reports {CIRCUITS_REPORTED_MAX} of each channel, and companies take turns in that."
"""Why a list may not have all of them."""
