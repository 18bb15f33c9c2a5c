"""Which states and provinces are there, and which time zones are in use in each?

Of a province every zone of the database that lies in it is named, and those of neighbours that its border towns keep. Of a
state one zone for every way in which clocks run there. A test holds both, for each week of the next two years, against the
zones of the places themselves: a change of the database that this table lacks fails it.
"""

_STATE_NAMES = """
AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware|DC District of Columbia
FL Florida|GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa|KS Kansas|KY Kentucky|LA Louisiana|ME Maine
MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota|MS Mississippi|MO Missouri|MT Montana|NE Nebraska|NV Nevada
NH New Hampshire|NJ New Jersey|NM New Mexico|NY New York|NC North Carolina|ND North Dakota|OH Ohio|OK Oklahoma|OR Oregon
PA Pennsylvania|RI Rhode Island|SC South Carolina|SD South Dakota|TN Tennessee|TX Texas|UT Utah|VT Vermont|VA Virginia
WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming
AS American Samoa|GU Guam|MP Northern Mariana Islands|PR Puerto Rico|VI Virgin Islands
AB Alberta|BC British Columbia|MB Manitoba|NB New Brunswick|NL Newfoundland and Labrador|NS Nova Scotia
NT Northwest Territories|NU Nunavut|ON Ontario|PE Prince Edward Island|QC Quebec|SK Saskatchewan|YT Yukon
"""

# Sources: zone.tab of the IANA database, and what names a neighbour's zone.
# BC: Edmonton in the south-east (tzdata, northamerica: East Kootenay). SK: Edmonton in Lloydminster (its charter), Winnipeg
# in Creighton and Denare Beach, which keep the time of Flin Flon. QC: Halifax on the Magdalen Islands, Moncton in Listuguj
# (Legal Time Act). ON: Winnipeg west of 90 degrees, Rainy River among it; Atikokan and Pickle Lake eastern standard time all
# year (Time Act). NU: Atikokan for Coral Harbour.
_STATE_ZONES = """
America/New_York: CT DC DE FL GA IN KY MA MD ME MI NC NH NJ NY OH PA RI SC TN VA VT WV
America/Chicago: AL AR FL IA IL IN KS KY LA MI MN MO MS ND NE OK SD TN TX WI
America/Denver: AZ CO ID KS MT ND NE NM OR SD TX UT WY
America/Phoenix: AZ
America/Los_Angeles: CA ID NV OR WA
America/Anchorage: AK
America/Adak: AK
Pacific/Honolulu: HI
America/Puerto_Rico: PR VI
Pacific/Guam: GU MP
Pacific/Pago_Pago: AS
America/Vancouver: BC
America/Creston: BC
America/Dawson_Creek: BC
America/Fort_Nelson: BC
America/Edmonton: AB BC NT SK
America/Inuvik: NT
America/Whitehorse: YT
America/Dawson: YT
America/Regina: SK
America/Swift_Current: SK
America/Winnipeg: MB ON SK
America/Rainy_River: ON
America/Atikokan: ON NU
America/Thunder_Bay: ON
America/Toronto: ON QC
America/Cambridge_Bay: NU
America/Rankin_Inlet: NU
America/Resolute: NU
America/Iqaluit: NU
America/Blanc-Sablon: QC
America/Halifax: NS PE QC
America/Glace_Bay: NS
America/Moncton: NB QC
America/Goose_Bay: NL
America/St_Johns: NL
"""

STATES: dict[str, str] = {row[:2]: row[3:] for line in _STATE_NAMES.strip().splitlines() for row in line.split("|")}
"""Code -> name, of the United States with their territories, and of Canada."""

STATE_ZONES: dict[str, tuple[str, ...]] = {
    state: tuple(
        zone for zone, states in (line.split(":") for line in _STATE_ZONES.strip().splitlines()) if state in states.split()
    )
    for state in STATES
}
"""Code -> every zone that is in use there."""

PROVINCES = frozenset({"AB", "BC", "MB", "NB", "NL", "NS", "NT", "NU", "ON", "PE", "QC", "SK", "YT"})
"""The provinces and territories of Canada."""

TERRITORIES = frozenset({"AS", "GU", "MP", "PR", "VI"})
"""Territories of the United States that have a region of their own in the number plan."""

ANY_STATE: tuple[str, ...] = tuple(sorted(STATES.keys() - PROVINCES - TERRITORIES))
"""The fifty states and the District of Columbia."""

_CODES_BY_NAME = {name.casefold(): code for code, name in STATES.items()}


def state_code(text: str) -> str | None:
    """Return the code of a state or province given as code or name in any case, or None where it is not known."""
    code = text.strip().upper()
    return code if code in STATES else _CODES_BY_NAME.get(text.strip().casefold())


def country_of_state(state: str) -> str:
    """Return the country of a state or province; territories of the United States count to it, as its law does."""
    return "CA" if state in PROVINCES else "US"


_LAW_OF = {
    **dict.fromkeys((*TERRITORIES, "UM"), "US"),
    **dict.fromkeys(("BL", "GF", "GP", "MF", "MQ", "PM", "RE", "YT"), "FR"),
    **dict.fromkeys(("GG", "IM", "JE"), "GB"),
    **dict.fromkeys(("CC", "CX"), "AU"),
}
"""Country code of ISO 3166 -> the country whose law of consumers holds there: the Code de la consommation holds overseas
(Constitution, 73), that of Australia in its external territories. The islands of the British crown have laws of their own on
data and none on hours: those of their numbers' country are kept."""


def country_of_law(country: str) -> str:
    """Return the country whose law holds in one that has a code of its own: Puerto Rico and Réunion have others' laws."""
    return _LAW_OF.get(country, country)


def zones_of_states(states: tuple[str, ...]) -> tuple[str, ...]:
    """Return every zone in use in any of the states."""
    return tuple(dict.fromkeys(zone for state in states for zone in STATE_ZONES.get(state, ())))
