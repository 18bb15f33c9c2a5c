"""Which telephone numbers have no subscriber? Those that regulators reserve for films, books and examples (555-01xx)."""

TOLL_FREE = frozenset({"800", "822", "833", "844", "855", "866", "877", "888"})
"""Area codes of toll-free numbers, which Somos gives out: 555-01xx is not reserved there (of 800 only 555-0199)."""

_REGULATED: dict[str, tuple[tuple[str, str], ...]] = {
    # Ofcom, "Telephone numbers for use in TV and radio drama programmes".
    "GB": (
        ("+441134960000", "+441134960999"),  # Leeds
        ("+441144960000", "+441144960999"),  # Sheffield
        ("+441154960000", "+441154960999"),  # Nottingham
        ("+441164960000", "+441164960999"),  # Leicester
        ("+441174960000", "+441174960999"),  # Bristol
        ("+441184960000", "+441184960999"),  # Reading
        ("+441214960000", "+441214960999"),  # Birmingham
        ("+441314960000", "+441314960999"),  # Edinburgh
        ("+441414960000", "+441414960999"),  # Glasgow
        ("+441514960000", "+441514960999"),  # Liverpool
        ("+441614960000", "+441614960999"),  # Manchester
        ("+441632960000", "+441632960999"),  # no area
        ("+441914980000", "+441914980999"),  # Tyneside, Durham, Sunderland
        ("+442079460000", "+442079460999"),  # London
        ("+442896496000", "+442896496999"),  # Northern Ireland
        ("+442920180000", "+442920180999"),  # Cardiff
        ("+443069990000", "+443069990999"),  # the whole country
        ("+447700900000", "+447700900999"),  # mobile
        ("+448081570000", "+448081570999"),  # freephone
        ("+449098790000", "+449098790999"),  # premium rate
    ),
    # ACMA, "Phone numbers for use in TV shows, films and creative works".
    "AU": (
        ("+61255500000", "+61255509999"),
        ("+61270100000", "+61270109999"),
        ("+61355500000", "+61355509999"),
        ("+61370100000", "+61370109999"),
        ("+61755500000", "+61755509999"),
        ("+61770100000", "+61770109999"),
        ("+61855500000", "+61855509999"),
        ("+61870100000", "+61870109999"),
        *(
            (f"+61491{rest}", f"+61491{rest}")  # mobile: 30 single numbers
            for rest in (
                "570006", "570110", "570156", "570157", "570158", "570159", "570313", "570737", "571266", "571491",
                "571804", "572549", "572665", "572983", "573087", "573770", "574118", "574632", "575254", "575789",
                "576398", "576801", "577426", "577644", "578148", "578888", "578957", "579212", "579455", "579760",
            )
        ),
    ),
    # ComReg, Numbering Conditions of Use: 020 91X XXXX, "drama use".
    "IE": (("+353209100000", "+353209199999"),),
    # Arcep, decision 2018-0881 (national numbering plan), 2.5.12: numbers for audiovisual works.
    "FR": (
        ("+33199000000", "+33199009999"),
        ("+33261910000", "+33261919999"),
        ("+33353010000", "+33353019999"),
        ("+33465710000", "+33465719999"),
        ("+33536490000", "+33536499999"),
        ("+33639980000", "+33639989999"),
    ),
    # Bundesnetzagentur, Mitteilung 148/2021 (Amtsblatt 07/2021): "Rufnummern für Medienproduktionen".
    "DE": (
        ("+493023125000", "+493023125999"),  # Berlin
        ("+494066969000", "+494066969999"),  # Hamburg
        ("+496990009000", "+496990009999"),  # Frankfurt
        ("+498999998000", "+498999998999"),  # Munich
        ("+492214710000", "+492214710999"),  # Cologne
        ("+491713920000", "+491713920099"),
        ("+4917604069000", "+4917604069099"),
        *(
            (number, number)
            for number in (
                "+4915228817386", "+4915228895456", "+4915254599371", "+491729925904", "+491729968532", "+491729973185",
                "+491729973186", "+491729980752", "+491749091317", "+491749464308",
            )
        ),
    ),
    # PTS, numbers for use in books, films and the like.
    "SE": (
        ("+46313900600", "+46313900699"),  # Gothenburg
        ("+46406280400", "+46406280499"),  # Malmö
        ("+46846500400", "+46846500499"),  # Stockholm
        ("+46980319200", "+46980319299"),  # Kiruna
        ("+46701740605", "+46701740699"),  # mobile
    ),
}  # fmt: skip
"""Country -> first and last number of each range, in E.164. Other countries reserve none that their regulator publishes as
such, or we could not confirm it: their numbers count as real."""

_RANGES = tuple(row for rows in _REGULATED.values() for row in rows)
_NANP_LENGTH = len("+12125550100")


def is_fictional(number: str) -> bool:
    """Return whether a number (E.164) is reserved for fiction, so that no person has it.

    In North America: 555-0100 to 555-0199 of every area code (NANPA, 555 line numbers), but for toll-free ones.
    """
    if number.startswith("+1") and len(number) == _NANP_LENGTH:
        return number[5:10] == "55501" and number[2:5] not in TOLL_FREE
    return any(len(first) == len(number) and first <= number <= last for first, last in _RANGES)
