"""Does a bucket fill as time goes by, and are quiet senders forgotten before memory is full?"""

from adapters.http.exchange import rates
from adapters.http.exchange.rates import Limiter
from adapters.http.exchange.settings import Rate


def test_a_bucket_gives_its_burst_then_its_rate() -> None:
    limiter = Limiter({"read": Rate(2, 4)})

    def allowed(at: float) -> bool:
        allowance = limiter.take("read", "key/1", at)
        assert allowance is not None
        return allowance.allowed

    assert [allowed(0.0) for _ in range(5)] == [True, True, True, True, False]
    assert [allowed(0.6), allowed(0.6)] == [True, False]
    assert [allowed(100.0) for _ in range(5)] == [True, True, True, True, False]


def test_a_batch_takes_as_many_tokens_as_it_has_and_one_above_the_burst_is_owed() -> None:
    limiter = Limiter({"impression": Rate(10, 20)})

    def taken(count: int, at: float) -> tuple[bool, int, int]:
        allowance = limiter.take("impression", "company/1", at, count)
        assert allowance is not None
        return allowance.allowed, allowance.remaining, allowance.retry_after_seconds

    assert taken(15, 0.0) == (True, 5, 1)
    assert taken(15, 0.0) == (False, 5, 1)
    assert taken(15, 1.0) == (True, 0, 2)
    assert taken(50, 1.0)[0] is False
    assert taken(50, 3.0) == (True, 0, 5)  # more than a bucket holds goes where it is full
    assert taken(1, 5.9)[0] is False  # and is paid for: 30 are owed
    assert taken(1, 6.2)[0] is True


def test_senders_and_classes_do_not_share() -> None:
    limiter = Limiter({"read": Rate(1, 1), "write": Rate(1, 1)})
    taken = [limiter.take(rate, sender, 0.0) for rate in ("read", "write") for sender in ("a", "b")]
    assert all(allowance is not None and allowance.allowed for allowance in taken)
    assert limiter.take("unlimited", "a", 0.0) is None


def test_the_sender_that_was_quiet_longest_is_forgotten() -> None:
    limiter = Limiter({"read": Rate(1, 1)})
    for sender in range(rates.BUCKETS_MAX + 10):
        limiter.take("read", str(sender), 0.0)
    assert len(limiter._buckets) == rates.BUCKETS_MAX
    first = limiter.take("read", "0", 0.0)
    last = limiter.take("read", str(rates.BUCKETS_MAX + 9), 0.0)
    assert first is not None
    assert last is not None
    assert (first.allowed, last.allowed) == (True, False)
