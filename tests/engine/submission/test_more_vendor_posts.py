"""Are the posts of further vendors read whole: pairs with several titles, answers further inside, columns of their own?

Each body has the shape that users of the vendor report, with made-up values; bodies that were compared with a page of the
vendor are in `test_documented_posts.py`. What cannot be read by its shape (fields that are numbers) takes a lead map.
"""

from typing import Any
from urllib.parse import parse_qsl

import pytest

from adapters.body_fields import nest
from tests.engine.submission.conftest import Submit

NUMBER, MAIL = "+13055550123", "ada@example.com"
PLACE = ("zip_postal_code", "state_province", "time_zone")
NAMES = {"first_name": "Ada", "last_name": "Lovelace"}


def form(text: str) -> dict[str, Any]:
    return nest(parse_qsl(text, keep_blank_values=True))


def answered(name: str, answer: str) -> dict[str, Any]:
    return {"questionId": 1, "name": name, "answerDetails": {"textQuestionAnswer": {"answer": answer}}}


def field(key: str, label: str, value: str) -> dict[str, Any]:
    return {"key": key, "label": label, "value": value}


POSTS: dict[str, dict[str, Any]] = {
    "https://learn.microsoft.com/en-us/linkedin/marketing/lead-sync/leadsync": {
        "leadType": "SPONSORED", "owner": {"sponsoredAccount": "urn:li:sponsoredAccount:1"}, "testLead": False,
        "formResponse": {"answers": [
            answered("firstName", "Ada"), answered("lastName", "Lovelace"), answered("emailAddress", MAIL),
            answered("phoneNumber", NUMBER),
        ]},
    },
    "https://tally.so/help/webhooks": {
        "eventType": "FORM_RESPONSE",
        "data": {"formName": "Quote", "fields": [
            field("question_1", "First name", "Ada"), field("question_2", "Last name", "Lovelace"),
            field("question_3", "Email", MAIL), field("question_4", "Phone", NUMBER),
        ]},
    },
    "Ninja Forms": {"form_id": 1, "fields": {
        "1": field("firstname_1", "First Name", "Ada"), "2": field("lastname_1", "Last Name", "Lovelace"),
        "3": field("email_3", "E-Mail", MAIL), "4": field("phone_1", "Phone", NUMBER),
    }},
    "Netlify Forms": {
        "form_name": "contact", "email": MAIL, "name": "Ada Lovelace",
        "data": {"name": "Ada Lovelace", "email": MAIL, "phone": NUMBER, "ip": "192.0.2.1", "user_agent": "x"},
    },
    "ClickFunnels 2.0": {
        "event_type": "contact.created",
        "data": {"type": "contact", "id": 7, "attributes": {**NAMES, "email_address": MAIL, "phone_number": NUMBER}},
    },
    "ClickFunnels": {"contact": {"name": "Ada Lovelace", "email": MAIL, "phone": NUMBER, "ip": "192.0.2.1", "funnel_id": 1}},
    "LeadConduit": {"lead": {**NAMES, "email": MAIL, "phone_1": NUMBER}},
    "boberdoo": form(f"TYPE=19&SRC=x&First_Name=Ada&Last_Name=Lovelace&Email={MAIL}&Primary_Phone=3055550123"),
    "Formstack": {
        "FormID": "1", "name": {"first": "Ada", "last": "Lovelace"}, "email": {"value": MAIL}, "phone": {"value": NUMBER},
    },
    "Paperform": {"data": [
        {"title": "Name", "key": "a", "value": "Ada Lovelace"}, {"title": "Email", "value": MAIL},
        {"title": "Phone", "value": NUMBER},
    ]},
    "Meta lead ads by Zapier": {"raw__full_name": "Ada Lovelace", "raw__email": MAIL, "raw__phone_number": NUMBER},
    "Pipedrive": {"data": {
        "name": "Ada Lovelace", "phone": [{"label": "work", "value": NUMBER, "primary": True}],
        "email": [{"label": "work", "value": MAIL}], "owner_id": {"name": "Boss", "email": "boss@example.com"},
    }},
    "Yelp": {
        "customer": {"display_name": "Ada Lovelace", "phone": NUMBER, "email": MAIL}, "business": {"phone": "+13055550555"},
    },
    "Thumbtack": {
        "customer": {"name": "Ada Lovelace", "phone": NUMBER, "email": MAIL}, "business": {"phone": "+13055550666"},
    },
    "Calendly": {"event": "invitee.created", "payload": {
        "email": MAIL, **NAMES, "timezone": "America/New_York",
        "questions_and_answers": [{"question": "Phone Number", "answer": NUMBER, "position": 0}],
        "scheduled_event": {"name": "30 Minutes", "event_memberships": [{"user_email": "host@example.com"}]},
    }},
    "Formspree": {"form": "abc", "submission": {"name": "Ada Lovelace", "email": MAIL, "phone": NUMBER}, "keys": ["name"]},
    "Fluent Forms": {"names": NAMES, "email": MAIL, "phone": NUMBER, "__submission": {"id": 1}},
    "Leadpages": {"form": "x", "fields": {"email": MAIL, "name": "Ada Lovelace", "phone": NUMBER}},
    "Squarespace": {"Name": {"First": "Ada", "Last": "Lovelace"}, "Email": MAIL, "Phone": "(305) 555-0123"},
    "Wix": {"data": {"formName": "Contact", "contact": {
        "name": {"first": "Ada", "last": "Lovelace"}, "email": MAIL, "phone": NUMBER,
    }}},
    "Contact Form 7": form(f"your-name=Ada+Lovelace&your-email={MAIL}&your-tel=%2B13055550123&_wpcf7=5"),
    "Salesforce Web-to-Lead": form(f"oid=00D&retURL=x&first_name=Ada&last_name=Lovelace&email={MAIL}&phone=305-555-0123"),
    "GoHighLevel": {
        "contact_id": "1", **NAMES, "email": MAIL, "phone": NUMBER,
        "user": {"phone": "+13055550999", "email": "agent@example.com"}, "location": {"phone": "+13055550888"},
    },
    "Intercom": {"data": {"item": {
        "type": "contact", "name": "Ada Lovelace", "email": MAIL, "phone": NUMBER,
        "owner": {"email": "boss@example.com", "phone": "+13055550777"},
    }}},
    "ActiveCampaign": form(
        f"type=subscribe&contact[email]={MAIL}&contact[first_name]=Ada&contact[last_name]=Lovelace&contact[phone]=3055550123"
    ),
    "Google Forms": {"namedValues": {
        "First Name": ["Ada"], "Last Name": ["Lovelace"], "Email": [MAIL], "Phone number": [NUMBER],
    }},
    "Instapage": form(f"Email={MAIL}&Name=Ada+Lovelace&Phone=%2B13055550123&pageName=Offer"),
}  # fmt: skip


@pytest.mark.parametrize("vendor", POSTS)
def test_a_post_is_read_whole(submit: Submit, vendor: str) -> None:
    body = {"caller_id": None, "auto_format_nested_fields": True, **POSTS[vendor]}
    request = submit(body).request
    assert (request.caller_id, request.email) == (NUMBER, MAIL)
    assert {name: request.data.get(name) for name in NAMES} == NAMES
    place = {name: request.columns[name] for name in PLACE if name in request.columns}
    assert place == ({"time_zone": "America/New_York"} if vendor == "Calendly" else {})


@pytest.mark.parametrize(
    ("country", "code"),
    [
        ("United States", "US"),
        ("U.S.A.", "US"),
        ("usa", "US"),
        ("Canada", "CA"),
        ("M\u00e9xico", "MX"),
        ("Deutschland", "DE"),
        ("us", "US"),
    ],
)
def test_a_country_is_also_known_by_its_name(submit: Submit, country: str, code: str) -> None:
    assert submit({"country": country}).request.columns["country"] == code


@pytest.mark.parametrize(("sent", "zip_code"), [("2134", "02134"), ("501", "00501"), ("33101", "33101"), (2134, "02134")])
def test_a_zip_code_that_lost_its_zeros_gets_them_back(submit: Submit, sent: Any, zip_code: str) -> None:
    assert submit({"zip": sent}).request.columns["zip_postal_code"] == zip_code
    assert submit({"zip": "2134", "country": "AU"}).request.columns["zip_postal_code"] == "2134"
