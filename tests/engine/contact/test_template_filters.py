"""What does a filter of a template make of a value, as people and forms write it?"""

from typing import Any

import pytest

from engine.contact.schedule.template_filters import read_filters
from engine.contact.schedule.templates import literal_text, render, template_faults, withheld_from

VALUES: dict[str, Any] = {
    "name": "ada",
    "shouted": "ADA LOVELACE",
    "mixed": "Sean McDonald o\u2019brien",
    "blank": "  ",
    "born": "1986-05-01",
    "at": "2026-03-07T21:30:00-05:00",
    "loan": 250_000,
    "rate": "12.5",
    "debt": "$1,250.00",
    "loss": -3,
    "text": "roof",
    "url": "https://a.example",
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hi {{nobody|default:'there'}}", "Hi there"),
        ("Hi {{blank|default:'there'}}", "Hi there"),
        ("Hi {{name|default:'there'}}", "Hi ada"),
        ("Hi {{ name | default:'there' | capitalize }}", "Hi Ada"),
        ("Hi {{nobody|default:'there'|capitalize}}", "Hi There"),
        ("{{nobody|default:''}}.", "."),
        ("{{shouted|capitalize}}", "Ada Lovelace"),
        ("{{mixed|capitalize}}", "Sean McDonald O\u2019brien"),
        ("{{name|upper}} {{shouted|lower}}", "ADA ada lovelace"),
        ("{{born|date}}, {{at|date}}", "May 1, 1986, March 7, 2026"),
        ("{{text|date}} {{loan|date}}", "roof 250000"),
        ("{{loan|money}} {{rate|money}} {{debt|money}} {{loss|money}}", "$250,000 $12.50 $1,250 -$3"),
        ("{{loan|money:'\u20ac'}}", "\u20ac250,000"),
        ("{{text|money}}", "roof"),
        ("{{name}}{{name|link}}", "adaada"),
        ("{{name|shout}}", "{{name|shout}}"),
    ],
)
def test_a_filter_makes_of_a_value_what_its_word_says(template: str, text: str) -> None:
    assert render(template, VALUES.get, length_max=200)[0] == text


def test_a_token_with_a_default_is_never_missing() -> None:
    assert render("{{a|default:'x'}} {{b}} {{c|upper}}", VALUES.get, length_max=200) == ("x  ", ("b", "c"))


def test_what_is_withheld_takes_the_default_and_the_link_where_it_is_asked_for() -> None:
    found = render("{{url|default:'x'}} {{url|link}} {{url|upper|link}}", VALUES.get, length_max=200, withheld={"url"})
    assert found == ("x https://a.example HTTPS://A.EXAMPLE", ())
    assert withheld_from("{{url|upper}} {{name}}", {"url"}) == ("url",)
    assert withheld_from("{{url|link}}", {"url"}) == ()


@pytest.mark.parametrize("template", ["{{a|b}}", "{{a|default}}", "{{a|lower:'x'}}", "{{a|link|b}}"])
def test_a_filter_that_is_none_is_named(template: str) -> None:
    assert len(template_faults(template)) == 1
    assert literal_text(template) == template


def test_what_stands_in_quotes_may_hold_any_character_but_quotes_and_braces() -> None:
    assert read_filters("|default:'a|b: c, d'")[0].argument == "a|b: c, d"
