"""What must be known of an Asterisk? Where its ARI is, as whom to sign in, and how it reaches a telephone."""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from adapters.providers.ports import RefusedOrderError
from adapters.providers.talk_recording import check_recording

Number = Annotated[str, Meta(pattern=r"^\+[1-9][0-9]{6,14}$", description="a number such as +12125550123")]
Target = Annotated[str, Meta(pattern=r"^(\+[1-9][0-9]{6,14}|sips?:[^\s<>&,]{3,250})$", description="a number, or sip:…")]
Word = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="letters, digits, _ and -")]
Sound = Annotated[str, Meta(pattern=r"^(sound|recording):[A-Za-z0-9_/.-]{1,200}$", description="sound:… or recording:…")]

UNSAFE = frozenset("&,;\r\n\t \"'")
"""Characters that a dial string takes for another telephone, or an option."""


class AsteriskSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of an account.

    `endpoint` is the dial string of a number: `{number}` is +12125550123, `{digits}` the same without the plus.
    `sip_endpoint` is that of a SIP address (`{uri}`); without it none is dialled. `agent_number` takes answered calls of
    steps that name no buyer. With `detects_machines`, the extension `machine` of the context listens for one.

    Asterisk speaks no texts: `whisper_sound` is played in place of the whisper of a step, `drop_sound` in place of its
    message to a machine, once the extension `greeting` has heard the end of its greeting.
    """

    url: Annotated[str, Meta(pattern=r"^https?://[^\s?#]+$", description="https://host:8089")]
    user: Word
    endpoint: Annotated[str, Meta(pattern=r"^[^\s,;&]{3,200}$", description="a dial string such as PJSIP/{number}@carrier")]
    app: Word = "leadclock"
    context: Word = "leadclock"
    sip_endpoint: (
        Annotated[str, Meta(pattern=r"^[^\s,;&]{3,200}$", description="a dial string such as PJSIP/carrier/{uri}")] | None
    ) = None
    from_number: Number | None = None
    agent_number: Target | None = None
    detects_machines: bool = False
    records: bool = False
    announcement: Sound | None = None
    voicemail_sound: Sound = "sound:vm-intro"
    sorry_sound: Sound = "sound:vm-nobodyavail"
    whisper_sound: Sound | None = None
    drop_sound: Sound | None = None

    def check(self) -> None:
        """Raise `ValueError` for what would call nobody, or record people without their knowledge."""
        if "{number}" not in self.endpoint and "{digits}" not in self.endpoint:
            raise ValueError("endpoint must say where the number stands: {number} or {digits}")
        if self.sip_endpoint is not None and "{uri}" not in self.sip_endpoint:
            raise ValueError("sip_endpoint must say where the address stands: {uri}")
        if self.drop_sound is not None and not self.detects_machines:
            raise ValueError("drop_sound needs detects_machines: else no machine is known")
        check_recording(records=self.records, announcement=self.announcement)

    def dial_string(self, target: str) -> str:
        """Return how Asterisk reaches a number or SIP address. Raises `RefusedOrderError`."""
        if not target or UNSAFE.intersection(target):
            raise RefusedOrderError("it cannot be dialled: only a number or a SIP address can", tries_next=False)
        if target.lower().startswith(("sip:", "sips:")):
            if self.sip_endpoint is None:
                raise RefusedOrderError("it dials no SIP addresses: set sip_endpoint", tries_next=True)
            return self.sip_endpoint.replace("{uri}", target)
        if not (target.startswith("+") and target[1:].isascii() and target[1:].isdigit()):
            raise RefusedOrderError("it cannot be dialled: only a number or a SIP address can", tries_next=False)
        return self.endpoint.replace("{number}", target).replace("{digits}", target[1:])

    def originated(self, target: str, *, caller_id: str | None, seconds: int, as_whom: str) -> Mapping[str, Any]:
        """Return what a channel to a telephone is made of. Raises `RefusedOrderError`."""
        about: dict[str, Any] = {
            "endpoint": self.dial_string(target),
            "app": self.app,
            "appArgs": as_whom,
            "timeout": seconds,
        }
        return about if caller_id is None else {**about, "callerId": caller_id}

    def events_url(self) -> str:
        """Return where events are listened to."""
        parts = urlsplit(self.url.rstrip("/"))
        scheme = "wss" if parts.scheme == "https" else "ws"
        return f"{scheme}://{parts.netloc}{parts.path}/ari/events?app={self.app}&subscribeAll=false"
