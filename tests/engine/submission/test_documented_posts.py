"""Is the body that a page of a vendor documents read whole: number, e-mail, both names, zip code, state, zone?

Each body has the fields and the nesting of the named page, each with values of our own: the pages use numbers that are none.
Of Typeform the page shows the other answers, and names the type of one with a number; of LinkedIn the published JSON schema
was compared. Not the vendor's own are the pages of GoHighLevel (a reseller's), Cognito Forms (a directory's) and WooCommerce
(a user's record of a post).
All seven fields are compared, so that nothing is taken from a part about an agent, a dealer or the form itself.
"""

from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import pytest

from adapters.body_fields import nest
from adapters.xml_body import read_xml
from tests.engine.submission.conftest import Submit

NUMBER, MAIL = "+13055550123", "ada@example.com"


class Read(NamedTuple):
    """What a body says of the person."""

    number: str | None = NUMBER
    email: str | None = MAIL
    first_name: str | None = "Ada"
    last_name: str | None = "Lovelace"
    zip_code: str | None = None
    state: str | None = None
    zone: str | None = None


def column(name: str, value: str, column_id: str) -> dict[str, str]:
    return {"column_name": name, "string_value": value, "column_id": column_id}


def answer(name: str, value: str) -> dict[str, Any]:
    return {"questionId": 1, "name": name, "answerDetails": {"textQuestionAnswer": {"answer": value}}}


CRAFTJACK = b"""<?xml version="1.0" encoding="utf-8"?>
<Lead><FirstName>Ada</FirstName><LastName>Lovelace</LastName><Address>3462 Rivendell Drive</Address><City>Miami</City>
<State>FL</State><ZipCode>33101</ZipCode><PhoneNumber>3055550123</PhoneNumber>
<DirectLeadPhoneNumber>3055550123</DirectLeadPhoneNumber><EmailAddress>ada@example.com</EmailAddress><LeadId>25</LeadId>
<ServiceId>3000</ServiceId><ServiceName>Install or Replace Asphalt Roof</ServiceName>
<ServiceAreaName>Coopers Patio Inspection - First Area</ServiceAreaName><Service>Roofing</Service>
<TimeFrame>Anytime</TimeFrame><Notes>This is a test webhook notification.</Notes><OriginalPrice>50.0</OriginalPrice>
<DiscountedPrice>45.0</DiscountedPrice><TrustedForm>https://cert.trustedform.com/4eace04f</TrustedForm>
<CustomerType>commercial</CustomerType><IpAddress>10.0.0.1</IpAddress>
<AdditionalDetails><Detail question="Did you request a test webhook notification?">Yes</Detail></AdditionalDetails></Lead>"""

ADF = b"""<?xml version="1.0" encoding="UTF-8"?><?adf version="1.0"?>
<adf><prospect><requestdate>2000-03-30T15:30:20-08:0</requestdate>
<vehicle><year>2008</year><make>Make</make><model>Model</model></vehicle>
<customer><contact><name part="first">Ada</name><name part="last">Lovelace</name><phone>305-555-0123</phone>
<email>ada@example.com</email></contact></customer>
<vendor><contact><name part="full">Dealer Name</name></contact></vendor></prospect></adf>"""

ADF_OF_A_DEALER = b"""<?xml version="1.0" encoding="UTF-8"?><?adf version="1.0"?>
<adf><prospect><requestdate></requestdate><customer><contact><name part="first">Ada</name><name part="last">Lovelace</name>
<phone>(305) 555-0123</phone><email>mailto:ada@example.com</email><address><regioncode>FL</regioncode></address>
</contact></customer><vendor><contact><name part="full">Dealer Name</name></contact></vendor></prospect></adf>"""

ADF_OF_A_PROVIDER = b"""<adf><prospect status="new"><id sequence="1" source="Example">Example</id>
<requestdate>2025-09-22T18:07</requestdate><vehicle interest="buy" status="new"/>
<provider><name part="full">Example</name><service>Example</service><url>https://example.com</url>
<email>provider@example.com</email><leadtype>Sales</leadtype></provider><leadtype>Sales</leadtype>
<customer><contact><name part="full" type="individual">Ada Lovelace</name><name part="first">Ada</name>
<name part="last">Lovelace</name><phone type="voice">(305) 555-0123</phone><address type="home"/></contact>
<comments>We will be in touch with you soon.</comments></customer>
<vendor><contact><name part="full">Example Dealer</name></contact></vendor></prospect></adf>"""

POSTS: dict[str, tuple[dict[str, Any], Read]] = {
    "https://developers.google.com/google-ads/webhook/docs/samples": (
        {
            "lead_id": "Cj0KCQ", "campaign_id": 123456, "gcl_id": "Cj0KCQ", "api_version": "1.0", "form_id": 1234,
            "google_key": "xfdg", "is_test": True,
            "user_column_data": [
                column("Full Name", "Ada Lovelace", "FULL_NAME"), column("User Email", MAIL, "EMAIL"),
                column("User Phone", NUMBER, "PHONE_NUMBER"), column("Postal Code", "33101", "POSTAL_CODE"),
            ],
        },
        Read(zip_code="33101"),
    ),
    "https://developers.formstack.com/docs/webhook-examples#contact-form-example": (
        {
            "FormID": "23534", "Name": {"first": "Ada", "last": "Lovelace"}, "Email": MAIL, "Phone": "305-555-0123",
            "Address": {"address": "1234 Test Drive", "city": "Miami", "state": "FL", "zip": "33101"},
            "UniqueID": "12345678",
        },
        Read(zip_code="33101", state="FL"),
    ),
    "https://developers.formstack.com/docs/webhook-examples#contact-form-example-with-field-types": (
        {
            "FormID": "23534", "Name": {"first": "Ada", "last": "Lovelace", "field_type": "name"},
            "Email": {"value": MAIL, "field_type": "email"}, "Phone": {"value": "305-555-0123", "field_type": "phone"},
            "Address": {
                "address": "1234 Test Drive", "city": "Miami", "state": "FL", "zip": "33101", "field_type": "address",
            },
            "UniqueID": "12345678",
        },
        Read(zip_code="33101", state="FL"),
    ),
    "https://developers.webflow.com/data/reference/webhooks/events/form-submission": (
        {
            "triggerType": "form_submission",
            "payload": {
                "name": "Contact Us", "siteId": "65427cf400e02b306eaa049c",
                "data": {"First Name": "Ada", "Last Name": "Lovelace", "email": MAIL, "Phone Number": 13055550123},
                "schema": [
                    {"fieldName": name, "fieldType": "FormTextInput", "fieldElementId": "285042f7"}
                    for name in ("First Name", "Last Name", "email", "Phone Number")
                ],
                "submittedAt": "2022-09-14T12:35:16.117Z", "id": "6321ca84df3949bfc6752327",
                "formId": "65429eadebe8a9f3a30f62d0", "formElementId": "4e038d2c",
            },
        },
        Read(),
    ),
    "https://gist.github.com/activeprospect-support/864fc7b0372ec71b8857": (
        nest(
            parse_qsl(
                "first_name=Ada&last_name=Lovelace&phone_1=(305)%20555-0123&email=ada%40example.com"
                "&mortgage.property.state=FL&mortgage.loan.purpose=purchase&mortgage.loan.amount=100000"
                "&mortgage.loan.down_payment=20000&mortgage.property.use=primary"
                "&mortgage.property.type=single%20family&mortgage.property.postal_code=33101"
            )
        ),
        Read(zip_code="33101", state="FL"),
    ),
    "https://help.sitecliq.com/portal/en/kb/articles/connecting-webhooks-to-a-contact-form": (
        {
            "fields": {
                "short_text": {"title": "Short text", "value": "An example of a short text", "type": "text"},
                "867b7a8a-e9f4-460d-a7f7-2e15fd6fa07c": {"title": "Long text", "value": "Old cherry", "type": "textArea"},
                "contactForm_email": {"title": "Email", "value": MAIL, "type": "email"},
                "contactForm_phoneNumber": {"title": "Phone number", "value": "13055550123", "type": "phone"},
                "cbae3dd6-c4f2-4873-9aa3-49b50e2e3d83": {"title": "Date", "value": "21/12/2022, 00:00", "type": "date"},
            }
        },
        Read(first_name=None, last_name=None),
    ),
    "https://www.typeform.com/developers/webhooks/example-payload/": (
        {
            "event_id": "LtWXD3crgy", "event_type": "form_response",
            "form_response": {
                "form_id": "lT4Z3j", "token": "a3a12ec67a1365927098a606107fac15", "submitted_at": "2018-01-18T18:17:02Z",
                "calculated": {"score": 9},
                "variables": [
                    {"key": "score", "type": "number", "number": 4}, {"key": "name", "type": "text", "text": "typeform"},
                ],
                "hidden": {"user_id": "abc123456"},
                "definition": {
                    "id": "lT4Z3j", "title": "Webhooks example",
                    "fields": [
                        {"id": "SMEUb7VJz92Q", "type": "email", "ref": "readable_ref_email",
                            "title": "If you're OK with our city management following up if they have further questions,"
                            " please give us your email address."},
                        {"id": "JwWggjAKtOkA", "title": "What is your first name?", "type": "short_text",
                            "ref": "readable_ref_short_text"},
                        {"id": "NRsxU591jIW9", "title": "What is your phone number?", "type": "phone_number", "ref": "p"},
                    ],
                },
                "answers": [
                    {"type": "email", "email": MAIL,
                        "field": {"id": "SMEUb7VJz92Q", "type": "email", "ref": "readable_ref_email"}},
                    {"type": "text", "text": "Ada",
                        "field": {"id": "JwWggjAKtOkA", "type": "short_text", "ref": "readable_ref_short_text"}},
                    {"type": "phone_number", "phone_number": NUMBER,
                        "field": {"id": "NRsxU591jIW9", "type": "phone_number", "ref": "p"}},
                ],
            },
        },
        Read(last_name=None),
    ),
    "https://help.craftjack.com/article/31-what-are-web-hook-lead-notifications": (
        read_xml(CRAFTJACK),
        Read(zip_code="33101", state="FL"),
    ),
    "https://handwiki.org/wiki/Auto-lead_Data_Format": (read_xml(ADF), Read()),
    "https://helpme.everlogic.com/help/adf-xml-lead-import-function": (read_xml(ADF_OF_A_DEALER), Read(state="FL")),
    "https://help.launchlabs.ai/en/articles/8080641": (read_xml(ADF_OF_A_PROVIDER), Read(email=None)),
    "https://help.hoopai.com/api-reference/webhooks/contact-create (GoHighLevel)": (
        {
            "type": "ContactCreate", "locationId": "ve9EPM428h8vShlRW1KT", "id": "nmFmQEsNgz6AVpgLVUJ0",
            "address1": "3535 1st St N", "city": "Miami", "state": "FL", "companyName": "Loram ipsum", "country": "US",
            "source": "xyz form", "dateAdded": "2021-11-26T12:41:02.193Z", "dateOfBirth": "2000-01-05T00:00:00.000Z",
            "dnd": True, "email": MAIL, "name": "Ada Lovelace", "firstName": "Ada", "lastName": "Lovelace", "phone": NUMBER,
            "postalCode": "33101", "tags": ["id"], "website": "https://example.com", "attachments": [], "assignedTo": "nmF",
            "customFields": [{"id": "BcdmQEsNgz6AVpgLVUJ0", "value": "XYZ Corp"}],
        },
        Read(zip_code="33101", state="FL"),
    ),
    "https://docs.insights.anewgo.com/faqs": (
        {
            "firstName": "Ada", "lastName": "Lovelace", "registrationDate": "2019-07-24 16:50:15.293+02", "email": MAIL,
            "phone": "3055550123",
            "favorites": {
                "planName": "Benson", "elevationCaption": "A", "community": "Heritage", "isInventory": False, "address": "",
                "homeSite": "Durham, NC 27704", "lotNumber": "8", "schemeName": "Color 1",
                "floorPlanOptions": {"0": ["Fireplace", "Laundry"], "1": ["bathroom"]},
            },
        },
        Read(),
    ),
    "https://apis.io/examples/cognito-forms/create-entry-example/": (
        {
            "Entry": 42, "DateCreated": "2026-06-13T10:00:00Z", "DateUpdated": "2026-06-13T10:00:00Z",
            "Name": {"First": "Ada", "Last": "Lovelace"}, "Email": MAIL, "Phone": "305-555-0123",
            "Message": "I would like more information about your services.",
        },
        Read(),
    ),
    "https://docs.agentautodialer.com/API-Reference-Borbolla-Insurance-22b899ab6d4980c08904e0b2a32b85c6": (
        {
            "type": "AUTO", "event": "lead_created",
            "lead": {
                "firstName": "Ada", "lastName": "Lovelace", "email": MAIL, "phone": NUMBER,
                "address": {
                    "zip": "33101", "city": "Miami", "state": "Florida", "country": "", "street1": "", "street2": "",
                },
            },
        },
        Read(zip_code="33101", state="FL"),
    ),
    "https://gist.github.com/jphungcode/47f6f25bdf33d5fd694cc867566070b8 (WooCommerce)": (
        {
            "id": 52, "status": "pending", "order_key": "order_5836d85314887", "number": 52, "currency": "USD",
            "billing": {
                "first_name": "Ada", "last_name": "Lovelace", "company": "Test", "address_1": "asd", "address_2": "123",
                "city": "Miami", "state": "FL", "postcode": "33101", "country": "US", "email": MAIL, "phone": "3055550123",
            },
            "shipping": {
                "first_name": "Eve", "last_name": "Other", "company": "Test", "address_1": "asd", "address_2": "123",
                "city": "New York", "state": "NY", "postcode": "10001", "country": "US",
            },
            "payment_method": "paypal", "payment_method_title": "PayPal", "transaction_id": "",
        },
        Read(zip_code="33101", state="FL"),
    ),
    "https://docs.fourthwall.com/webhook-model": (
        {
            "testMode": False, "id": "weve_g", "webhookId": "wcon_P", "shopId": "sh_7", "type": "ORDER_PLACED",
            "data": {
                "id": "00aa4abd", "friendlyId": "D3XZFWPP", "status": "CONFIRMED", "email": MAIL,
                "message": "Sample message", "amounts": {"subtotal": {"value": 5.5, "currency": "USD"}},
                "billing": {"address": {
                    "name": "Ada Lovelace", "address1": "Main Street 1", "address2": "", "city": "Miami", "state": "FL",
                    "country": "US", "zip": "33101", "phone": "3055550123",
                }},
                "shipping": {"address": {
                    "name": "Eve Other", "address1": "Main Street 1", "address2": "", "city": "New York", "state": "NY",
                    "country": "US", "zip": "10001", "phone": "2125550100",
                }},
                "offers": [{"id": "00aa4abd", "name": "My TShirt", "slug": "my-tshirt"}],
            },
        },
        Read(zip_code="33101", state="FL"),
    ),
    "https://docs.bosscart.io/endpoints/new-form-submission": (
        {
            "website": {"id": 123, "subdomain": "some-subdomain", "systemDomain": "your-system.subdomain.com"},
            "contact": {
                "id": 123, "name": "Ada Lovelace", "email": MAIL, "phone": NUMBER, "note": "x", "address": "1 Main St",
                "city": "Miami", "state": "FL", "zip": "33101", "country": "US", "companyName": "Roofs",
                "createdOn": 1573240303, "properties": [{"name": "lead_status", "value": "contacted"}], "tags": ["tag1"],
                "memberId": 487, "subscribed": True, "subscriberLists": [0, 87647751],
            },
            "formName": "Contact Form", "formValues": [{"field": "Message", "value": "Please call"}],
        },
        Read(zip_code="33101", state="FL"),
    ),
    "https://showmojo.helpjuice.com/29069-api/341375-leads-and-showings-webhook": (
        {
            "event": {
                "id": "1", "action": "showing_scheduled", "actor": "prospect", "team_member_name": "Tom Member",
                "team_member_uid": "7", "created_at": "2026-01-01T10:00:00Z",
                "showing": {
                    "uid": "8", "created_at": "2026-01-01T10:00:00Z", "showtime": "2026-01-02T10:00:00Z",
                    "showing_time_zone": "Eastern Time (US & Canada)", "showing_time_zone_utc_offset": -5,
                    "name": "Ada Lovelace", "phone": NUMBER, "email": MAIL, "notes": "x", "listing_uid": "9",
                },
            }
        },
        Read(),
    ),
    "https://developer.funnelleasing.com/guides/events-and-callbacks/webhooks/lead-webhook": (
        {
            "nestio_client_id": 456678, "nestio_team_id": 1234,
            "people": [
                {"first_name": "Ada", "last_name": "Lovelace", "email": MAIL, "phone_1": "305-555-0123", "phone_2": ""},
                {"first_name": "Jane", "last_name": "Doe", "email": "janedoe@example.com", "phone_1": "", "phone_2": ""},
            ],
            "lead_source": "streeteasy", "move_in_date": "1970-01-01", "created_at": "2019-01-01T04:55:55",
            "listings": [{"nestio_unit_id": 123, "property_address": "123 First St", "unit_number": "2A"}],
            "messages": [{"message": "Hi am i interested in seeing apt 2a.", "received_at": "2019-01-01T04:55:55"}],
            "agents": [{"name": "Dave Agently", "email": "dave@agently.com", "nestio_agent_id": "2"}],
        },
        Read(),
    ),
    "https://help.demo.homestar.ink/reference/leads#tour-requests": (
        {
            "listing_id": "202412345", "name": "Ada Lovelace", "email": MAIL, "phone": "305-555-0123",
            "preferred_date": "2024-12-30", "preferred_time": "10:00 AM", "message": "I'm interested in seeing it.",
        },
        Read(),
    ),
    "https://www.leadroute.dev/docs/api/leads/submit": (
        {
            "directory_id": "dir_abc123", "form_id": "form_xyz789", "email": MAIL, "name": "Ada Lovelace",
            "phone": "305-555-0123", "message": "I need a plumber for a leaky faucet", "category": "plumbing",
            "location": "Miami, FL",
        },
        Read(),
    ),
    "https://apidocs.resharmonics.com/webhooks/contact_change": (
        {
            "id": "1", "firstName": "Ada", "lastName": "Lovelace", "emailAddress": MAIL, "accountCode": "A1",
            "telephoneNumber": NUMBER, "companyCode": "C1", "referrer": "Eve Agent", "status": "LEAD",
            "address": {
                "addressLine1": "1 Main St", "addressLine2": "", "city": "Miami", "postcode": "33101", "country": "USA",
                "isoCountry2": "US",
            },
            "contactMethod": {"preferredContactMethod": "TELEPHONE"}, "customData": {},
        },
        Read(zip_code="33101"),
    ),
    "https://example.leadprosper.tech/go-high-level": (
        {
            "email": MAIL, "phone": NUMBER, "firstName": "Ada", "lastName": "Lovelace", "name": "Ada Lovelace",
            "dateOfBirth": "1990-09-25", "address1": "3535 1st St N", "city": "Miami", "state": "FL", "country": "US",
            "postalCode": "33101", "companyName": "DGS VolMAX", "website": "35061", "timezone": "America/New_York",
            "tags": ["aute"], "source": "public api", "customField": {"__custom_field_id__": "exercitation"},
        },
        Read(zip_code="33101", state="FL", zone="America/New_York"),
    ),
    "https://learn.microsoft.com/en-us/linkedin/marketing/lead-sync/leadsync": (
        {
            "owner": {"sponsoredAccount": "urn:li:sponsoredAccount:1"}, "submitter": "urn:li:person:1",
            "leadType": "SPONSORED", "versionedLeadGenFormUrn": "urn:li:versionedLeadGenForm:(urn:li:leadGenForm:1,1)",
            "id": "1", "submittedAt": 1_668_000_000_000, "testLead": False,
            "formResponse": {
                "consentResponses": [{"accepted": True, "consentId": 1}],
                "answers": [
                    answer("firstName", "Ada"), answer("lastName", "Lovelace"), answer("emailAddress", MAIL),
                    answer("phoneNumber", NUMBER),
                ],
            },
        },
        Read(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("page", POSTS)
def test_a_body_that_a_page_documents_is_read_whole_and_nothing_else_is(submit: Submit, page: str) -> None:
    body, expected = POSTS[page]

    request = submit({"caller_id": None, "auto_format_nested_fields": True, **body}).request

    names = (request.data.get("first_name"), request.data.get("last_name"))
    place = (request.columns.get(name) for name in ("zip_postal_code", "state_province", "time_zone"))
    assert Read(request.caller_id, request.email, *names, *place) == expected


def test_at_least_fifteen_vendors_are_documented() -> None:
    assert len({page.split("/")[2] for page in POSTS}) >= 15
