"""Which state does an unblock contact job show? That of all its partitions together."""

import pytest

from engine.views.unblock_job import UnblockProgress, job_columns
from schemas.instant import Instant
from schemas.records import UnblockContactJob

ENDED_AT = Instant(1_773_000_000_000)
JOB = UnblockContactJob(confirm_all=True, last_contact_id="ours-5")


@pytest.mark.parametrize(
    ("progress", "is_deleted", "state"),
    [
        (UnblockProgress(), False, "pending"),
        (UnblockProgress(partitions_begun=1, unblock_count=3), False, "running"),
        (UnblockProgress(partitions_begun=1, failed_count=3), False, "running"),
        (UnblockProgress(partitions_begun=2, ended_at=ENDED_AT), False, "succeeded"),
        (UnblockProgress(partitions_begun=2, failed_count=1, ended_at=ENDED_AT), False, "failed"),
        (UnblockProgress(), True, "canceled"),
        (UnblockProgress(partitions_begun=1), True, "canceled"),
        (UnblockProgress(partitions_begun=2, ended_at=ENDED_AT), True, "succeeded"),
    ],
)
def test_a_job_is_done_when_every_partition_is(progress: UnblockProgress, is_deleted: bool, state: str) -> None:
    shown = job_columns(JOB, progress, is_deleted=is_deleted)

    assert shown["state"] == state
    assert (shown["succeeded_at"] is not None) == (state == "succeeded")


def test_the_last_contact_is_the_senders_until_one_has_been_unblocked() -> None:
    assert job_columns(JOB, UnblockProgress(), is_deleted=False)["last_contact_id"] == "ours-5"
    assert job_columns(JOB, UnblockProgress(last_contact_id=17), is_deleted=False)["last_contact_id"] == "17"
