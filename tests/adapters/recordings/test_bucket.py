"""Does a bucket keep recordings as every store must, and say what is wrong with it? On a real S3 server."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from adapters.local.process import LOCALHOST, free_port
from adapters.recordings import bucket as bucket_module
from adapters.recordings.bucket import PART_BYTES, READ_BYTES, BucketPlace, BucketRecordings
from adapters.recordings.ports import MissingFileError, RecordingsUnavailableError
from tests.adapters.recordings.files_contract import NAME, FilesContract, parts_of, read
from tests.adapters.recordings.s3_server import S3Server

LARGE = os.urandom(PART_BYTES * 2 + 1_000)
"""Three parts of an upload."""


@pytest.fixture
def bucket(s3_server: S3Server) -> BucketPlace:
    return s3_server.bucket()


@pytest.fixture
def files(bucket: BucketPlace) -> BucketRecordings:
    return BucketRecordings(bucket)


class TestBucket(FilesContract):
    """The contract."""


async def broken(content: bytes) -> AsyncIterator[bytes]:
    async for part in parts_of(content):
        yield part
    raise ConnectionError


async def test_a_file_of_many_parts_is_given_back_whole_and_in_parts(files: BucketRecordings) -> None:
    assert await files.put(NAME, parts_of(LARGE)) == len(LARGE)

    assert await read(files, NAME, 0, len(LARGE)) == LARGE
    assert await read(files, NAME, PART_BYTES - 3, 6) == LARGE[PART_BYTES - 3 : PART_BYTES + 3]
    parts = [len(part) async for part in files.read(NAME, 0, READ_BYTES + 1)]
    assert parts == [READ_BYTES, 1]


async def test_an_object_is_under_the_prefix_and_its_name_and_in_no_other_bucket(
    s3_server: S3Server, files: BucketRecordings, bucket: BucketPlace
) -> None:
    await files.put(NAME, parts_of(b"voices"))

    assert (s3_server.objects / bucket.name / "leadclock" / NAME).read_bytes() == b"voices"
    with pytest.raises(MissingFileError):
        await read(BucketRecordings(structs.replace(bucket, prefix="")), NAME, 0, 1)
    with pytest.raises(MissingFileError):
        await read(BucketRecordings(s3_server.bucket()), NAME, 0, 1)


async def test_a_file_of_many_parts_that_breaks_off_leaves_nothing(
    s3_server: S3Server, files: BucketRecordings, bucket: BucketPlace
) -> None:
    with pytest.raises(ConnectionError):
        await files.put(NAME, broken(LARGE))

    assert s3_server.files(bucket.name) == []


async def test_an_upload_that_is_cancelled_leaves_nothing(
    s3_server: S3Server, files: BucketRecordings, bucket: BucketPlace
) -> None:
    given = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield LARGE
        given.set()
        await asyncio.Event().wait()

    storing = asyncio.create_task(files.put(NAME, endless()))
    await given.wait()
    storing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await storing

    assert s3_server.files(bucket.name) == []


async def test_a_file_that_is_shorter_than_its_row_says_is_not_given_as_whole(files: BucketRecordings) -> None:
    await files.put(NAME, parts_of(b"half"))

    with pytest.raises(RecordingsUnavailableError):
        await read(files, NAME, 0, 8)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"secret_key": "another secret"}, "SignatureDoesNotMatch"),
        ({"access_key": "another key"}, "XAdminUserNotFound"),
        ({"name": "no-such-bucket"}, "NoSuchBucket"),
    ],
)
async def test_a_bucket_that_refuses_us_is_unavailable_and_says_why(
    bucket: BucketPlace, wrong: dict[str, str], reason: str
) -> None:
    files = BucketRecordings(structs.replace(bucket, **wrong))

    with pytest.raises(RecordingsUnavailableError, match=reason) as stored:
        await files.put(NAME, parts_of(b"x"))
    with pytest.raises(RecordingsUnavailableError, match=reason):
        await read(files, NAME, 0, 1)
    with pytest.raises(RecordingsUnavailableError, match=reason):
        await files.delete(NAME)
    assert "\n" not in str(stored.value)
    assert len(str(stored.value)) < 500


async def test_a_server_that_is_away_is_unavailable_and_the_upload_ends(
    bucket: BucketPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_module, "RETRIES_MAX", 0)
    files = BucketRecordings(structs.replace(bucket, endpoint=f"http://{LOCALHOST}:{free_port()}"))

    with pytest.raises(RecordingsUnavailableError):
        await files.put(NAME, parts_of(LARGE))
    with pytest.raises(RecordingsUnavailableError):
        await read(files, NAME, 0, 1)


@pytest.fixture
def as_programs_of_aws_find_them(bucket: BucketPlace, monkeypatch: pytest.MonkeyPatch) -> BucketPlace:
    """The bucket, whose keys and region are in the usual variables."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", bucket.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", bucket.secret_key)
    monkeypatch.setenv("AWS_REGION", bucket.region)
    return structs.replace(bucket, access_key="", secret_key="", region="")


async def test_without_keys_of_its_own_it_takes_the_usual_variables(as_programs_of_aws_find_them: BucketPlace) -> None:
    files = BucketRecordings(as_programs_of_aws_find_them)

    await files.put(NAME, parts_of(b"voices"))

    assert await read(files, NAME, 0, 6) == b"voices"


async def test_a_trial_leaves_nothing_and_sees_whether_what_is_deleted_stays(
    s3_server: S3Server, files: BucketRecordings, bucket: BucketPlace
) -> None:
    assert await files.try_out() is False
    assert s3_server.files(bucket.name) == []

    s3_server.keep_versions(bucket.name)
    assert await files.try_out() is True
