"""Do we check Twilio's signatures as its own package does?"""

from hypothesis import given
from hypothesis import strategies as st
from twilio.request_validator import RequestValidator

from adapters.providers.twilio.signature import compute_signature, is_signed

NAMES = st.text("ABCabc123_", min_size=1, max_size=12)
FORMS = st.dictionaries(NAMES, st.text(max_size=30), max_size=8)
URLS = st.sampled_from(
    [
        "https://leads.example.com/providers/twilio/callback/7-ab?command_id=c&event=status",
        "https://leads.example.com:8443/providers/twilio/callback/7-ab",
        "http://leads.example.com/x?y=z%20a",
    ]
)


@given(URLS, FORMS, st.text("abcdef0123456789", min_size=8, max_size=32))
def test_the_vendors_own_package_computes_the_same_signature(url: str, form: dict[str, str], token: str) -> None:
    theirs = RequestValidator(token)

    assert compute_signature(token, url, form) == theirs.compute_signature(url, form)
    assert is_signed(token, url, form, theirs.compute_signature(url, form))
    assert theirs.validate(url, form, compute_signature(token, url, form))


@given(URLS, FORMS, NAMES, st.text(min_size=1, max_size=9))
def test_another_field_url_or_token_has_another_signature(url: str, form: dict[str, str], name: str, value: str) -> None:
    signature = compute_signature("token", url, form)

    assert not is_signed("other", url, form, signature)
    assert not is_signed("token", f"{url}x", form, signature)
    changed = {**form, name: f"{form.get(name, '')}{value}"}
    assert not is_signed("token", url, changed, signature)
    assert not is_signed("token", url, form, "")


def test_a_signature_with_or_without_the_default_port_is_taken() -> None:
    bare, spelled = "https://leads.example.com/cb", "https://leads.example.com:443/cb"

    assert is_signed("token", bare, {}, compute_signature("token", spelled, {}))
    assert is_signed("token", spelled, {}, compute_signature("token", bare, {}))
