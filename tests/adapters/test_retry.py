"""Do pauses between attempts grow, end at a bound, and begin short again after a success?"""

from adapters.retry import BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS, JITTER, Backoff


def test_pauses_double_up_to_a_bound_and_begin_short_again_after_a_success() -> None:
    backoff = Backoff()
    pauses = [backoff.next_seconds() for _ in range(8)]
    wanted = [min(BACKOFF_FIRST_SECONDS * 2**attempt, BACKOFF_MAX_SECONDS) for attempt in range(8)]
    for pause, middle in zip(pauses, wanted, strict=True):
        assert (1 - JITTER) * middle - 0.01 <= pause <= (1 + JITTER) * middle + 0.01
    backoff.reset()
    assert backoff.next_seconds() <= (1 + JITTER) * BACKOFF_FIRST_SECONDS + 0.01
