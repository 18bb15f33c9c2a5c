"""In which country is a number? By its calling code, and in North America by its area code.

The main country of each code, as in the metadata of phonenumbers 9.0 (a test compares them): what law holds for a number is
asked at every plan, and needs no more than this. North American numbers outside Canada count as those of the United States,
whose hours are the stricter reading.
"""

from engine.submission.area_codes import AREA_CODE_STATES
from engine.submission.states import PROVINCES

_CODES = """
AC:247 AD:376 AE:971 AF:93 AL:355 AM:374 AO:244 AR:54 AT:43 AU:61 AW:297 AZ:994 BA:387 BD:880 BE:32 BF:226 BG:359
BH:973 BI:257 BJ:229 BN:673 BO:591 BR:55 BT:975 BW:267 BY:375 BZ:501 CD:243 CF:236 CG:242 CH:41 CI:225 CK:682 CL:56
CM:237 CN:86 CO:57 CR:506 CU:53 CV:238 CW:599 CY:357 CZ:420 DE:49 DJ:253 DK:45 DZ:213 EC:593 EE:372 EG:20 ER:291 ES:34
ET:251 FI:358 FJ:679 FK:500 FM:691 FO:298 FR:33 GA:241 GB:44 GE:995 GF:594 GH:233 GI:350 GL:299 GM:220 GN:224 GP:590
GQ:240 GR:30 GT:502 GW:245 GY:592 HK:852 HN:504 HR:385 HT:509 HU:36 ID:62 IE:353 IL:972 IN:91 IO:246 IQ:964 IR:98
IS:354 IT:39 JO:962 JP:81 KE:254 KG:996 KH:855 KI:686 KM:269 KP:850 KR:82 KW:965 KZ:76,77 LA:856 LB:961 LI:423 LK:94
LR:231 LS:266 LT:370 LU:352 LV:371 LY:218 MA:212 MC:377 MD:373 ME:382 MG:261 MH:692 MK:389 ML:223 MM:95 MN:976 MO:853
MQ:596 MR:222 MT:356 MU:230 MV:960 MW:265 MX:52 MY:60 MZ:258 NA:264 NC:687 NE:227 NF:672 NG:234 NI:505 NL:31 NO:47
NP:977 NR:674 NU:683 NZ:64 OM:968 PA:507 PE:51 PF:689 PG:675 PH:63 PK:92 PL:48 PM:508 PS:970 PT:351 PW:680 PY:595
QA:974 RE:262 RO:40 RS:381 RU:7 RW:250 SA:966 SB:677 SC:248 SD:249 SE:46 SG:65 SH:290 SI:386 SK:421 SL:232 SM:378
SN:221 SO:252 SR:597 SS:211 ST:239 SV:503 SY:963 SZ:268 TD:235 TG:228 TH:66 TJ:992 TK:690 TL:670 TM:993 TN:216 TO:676
TR:90 TV:688 TW:886 TZ:255 UA:380 UG:256 UY:598 UZ:998 VE:58 VN:84 VU:678 WF:681 WS:685 XK:383 YE:967 ZA:27 ZM:260
ZW:263
"""

_CANADIAN = frozenset(code for code, states in AREA_CODE_STATES.items() if PROVINCES.intersection(states))
_UNITED_STATES, _CANADA = ("US",), ("CA",)
_NOWHERE: tuple[str, ...] = ()

_ABROAD: dict[str, tuple[str, ...]] = {
    code: (country,) for country, _, codes in (row.partition(":") for row in _CODES.split()) for code in codes.split(",")
}
_DIGITS = (2, 1, 3)
"""Of a calling code; the second one distinguishes Kazakhstan from Russia."""


def countries_of_number(e164: str) -> tuple[str, ...]:
    """Return the country of a number as a tuple; empty where its code is of none (satellites, services)."""
    if e164.startswith("+1"):
        return _CANADA if e164[2:5] in _CANADIAN else _UNITED_STATES
    return next((found for digits in _DIGITS if (found := _ABROAD.get(e164[1 : 1 + digits]))), _NOWHERE)
