"""Which field did a sender mean by another name? Forms say `phone`, `zip_code`, `firstname` for what we call otherwise.

One table for `auto_format_nested_fields`, for plain submissions and for files. Upper case, blanks, hyphens and dots do not
matter. A field that is sent under its own name goes before all others.
"""

import re
from collections.abc import Mapping
from typing import Final

NEAR_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "caller_id": (
        *(
            "phone",
            "phone_number",
            "phone1",
            "phone_1",
            "primary_phone",
            "mobile",
            "mobile_phone",
            "mobile_number",
            "phone_mobile",
        ),
        *("cell", "cell_phone", "cellphone", "home_phone", "phone_home", "telephone", "telephone_number", "tel"),
        *("callerid", "caller_number", "phonenumber", "mobilephone"),
    ),
    "email": ("email_address", "e_mail", "emailaddress", "primary_email", "mail"),
    "full_name": ("fullname", "contact_name", "display_name"),
    "first_name": ("firstname", "fname", "given_name", "name_first"),
    "last_name": ("lastname", "lname", "surname", "family_name", "name_last"),
    "address": ("address1", "address_1", "street", "street_address", "addr_line1", "address_line_1"),
    "city": ("town",),
    "state_province": ("state", "province", "region", "regioncode"),
    "zip_postal_code": ("zip", "zip_code", "zipcode", "postal_code", "postcode", "postalcode", "postal"),
    "country": ("country_code",),
    "time_zone": ("timezone",),
    "remote_ip": ("ip", "ip_address", "ipaddress"),
    "sub_id": ("subid",),
}
"""Field -> its other names, those that say most first."""

NESTED_ONLY = frozenset({"remote_ip"})
"""Fields that other names fill only where the sender asked for it: what a form calls `ip` may be its server's."""

TOKENS = frozenset({"first_name", "last_name", "address", "city"})
"""Of these, what is no column: templates name them."""

_FIELDS = {name: field for field, names in NEAR_NAMES.items() for name in (field, *names)}
_BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def field_of(name: str) -> str | None:
    """Return the field that a name means, None for any other."""
    return _FIELDS.get(_BETWEEN_WORDS.sub("_", name).strip("_").lower())
