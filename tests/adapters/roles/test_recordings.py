"""Where does a role keep recordings, and which settings does it refuse?"""

import sys
from typing import Any

import pytest

from adapters.recordings.bucket import BucketRecordings
from adapters.recordings.folder import FolderRecordings
from adapters.roles.process import check
from adapters.roles.recordings import recording_files
from adapters.settings import Settings, SettingsError, load, redact_settings

SANDBOX: Any = {"channels": ("call",), "sandbox": ("call",)}
BUCKET = "s3://acme-recordings/leadclock"
KEYS = {"recordings_access_key": "the-access-key", "recordings_secret_key": "the secret"}


def given(**more: Any) -> Settings:
    return Settings(kafka_bootstrap="k:9092", postgres_dsn="postgresql://db/x", secret_key="0" * 32, **SANDBOX, **more)


def test_recordings_are_in_a_folder_in_a_bucket_or_nowhere() -> None:
    assert recording_files(given()) is None
    assert isinstance(recording_files(given(recordings_dir="/recordings")), FolderRecordings)
    assert isinstance(recording_files(given(recordings_bucket=BUCKET, **KEYS)), BucketRecordings)


@pytest.mark.parametrize("role", ["api", "gateway"])
@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"recordings_bucket": BUCKET, "recordings_dir": "/recordings"}, "not both"),
        ({"recordings_bucket": BUCKET, "recordings_access_key": "x"}, "need each other"),
        ({"recordings_bucket": BUCKET, "recordings_secret_key": "x"}, "need each other"),
        ({"recordings_region": "eu-central-1"}, "no effect of LEADCLOCK_RECORDINGS_REGION"),
        ({"recordings_endpoint": "https://minio.example.com", **KEYS}, "no effect of LEADCLOCK_RECORDINGS_ENDPOINT"),
    ],
)
def test_settings_that_contradict_keep_a_role_from_starting(role: str, more: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        check(role, given(**more))
    check("projector", given(**more))  # it keeps none


def test_without_the_extra_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "adapters.recordings.bucket")
    monkeypatch.setitem(sys.modules, "obstore.store", None)

    with pytest.raises(SettingsError, match=r"pip install 'leadclock\[s3\]'"):
        recording_files(given(recordings_bucket=BUCKET))
    assert recording_files(given(recordings_dir="/recordings")) is not None


@pytest.mark.parametrize(
    "wrong",
    ["acme-recordings", "s3://", "s3://a", "s3://Acme/x", "https://s3.example.com/b", "s3://acme/../x", "s3://acme//x"],
)
def test_what_is_no_address_of_a_bucket_is_refused(wrong: str) -> None:
    with pytest.raises(SettingsError, match="LEADCLOCK_RECORDINGS_BUCKET"):
        load(environ={"LEADCLOCK_RECORDINGS_BUCKET": wrong})


def test_the_secret_of_a_bucket_is_never_logged() -> None:
    shown = redact_settings(given(recordings_bucket=BUCKET, **KEYS))

    assert "the secret" not in str(shown)
    assert shown["recordings_access_key"] == "the-access-key"
