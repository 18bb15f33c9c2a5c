"""What does a gateway report of its circuits? Those that are not closed, companies in turns, at most a hundred."""

from collections import Counter

from adapters.gateway.circuit import (
    CIRCUITS_REPORTED_MAX,
    FAILURES_MAX,
    PAUSE_SECONDS_MIN,
    CircuitReport,
    Endpoint,
    Endpoints,
    OpenCircuit,
    report_circuits,
)


def circuit(company_id: int, number: int, *, failures: int = FAILURES_MAX) -> OpenCircuit:
    return OpenCircuit(
        company_id=company_id,
        endpoint=f"{number}.example.com",
        failures=failures,
        open_seconds=1.0,
        probe_in_seconds=4.0,
        waiting=0,
    )


def fail(endpoint: Endpoint, times: int = FAILURES_MAX) -> None:
    for number in range(times):
        endpoint.failed(f"command-{number}")


async def test_nothing_is_reported_while_every_circuit_is_closed() -> None:
    endpoints = Endpoints()
    fail(endpoints.of(1, "shaky.example.com"), FAILURES_MAX - 1)

    assert endpoints.report() == CircuitReport()


async def test_an_open_circuit_is_reported_until_its_endpoint_answers() -> None:
    endpoints = Endpoints()
    dead = endpoints.of(1, "dead.example.com")
    endpoints.of(1, "good.example.com").succeeded()
    fail(dead)

    (reported,) = endpoints.report().circuits
    assert (reported.company_id, reported.endpoint, reported.failures) == (1, "dead.example.com", FAILURES_MAX)
    assert 0 <= reported.open_seconds < 1
    assert PAUSE_SECONDS_MIN - 1 < reported.probe_in_seconds <= PAUSE_SECONDS_MIN
    dead.succeeded()
    assert endpoints.report() == CircuitReport()


async def test_a_circuit_has_been_open_since_its_first_failures_and_not_since_its_last_probe() -> None:
    endpoint = Endpoint(1, "dead.example.com")
    fail(endpoint)
    circuit = endpoint._circuit
    opened_at = circuit.opened_at
    for at in (circuit.opens_at, circuit.opens_at + 20.0):
        circuit.begin("probe")
        assert circuit.failed("probe", at)

    assert circuit.opened_at == opened_at


def test_the_most_failures_come_first_and_what_does_not_fit_is_counted() -> None:
    found = report_circuits(circuit(1, number, failures=number) for number in range(FAILURES_MAX, 110 + FAILURES_MAX))

    assert len(found.circuits) == CIRCUITS_REPORTED_MAX
    assert found.left_out == 10
    assert found.circuits[0].failures == 109 + FAILURES_MAX
    assert found.circuits[-1].failures == 10 + FAILURES_MAX


def test_a_company_with_many_dead_endpoints_hides_no_others() -> None:
    many = [circuit(1, number, failures=1_000) for number in range(500)]
    found = report_circuits([*many, circuit(2, 1), circuit(3, 1)])

    assert Counter(one.company_id for one in found.circuits) == {1: CIRCUITS_REPORTED_MAX - 2, 2: 1, 3: 1}
    assert found.left_out == 500 - (CIRCUITS_REPORTED_MAX - 2)
