"""Is a body of XML read as the fields that it holds, and one that attacks the parser refused?"""

from typing import Any

import pytest

from adapters.body_fields import read_fields
from adapters.xml_body import read_xml
from engine.partition.draft import RefusedError
from engine.submission.nested import lifted

ADF = b"""<?xml version="1.0" encoding="UTF-8"?>
<?adf version="1.0"?>
<adf><prospect>
  <id sequence="1" source="site">7</id>
  <requestdate>2026-11-30T08:00:00-05:00</requestdate>
  <vehicle interest="buy" status="new"><year>2027</year><make>Ford</make><model>F-150</model></vehicle>
  <vendor><contact><name part="full">Ford</name><phone>+12125550100</phone><email>s@city.example</email></contact></vendor>
  <provider><name part="full">Lead Site</name><phone>+12125550111</phone></provider>
  <customer><contact>
    <name part="first" type="individual">Ada</name><name part="last" type="individual">Lovelace</name>
    <email>ada@example.com</email><phone type="voice" time="evening">(305) 555-0123</phone>
    <address><street line="1">1 Main St</street><city>Miami</city><regioncode>FL</regioncode><postalcode>33101</postalcode>
      <country>US</country></address>
  </contact></customer>
</prospect></adf>"""

KIND = "application/xml; charset=utf-8"


def test_a_prospect_of_a_car_dealer_is_read_whole_and_the_dealer_is_none() -> None:
    found = lifted(read_fields(ADF, KIND))
    assert {name: found[name] for name in found if name != "adf"} == {
        "first_name": "Ada",
        "last_name": "Lovelace",
        "email": "ada@example.com",
        "caller_id": "(305) 555-0123",
        "address": "1 Main St",
        "city": "Miami",
        "state_province": "FL",
        "zip_postal_code": "33101",
        "country": "US",
    }


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"<lead><phone>1</phone></lead>", {"lead": {"phone": "1"}}),
        (b"<lead><tag>a</tag><tag>b</tag><tag/></lead>", {"lead": {"tag": ["a", "b", ""]}}),
        (b'<lead xmlns="urn:x"><phone kind="m"> 1 </phone></lead>', {"lead": {"phone": {"kind": "m", "value": "1"}}}),
        (b"<lead/>", {"lead": ""}),
        ("<lead><n>Zo\u00eb</n></lead>".encode(), {"lead": {"n": "Zo\u00eb"}}),
        ('<?xml version="1.0" encoding="ISO-8859-1"?><n>Zo\u00eb</n>'.encode("latin-1"), {"n": "Zo\u00eb"}),
    ],
)
def test_elements_nest_as_objects_do(body: bytes, fields: dict[str, Any]) -> None:
    assert read_xml(body) == fields


BOMB = b'<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;">]><a>&c;</a>'
FILE = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'


@pytest.mark.parametrize("body", [BOMB, FILE, b"<a>", b"a", b"<a>" * 40 + b"</a>" * 40, b"<a>&nbsp;</a>", b"\xff\xfe<a/>"])
def test_what_attacks_the_parser_or_is_no_xml_is_malformed(body: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        read_fields(body, KIND)
    assert refused.value.code == "malformed_body"


@pytest.mark.parametrize("charset", ["ISO-8859-1", "latin1", "windows-1252"])
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", "name=Zo%EB&city=Malm\u00f6"),
        (
            "multipart/form-data; boundary=x",
            '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nZo\u00eb\r\n--x--\r\n',
        ),
    ],
)
def test_a_form_in_latin_1_is_read(kind: str, body: str, charset: str) -> None:
    assert read_fields(body.encode("latin-1"), f"{kind}; charset={charset}")["name"] == "Zo\u00eb"
