"""Is a post of a form vendor read whole, as its public pages document it? Number, address, names, place.

Each body has the shape of the vendor's webhook (or of its export to one) as it is commonly described, with made-up values;
bodies that were compared with a page of the vendor are in `test_documented_posts.py`.
"""

from typing import Any

import msgspec
import pytest

from engine.submission.person_names import split_name
from tests.engine.submission.conftest import Submit

NUMBER, MAIL = "+13055550123", "ada@example.com"
NAMES = {"first_name": "Ada", "last_name": "Lovelace"}
PLACE = ("zip_postal_code", "state_province", "time_zone")
JSON = msgspec.json.encode

POSTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Google Ads lead form": (
        {
            "lead_id": "TeSt", "form_id": 40000000000, "is_test": True, "google_key": "k", "campaign_id": 123,
            "user_column_data": [
                {"column_name": "Full Name", "string_value": "Ada Lovelace", "column_id": "FULL_NAME"},
                {"column_name": "User Email", "string_value": MAIL, "column_id": "EMAIL"},
                {"column_name": "User Phone", "string_value": NUMBER, "column_id": "PHONE_NUMBER"},
                {"column_name": "Postal Code", "string_value": "33101", "column_id": "POSTAL_CODE"},
            ],
        },
        {"zip_postal_code": "33101"},
    ),
    "Meta lead ads": (
        {
            "id": "123", "form_id": "9", "created_time": "2026-01-01T00:00:00+0000",
            "field_data": [
                {"name": "full_name", "values": ["Ada Lovelace"]}, {"name": "email", "values": [MAIL]},
                {"name": "phone_number", "values": [NUMBER]}, {"name": "state", "values": ["FL"]},
            ],
        },
        {"state_province": "FL"},
    ),
    "Typeform": (
        {
            "event_type": "form_response",
            "form_response": {
                "definition": {"fields": [
                    {"id": "a1", "ref": "r1", "title": "What is your first name?", "type": "short_text"},
                    {"id": "a2", "ref": "r2", "title": "Your last name", "type": "short_text"},
                    {"id": "a5", "ref": "r5", "title": "ZIP code", "type": "number"},
                ]},
                "answers": [
                    {"type": "text", "text": "Ada", "field": {"id": "a1", "ref": "r1", "type": "short_text"}},
                    {"type": "text", "text": "Lovelace", "field": {"id": "a2", "ref": "r2", "type": "short_text"}},
                    {"type": "email", "email": MAIL, "field": {"id": "a3", "ref": "r3", "type": "email"}},
                    {"type": "phone_number", "phone_number": NUMBER, "field": {"id": "a4", "type": "phone_number"}},
                    {"type": "number", "number": 33101, "field": {"id": "a5", "ref": "r5", "type": "number"}},
                ],
            },
        },
        {"zip_postal_code": "33101"},
    ),
    "Jotform": (
        {
            "formID": "231", "submissionID": "5", "formTitle": "Quote", "pretty": "Name:Ada Lovelace",
            "rawRequest": JSON({
                "slug": "submit/231", "q3_name": {"first": "Ada", "last": "Lovelace"}, "q4_email": MAIL,
                "q5_phoneNumber": {"full": "(305) 555-0123"},
                "q6_address": {"addr_line1": "1 Main St", "city": "Miami", "state": "FL", "postal": "33101"},
            }).decode(),
        },
        {"zip_postal_code": "33101", "state_province": "FL"},
    ),
    "Jotform, number in parts": (
        {"q1_name": {"first": "Ada", "last": "Lovelace"}, "q2_email": MAIL, "q3_phone": {"area": "305", "phone": "5550123"}},
        {},
    ),
    "Unbounce": (
        {
            "page_id": "p", "page_url": "https://example.com", "variant": "a",
            "data.json": JSON({"first_name": ["Ada"], "last_name": ["Lovelace"], "email": [MAIL],
                "phone": [NUMBER]}).decode(),
        },
        {},
    ),
    "Contact Form 7": ({"your-name": "Ada Lovelace", "your-email": MAIL, "your-tel": NUMBER}, {}),
    "WPForms": (
        {"fields": {
            "0": {"name": "Name", "value": "Ada Lovelace", "id": 0, "type": "name", "first": "Ada", "last": "Lovelace"},
            "1": {"name": "Email", "value": MAIL, "id": 1, "type": "email"},
            "2": {"name": "Phone", "value": NUMBER, "id": 2, "type": "phone"},
        }},
        {},
    ),
    "Elementor": (
        {
            "form": {"id": "f", "name": "Quote"},
            "fields": {
                "name": {"id": "name", "type": "text", "title": "Name", "value": "Ada Lovelace",
                    "raw_value": "Ada Lovelace"},
                "email": {"id": "email", "type": "email", "title": "Email", "value": MAIL, "raw_value": MAIL},
                "field_7": {"id": "field_7", "type": "tel", "title": "Phone", "value": NUMBER, "raw_value": NUMBER},
            },
            "meta": {"remote_ip": {"title": "Remote IP", "value": "203.0.113.7"}},
        },
        {},
    ),
    "Gravity Forms": ({"Name (First)": "Ada", "Name (Last)": "Lovelace", "Phone": NUMBER, "Email": MAIL,
        "Form Title": "Q"}, {}),
    "HubSpot": (
        {"vid": 1, "properties": {
            "firstname": {"value": "Ada"}, "lastname": {"value": "Lovelace"}, "email": {"value": MAIL},
            "phone": {"value": NUMBER}, "zip": {"value": "33101"},
        }},
        {"zip_postal_code": "33101"},
    ),
    "Webflow": (
        {"triggerType": "form_submission", "payload": {
            "name": "Contact form", "siteId": "s",
            "data": {"First Name": "Ada", "Last Name": "Lovelace", "Email": MAIL, "Phone Number": NUMBER},
        }},
        {},
    ),
    "Formstack": ({"FormID": "1", "UniqueID": "2", "Name": {"first": "Ada", "last": "Lovelace"}, "Email": MAIL,
        "Phone": NUMBER}, {}),
    "Cognito Forms": (
        {
            "Form": {"Id": "1", "Name": "Quote"}, "Id": "1-1",
            "Name": {"First": "Ada", "Last": "Lovelace", "FirstAndLast": "Ada Lovelace"}, "Phone": NUMBER, "Email": MAIL,
            "Address": {"Line1": "1 Main St", "City": "Miami", "State": "FL", "PostalCode": "33101"},
        },
        {"zip_postal_code": "33101", "state_province": "FL"},
    ),
    "LinkedIn lead gen, by Zapier": ({"First Name": "Ada", "Last Name": "Lovelace", "Email Address": MAIL,
        "Phone Number": NUMBER}, {}),
    "TikTok lead generation": (
        {"object": "LEAD", "entry": [{"lead_id": "7", "changes": [
            {"field": "name", "value": "Ada Lovelace"}, {"field": "email", "value": MAIL}, {"field": "phone_number",
                "value": NUMBER},
        ]}]},
        {},
    ),
    "Angi": (
        {
            "firstName": "Ada", "lastName": "Lovelace", "primaryPhone": "3055550123", "email": MAIL, "address": "1 Main St",
            "city": "Miami", "stateProvince": "FL", "postalCode": "33101", "taskName": "Roof",
                "provider": {"phone": "+12125550100"},
        },
        {"zip_postal_code": "33101", "state_province": "FL"},
    ),
    "CallRail": ({"form_data": {"name": "Ada Lovelace", "phone_number": NUMBER, "email": MAIL},
        "company_name": "Roofs"}, {}),
    "Leadpages": ({"first_name": ["Ada"], "last_name": ["Lovelace"], "email": [MAIL], "phone": [NUMBER]}, {}),
    "Instapage": ({"Name": "Ada Lovelace", "Email": MAIL, "Phone": NUMBER, "page_name": "Quote"}, {}),
    "Zillow": (
        {
            "agent": {"name": "Eve Agent", "phone": "+12125550100", "email": "eve@example.com"},
            "contact": {"name": "Ada Lovelace", "phone": NUMBER, "email": MAIL}, "listing": {"zip": "33101"},
        },
        {"zip_postal_code": "33101"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("vendor", POSTS)
def test_a_post_of_a_vendor_is_read_whole(submit: Submit, vendor: str) -> None:
    body, columns = POSTS[vendor]
    request, _ = submit({"caller_id": "", "auto_format_nested_fields": True, **body})
    assert (request.caller_id, request.email) == (NUMBER, MAIL)
    assert {name: request.data.get(name) for name in NAMES} == NAMES
    assert {name: request.columns[name] for name in PLACE if name in request.columns} == columns


@pytest.mark.parametrize(
    "part", ["agent", "Dealer", "vendor", "seller", "metadata", "schema", "provider", "page", "agents", "Dealers"]
)
def test_no_number_is_taken_from_a_part_about_somebody_else(submit: Submit, part: str) -> None:
    other = {part: {"name": "Eve", "phone": "+12125550100", "email": "eve@example.com", "zip": "10001"}}
    request, _ = submit({"caller_id": "", "email": MAIL, "auto_format_nested_fields": True, **other})
    assert (request.caller_id, request.email) == (None, MAIL)
    assert "zip_postal_code" not in request.columns


@pytest.mark.parametrize(
    ("full", "names"),
    [
        ("Ada Lovelace", ("Ada", "Lovelace")),
        ("Ada King Lovelace", ("Ada", "Lovelace")),
        ("Lovelace, Ada", ("Ada", "Lovelace")),
        ("Ada Lovelace, PhD", ("Ada", "Lovelace")),
        ("Dr. Ada Lovelace", ("Ada", "Lovelace")),
        ("Martin Luther King Jr.", ("Martin", "King")),
        ("Ludwig van Beethoven", ("Ludwig", "van Beethoven")),
        ("Juan Carlos de la Cruz", ("Juan", "de la Cruz")),
        ("Ada", ("Ada", "")),
        ("  ", ("", "")),
        ("Mr Smith", ("Smith", "")),
    ],
)
def test_a_full_name_is_split_by_the_stated_rule(full: str, names: tuple[str, str]) -> None:
    assert split_name(full) == names
