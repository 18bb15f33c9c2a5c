"""What does a verification or rebuild of the projection say to an operator? How far it is, and its result in sentences."""

from collections.abc import Mapping
from typing import Any

Job = Mapping[str, Any]

LABELS: Mapping[str, str] = {"verify": "Verification", "rebuild": "Rebuild"}

OPEN = frozenset({"pending", "running", "canceling"})

STAGES: Mapping[str, str] = {
    "projecting": "Reads the decisions and writes a second projection.",
    "adding up": "Adds up the sums of reports.",
    "tidying": "Prepares the tables for their first readers.",
    "comparing": "Compares all rows at the same decisions.",
}
"""Stage of a rebuild -> what it does then."""

MARKS: Mapping[str, str] = {"pending": "info", "running": "info", "canceling": "warn", "canceled": "warn", "failed": "bad"}


def explain_job(job: Job) -> dict[str, Any]:
    """Return what the page shows of a job: its name, whether it is open, a mark, and sentences."""
    is_good = job["state"] == "done" and (job["result"]["swapped"] or job["result"]["differences"] == [])
    return {
        "label": LABELS.get(job["kind"], job["kind"]),
        "is_open": job["state"] in OPEN,
        "mark": MARKS.get(job["state"], "good" if is_good else "bad"),
        "sentences": _result_sentences(job) if job["state"] == "done" else [_state_sentence(job)],
        "differences": (job["result"] or {}).get("differences") or [],
    }


def _state_sentence(job: Job) -> str:
    state = job["state"]
    if state == "failed":
        return str(job["failure"])
    if state == "canceled":
        return "It was canceled, and what it had built is deleted."
    if state == "canceling":
        return "It is being canceled; what it has built is deleted then."
    if job["is_worked_on"]:
        return STAGES.get(job["stage"], "A projector has begun with it.")
    if job["problem"]:
        return f"The last attempt ended, and it is tried again: {job['problem']}"
    return "No projector works on it now. One takes it within seconds where one runs: `leadclock projector`."


def _result_sentences(job: Job) -> list[str]:
    result = job["result"]
    found = [_verdict(job)]
    if result["gaps"]:
        found.append(f"Decisions are missing within what the log holds: {result['gaps']} gaps.")
    found += [_beginning(one) for one in result["begins"]]
    if result["carried"]:
        found.append(f"{result['carried']} rows were carried over as they were shown: only deleted decisions show them.")
    if result["faults"]:
        found.append(f"{result['faults']} decisions could not be shown; the table `faults` says why.")
    found.append(f"{result['decisions']:,} decisions were read and {result['rows']:,} rows written.")
    return found


def _verdict(job: Job) -> str:
    result, differences = job["result"], job["result"]["differences"]
    if result["swapped"]:
        done = "The new projection is the one that is read now"
        return f"{done}: every row was what the decisions say." if differences == [] else f"{done}; rows differed before."
    if differences is None:
        return "Nothing was compared: the topics were created again since the projection was written."
    if not differences:
        which = "Every row that the log still shows" if result["begins"] else "Every row"
        return f"{which} is what the decisions say."
    count = result["differences_count"]
    where = "1 place" if count == 1 else f"{count} places"
    return f"Rows differ in {where}. Nothing was swapped: a rebuild that swaps although rows differ repairs that."


def _beginning(one: Mapping[str, Any]) -> str:
    left = "holds no decision any more" if one["sequence"] is None else f"begins at decision {one['sequence']}"
    return f"The log of {one['topic']}[{one['partition']}] {left}: rows that only earlier ones show are not judged."
