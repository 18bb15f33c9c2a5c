"""Who answers, rings and presses keys in the tests of a real Asterisk? sipp speaks SIP; the sounds are ours.

A telephone hears and sends RTP on a socket of its own: it counts what it hears, and reads keys (RFC 4733).
"""

import asyncio
import math
import random
import re
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

ULAW, KEYS_PAYLOAD = 0, 101
KEYS = "0123456789*#ABCD"
FRAME_SECONDS, FRAME_SAMPLES = 0.02, 160
RTP_HEADER_BYTES = 12
SILENCE = {0x7F, 0xFF}

ANSWER = """<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="a telephone that is answered">
  <recv request="INVITE" rrs="true">
    <action>
      <ereg regexp=".*" search_in="hdr" header="From:" assign_to="caller"/>
      <ereg regexp=".*" search_in="hdr" header="To:" assign_to="called"/>
    </action>
  </recv>
  <send><![CDATA[
SIP/2.0 180 Ringing
[last_Via:]
[last_From:]
[last_To:];tag=[pid]tag[call_number]
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:[local_ip]:[local_port]>
Content-Length: 0

  ]]></send>
  <pause milliseconds="{rings}"/>
  <send retrans="500"><![CDATA[
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:];tag=[pid]tag[call_number]
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:[local_ip]:[local_port]>
Content-Type: application/sdp
Content-Length: [len]

{sdp}
  ]]></send>
  <recv request="ACK"/>
{end}
  <Reference variables="caller,called"/>
</scenario>
"""

SDP = """v=0
o=telephone 1 1 IN IP4 127.0.0.1
s=-
c=IN IP4 127.0.0.1
t=0 0
m=audio {media} RTP/AVP 0 101
a=rtpmap:0 PCMU/8000
a=rtpmap:101 telephone-event/8000
a=fmtp:101 0-16"""

IS_HUNG_UP_ON = """  <recv request="BYE" timeout="60000"/>
  <send><![CDATA[
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0

  ]]></send>"""

HANGS_UP = """  <pause milliseconds="{talks}"/>
  <send retrans="500"><![CDATA[
BYE [next_url] SIP/2.0
Via: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]
From: [$called];tag=[pid]tag[call_number]
To: [$caller]
Call-ID: [call_id]
CSeq: 1 BYE
Max-Forwards: 70
Content-Length: 0

  ]]></send>
  <recv response="200"/>"""

RINGS_IN_VAIN = """<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="a telephone that rings until the caller gives up">
  <recv request="INVITE"/>
  <send><![CDATA[
SIP/2.0 180 Ringing
[last_Via:]
[last_From:]
[last_To:];tag=[pid]tag[call_number]
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:[local_ip]:[local_port]>
Content-Length: 0

  ]]></send>
  <recv request="CANCEL" timeout="60000"/>
  <send><![CDATA[
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0

  ]]></send>
  <send retrans="500"><![CDATA[
SIP/2.0 487 Request Terminated
[last_Via:]
[last_From:]
[last_To:];tag=[pid]tag[call_number]
[last_Call-ID:]
CSeq: 1 INVITE
Content-Length: 0

  ]]></send>
  <timewait milliseconds="500"/>
</scenario>
"""

REFUSES = """<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="a telephone that refuses">
  <recv request="INVITE"/>
  <send retrans="500"><![CDATA[
SIP/2.0 {code} Refused
[last_Via:]
[last_From:]
[last_To:];tag=[pid]tag[call_number]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0

  ]]></send>
  <recv request="ACK"/>
</scenario>
"""

CALLS = """<?xml version="1.0" encoding="ISO-8859-1" ?>
<scenario name="a person who calls">
  <send retrans="500"><![CDATA[
INVITE sip:{number}@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]
From: <sip:{person}@[local_ip]:[local_port]>;tag=[pid]tag[call_number]
To: <sip:{number}@[remote_ip]:[remote_port]>
Call-ID: [call_id]
CSeq: 1 INVITE
Contact: <sip:{person}@[local_ip]:[local_port]>
Max-Forwards: 70
Content-Type: application/sdp
Content-Length: [len]

{sdp}
  ]]></send>
  <recv response="100" optional="true"/>
  <recv response="180" optional="true"/>
  <recv response="183" optional="true"/>
  <recv response="200" rtd="true" timeout="60000"/>
  <send><![CDATA[
ACK [next_url] SIP/2.0
Via: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]
From: <sip:{person}@[local_ip]:[local_port]>;tag=[pid]tag[call_number]
To: <sip:{number}@[remote_ip]:[remote_port]>[peer_tag_param]
Call-ID: [call_id]
CSeq: 1 ACK
Max-Forwards: 70
Content-Length: 0

  ]]></send>
{end}
</scenario>
"""


class Telephone(asyncio.DatagramProtocol):
    """What a telephone hears and says. It says a tone, once it knows where to."""

    def __init__(self) -> None:
        self.heard = 0
        """Frames of sound that were no silence."""
        self.keys = ""
        self._transport: asyncio.DatagramTransport | None = None
        self._peer: tuple[str, int] | None = None
        self._last_key: int | None = None
        self.is_silent = False
        """Whether it says nothing now, as a machine after its greeting."""
        self.messages: Path | None = None
        """Where sipp writes what it sends and gets."""
        self._program: asyncio.subprocess.Process | None = None

    @property
    def media(self) -> int:
        """The port of its sounds."""
        assert self._transport is not None
        port: int = self._transport.get_extra_info("sockname")[1]
        return port

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._peer = addr
        payload_type, stamp = data[1] & 0x7F, struct.unpack("!I", data[4:8])[0]
        content = data[RTP_HEADER_BYTES:]
        if payload_type == ULAW and set(content) - SILENCE:
            self.heard += 1
        if payload_type == KEYS_PAYLOAD and stamp != self._last_key and content[0] < len(KEYS):
            self._last_key = stamp  # each packet of one press has the same time
            self.keys += KEYS[content[0]]

    async def speak(self) -> None:
        """Say a tone until cancelled."""
        tone = bytes(_ulaw(int(8_000 * math.sin(2 * math.pi * 440 * place / 8_000))) for place in range(FRAME_SAMPLES))
        source, sequence, stamp = random.getrandbits(32), 0, 0
        while True:
            self._peer = self._peer or self._offered()
            if self._peer is not None and self._transport is not None and not self.is_silent:
                header = struct.pack("!BBHII", 0x80, ULAW, sequence & 0xFFFF, stamp & 0xFFFFFFFF, source)
                self._transport.sendto(header + tone, self._peer)
                sequence, stamp = sequence + 1, stamp + FRAME_SAMPLES
            await asyncio.sleep(FRAME_SECONDS)

    def _offered(self) -> tuple[str, int] | None:
        """Return where the other side said that it hears."""
        if self.messages is None or not self.messages.exists():
            return None
        ports = {
            int(port) for port in re.findall(r"^m=audio (\d+)", self.messages.read_text(errors="replace"), re.MULTILINE)
        }
        others = ports - {self.media}
        return ("127.0.0.1", others.pop()) if others else None


class Sipp:
    """Runs sipp in the folder of Asterisk."""

    def __init__(self, root: Path, folder: str, pbx_port: int) -> None:
        self._root, self._folder, self._pbx_port = root, folder, pbx_port
        self._scenarios = 0

    @asynccontextmanager
    async def telephone(self, port: int, *, rings: float = 0.3, talks: float | None = None) -> AsyncIterator["Ringing"]:
        """A telephone at a port that is answered; with `talks` it hangs up after so long, else it waits for that."""
        async with sounds() as telephone:
            sdp = SDP.format(media=telephone.media)
            scenario = ANSWER.format(rings=int(rings * 1_000), sdp=sdp, end=_end(talks))
            async with self._run(scenario, port, sounds=telephone) as program:
                yield Ringing(telephone, program)

    @asynccontextmanager
    async def rings_in_vain(self, port: int) -> AsyncIterator["Ringing"]:
        """A telephone that nobody answers."""
        async with self._run(RINGS_IN_VAIN, port) as program:
            yield Ringing(Telephone(), program)

    @asynccontextmanager
    async def refuses(self, port: int, code: int) -> AsyncIterator["Ringing"]:
        """A telephone that answers with a code of SIP."""
        async with self._run(REFUSES.format(code=code), port) as program:
            yield Ringing(Telephone(), program)

    @asynccontextmanager
    async def call(self, person: str, number: str, port: int, *, talks: float | None = None) -> AsyncIterator["Ringing"]:
        """A person calls a number."""
        async with sounds() as telephone:
            sdp = SDP.format(media=telephone.media)
            end = (
                IS_HUNG_UP_ON
                if talks is None
                else CALLER_HANGS_UP.format(talks=int(talks * 1_000), person=person, number=number)
            )
            scenario = CALLS.format(person=person, number=number, sdp=sdp, end=end)
            async with self._run(scenario, port, f"127.0.0.1:{self._pbx_port}", sounds=telephone) as program:
                yield Ringing(telephone, program)

    @asynccontextmanager
    async def _run(
        self, scenario: str, port: int, *target: str, sounds: Telephone | None = None
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        self._scenarios += 1
        path = f"{self._folder}/scenario{self._scenarios}.xml"
        if sounds is not None:
            sounds.messages = self._root / f"{path}.messages".lstrip("/")
        (self._root / path.lstrip("/")).write_text(scenario)
        program = await asyncio.create_subprocess_exec(
            "chroot", str(self._root), "/usr/bin/sipp", *target, "-sf", path, "-i", "127.0.0.1", "-p", str(port),
            "-m", "1", "-nostdin", "-timeout", "90", "-default_behaviors", "all,-abortunexp",
            "-error_file", f"{path}.errors", "-trace_msg", "-message_file", f"{path}.messages",
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            if not target:
                await _is_bound(port)
            yield program
        finally:
            if program.returncode is None:
                program.kill()
            await program.wait()


CALLER_HANGS_UP = """  <pause milliseconds="{talks}"/>
  <send retrans="500"><![CDATA[
BYE [next_url] SIP/2.0
Via: SIP/2.0/UDP [local_ip]:[local_port];branch=[branch]
From: <sip:{person}@[local_ip]:[local_port]>;tag=[pid]tag[call_number]
To: <sip:{number}@[remote_ip]:[remote_port]>[peer_tag_param]
Call-ID: [call_id]
CSeq: 2 BYE
Max-Forwards: 70
Content-Length: 0

  ]]></send>
  <recv response="200"/>"""


class Ringing:
    """A telephone under way."""

    def __init__(self, sounds: Telephone, program: asyncio.subprocess.Process) -> None:
        self.sounds = sounds
        self._program = program

    async def has_ended(self) -> None:
        """Wait until the telephone has done all that it should; sipp fails at anything else that happens to it."""
        async with asyncio.timeout(90):
            _, said = await self._program.communicate()
        assert self._program.returncode == 0, said.decode(errors="replace")


@asynccontextmanager
async def sounds() -> AsyncIterator[Telephone]:
    """The sounds of a telephone."""
    _, telephone = await asyncio.get_running_loop().create_datagram_endpoint(Telephone, local_addr=("127.0.0.1", 0))
    speaking = asyncio.create_task(telephone.speak())
    try:
        yield telephone
    finally:
        speaking.cancel()
        await asyncio.gather(speaking, return_exceptions=True)
        assert telephone._transport is not None
        telephone._transport.close()


def free_port() -> int:
    """A port of UDP that nothing has now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


async def _is_bound(port: int) -> None:
    """Wait until a program has taken a port."""
    async with asyncio.timeout(30):
        while True:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
                try:
                    tried.bind(("127.0.0.1", port))
                except OSError:
                    return
            await asyncio.sleep(0.02)


def _end(talks: float | None) -> str:
    return IS_HUNG_UP_ON if talks is None else HANGS_UP.format(talks=int(talks * 1_000))


def _ulaw(sample: int) -> int:
    """Encode a sample (ITU-T G.711)."""
    sign = 0x80 if sample < 0 else 0
    magnitude = min(abs(sample), 32_635) + 132
    exponent = max(0, magnitude.bit_length() - 8)
    mantissa = (magnitude >> (exponent + 3)) & 0x0F
    return ~(sign | (exponent << 4) | mantissa) & 0xFF
