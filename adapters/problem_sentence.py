"""What does a problem of the API say on one line? For commands that ask the API."""

import httpx


def refusal_sentence(answer: httpx.Response) -> str:
    """Return what a problem says, on one line."""
    try:
        problem = answer.json()
        faults = "; ".join(f"{field} {', '.join(said)}" for field, said in problem.get("errors", {}).items())
        return f"{problem['title']}: {faults or problem['detail']}"
    except (ValueError, KeyError, AttributeError):
        return f"HTTP {answer.status_code}"
