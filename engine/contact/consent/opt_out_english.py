"""Which English words end consent, which limit or deny that, and which only look like it?

Patterns are matched against clauses of `text_normalisation`: lower-case words, apostrophes dropped, one space between words.
"""

import re

# What the sender is asked to stop doing.
_CONTACT = (
    r"(?:t(?:e?xt|ex)\w*|m(?:es)?sa?g\w*|messag\w*|call(?:s|in|ing)?|contact\w*|sms|e ?mail\w*|communicat\w*|bother\w*"
    r"|harass\w*"
    r"|spam\w*|bug(?:g\w+)?|blow\w* up|reach\w* out|pester\w*|annoy\w*|send\w*|hit\w* me up|notif\w*|alerts?"
    r"|reminders?|solicit\w*)"
)
_FILLER = (
    r"(?:all|the|these|those|this|any|your|ur|of|with|me|please|plz|pls|fucking|fuckin|damn|ever|further|future|more"
    r"|such|getting"
    r"|get|receiving|receive|constant\w*|always|marketing|on|my|and|from|it|just|immediately|now|fuck"
    r"|stupid|dumb|annoying|ridiculous|unwanted|automated|random|spam|goddamn|bullshit|bs|junk|crazy|endless|useless"
    r"|the hell)"
)
_VERB = (
    r"(?:call|t(?:e?xt)|msg|message|contact|e ?mail|bother|disturb|harass|reach out|write|phone|ring|ping|follow up"
    r"|solicit|spam|bug)"
)
_NO_SUBJECT = "".join(
    rf"(?<!\b{word} )" for word in ("i", "we", "you", "u", "they", "he", "she", "it", "why", "people", "nobody")
)
_AFTER_VERB = (
    r"(?= (?:to )?(?:me|us|my (?:number|phone|cell|line|house|home)|this (?:number|phone|cell|line)|here|again"
    r"|any ?more|ever|(?:or|and) (?:do not |dont )?(?:call|text|contact|message|email)"
    r"|further|please|pls|no more|at all)\b|$)"
)
_OURS = r"(?:my|this|our) (?:\w+ )?(?:number|name|info\w*|phone|contact\w*|cell|data|details|email|line|record\w*)"
_REACH = r"(?:call|text|txt|message|msg|e ?mail|contact|write|phone|ring|whatsapp)"
_LIST = r"(?:list\w*|system|data ?base|records?|files?|everything|distribution|contacts|roster|campaigns?|subscription)"
_MORE = (
    r"(?:any|more|your|ur|these|those|this|all|further|to|any ?more|the|receive|receiving|get|getting|have|be|of"
    r"|such|other|future)"
)
_GRAMMAR = (
    r"(?:to|be|you|u|want|wanna|need|like|wish|ever|even|please|allowed|supposed|again|keep|try|more|any|your|ur|these"
    r"|those|the|all|further|right|permission|authorized|interested|in|for|of|this|me|us|prefer|guys|people)"
)
_ASK = r"(?:want|wish|like|need|care|consent|agree|ask\w*)"

WORDS = frozenset(
    re.findall(
        r"\w+",
        "stop stopall quit end revoke optout cancel unsubscribe unsub remove dnc discontinue cease desist",
    )
)
"""Each is an opt-out by itself: the words of 47 CFR 64.1200(a)(10), those that carriers add, and similar ones."""

POLITE = frozenset(
    re.findall(
        r"\w+",
        "please pls plz now all this it thanks thank you thx ok okay hey hi hello me us your ur the these "
        "those any more immediately sir madam maam already just at once to reply and asap sorry fucking damn "
        "right away guys dude bro",
    )
)
"""Words around such a word that do not change its meaning."""

OBJECTS = frozenset(
    re.findall(
        r"\w+",
        "text texts texting txt txts message messages messaging msg msgs call calls calling contact sms email "
        "emails subscription list communication communications notifications alerts",
    )
)
"""What such a word may refer to: `stop texts`."""

ENDS = re.compile(
    r"\b(?:"
    # stop texting me, quit with all these messages, cancel all texts
    rf"(?:stop|quit|cease|discontinue|end|cancel)(?: {_FILLER}){{0,4}} (?:{_CONTACT}|subscription|asking$)"
    r"|(?:said|told you(?: guys)?|asked you|asking you|want (?:you|this|it|them|that)|make (?:it|this|these|those|them"
    r"|these \w+"
    r"|the \w+)|say|tell your \w+(?: \w+)?|(?:you|u|yall|this|it|they|guys|people|texts|calls"
    r"|messages) (?:really )?(?:need|needs|have|has|got|must|better)) (?:to )?stop$"
    r"|^stop (?:please |pls |plz )?(?=(?:i|im|ive|you|u|we|its|or|not|asap|ya)\b)"
    r"|^(?:can|could|will|would|wont) (?:you|u|ya|yall|someone) (?:please |pls |just )*stop$"
    r"|\b(?:but|so) (?:(?:please|pls|just) )*stop(?: it| now| please)?$|get off my (?:phone|line)"
    rf"|^remove from (?:your |ur |the |this )?{_LIST}|^i optout$|refrain from {_CONTACT}"
    r"|^(?:knock it off|cut it out|give it a rest)$"
    # I replied stop yesterday and you still text me
    r"|(?:^|\b(?:and|but|because|already|times?) )i(?:ve| have| already| just| did| literally)*"
    r" (?:repl\w+|respond\w*|said|say|told you|text\w*|txt\w*|typed|sent|wrote|answered|put)(?: you| u| back| in| with"
    r"| the word"
    r"| already| to)* stop\b(?! (?:by|in|at|over|there|here|on|for (?:a|the))\b)"
    r"|(?:(?:said|say|says|told me to|reply|text)\w* )?(?:reply|text|type|send) stop and i (?:did|have|already did)"
    rf"|why (?:am i|do i|are you|do you|im i|r u)(?: guys| all| people)? still (?:getting|get|receiving|receive|{_CONTACT})"
    # no need to contact us anymore; would you mind not texting me; do not start calling me again
    rf"|(?:no need|(?:do not|dont) (?:need|have)|no reason)(?: for (?:you|yall|anyone))? to (?:ever |keep |even )?{_CONTACT}"
    r"(?: (?:me|us|this number|here|back))* (?:again|any ?more|further|any longer|please|thanks|thank you)"
    rf"|(?:would|do|wld) (?:you|u|ya|yall) mind (?:not |stopping (?:the |these |all |your )*){_CONTACT}"
    rf"|(?:please|pls|kindly|could you|can you|would you|rather) not {_VERB}(?:ing)?(?: to)? (?:me|us|this number|here"
    rf"|again)"
    rf"|(?:do not|dont|dnt|never)(?: you)?(?: (?:even|ever|dare))*"
    rf" (?:start|begin|keep|continue|go|bother|try|think about)(?: to)? {_CONTACT}(?= (?:me|us|this|here|again|any ?more"
    rf"|my)\b|$)"
    r"|^how (?:do|can|could|would) (?:i|we|you|one) (?:\w+ )?(?:stop|end|cancel|turn off|get rid of)"
    rf" (?:(?:these|those|them|getting|receiving|your)(?: \w+)?(?: {_CONTACT})|these$|those$|getting (?:these|this|those))"
    # do not call me again
    r"|(?<!\b(?:and|but|who) )(?:^|(?<=please )|(?<=just )|(?<=so )|(?<=to )|(?<=interested )|(?<=you )"
    r"|(?<=pls ))(?:do not|dont|dnt|never)(?: (?:you|ever|please|pls|u|need to|dare|try to"
    rf"|want you to))? {_VERB}{_AFTER_VERB}"
    rf"|{_NO_SUBJECT}(?:do not|dont|dnt|never) (?:ever )?{_VERB} (?:me|us|this number|my (?:phone|number|cell))\b"
    rf"|(?:didnt|wouldnt|did not|not|you dare) {_VERB} (?:me|us|this number) (?:again|any ?more)"
    r"|(?:rather|prefer|appreciate|wish|better)(?: \w+){0,3} (?:didnt|did not|dont|do not|not|stop\w*"
    rf"|wouldnt) {_VERB}(?:ing)?(?: me| us| this number| again)"
    rf"|(?:not allowed|no right|not authorized|no permission|forbid\w*|prohibited)(?: you)? (?:to|from) {_CONTACT}"
    rf"|(?:prefer|rather|like|want|ask\w*) (?:to )?not (?:to )?(?:be|get|receive) (?:any )?{_CONTACT}"
    rf"|(?:im |i am )?(?:done|finished|over) with (?:these|the|your|all) (?:\w+ )?{_CONTACT}"
    r"|(?:do not|dont|dnt) (?:ever )?send (?:me |us |this number )?(?:any|no|nothing|more|anything|stuff|crap"
    rf"|shit|these|those|{_CONTACT}|$)|no (?:more|further|additional) (?:of )?(?:\w+ )?{_CONTACT}"
    rf"|(?:^|stop )no more$|(?:enough (?:with|of|already with) (?:\w+ ){{0,2}}|(?<!not )enough ){_CONTACT}"
    r"|^thats enough$|^(?:ok |please )*enough(?: already| please)*$"
    # take me off your list
    r"|(?:be|get|got|been|am|want) (?:removed|taken|deleted|erased|unsubscribed|off|out)(?: off| out)?(?: (?:from"
    rf"|of))?(?: (?:your|ur|this|the|that|any|all)){{1,2}}(?: \w+){{0,2}} {_LIST}"
    r"|(?:remove|take|get|delete|drop|erase|scratch|scrub|purge|wipe|clear|pull|unlist)(?<!did you get) (?:me|us"
    rf"|{_OURS})(?:(?: and \w+)? (?:off|from|out)(?: of)?(?: (?:your|ur|this|the|that|any|all|of|it|here|these"
    rf"|their)){{0,3}}(?: \w+){{0,2}} {_LIST}|(?: (?:off|from|out|please|asap|now|immediately|already|and name"
    rf"|and number|thanks|thank you|ok|permanently)){{0,3}}$)|(?:forget|lose|trash) {_OURS}"
    r"|^(?:please )?block my number"
    # opt out, unsubscribe, consent
    r"|unsubscrib\w*|unsuscrib\w*|unsub|desubscribe|opt(?:ing)? (?:me|us) out|opt (?:me|us) optout"
    rf"|optout (?:of|from) (?:\w+ ){{0,2}}(?:{_CONTACT}|{_LIST}|this|it|here|all)"
    r"|(?:want|like|wish|choose|going|have|need) to optout$|^(?:\w+ )?optingout\b|am optingout"
    r"|^optout(?: please| now| me)?$|please optout"
    r"|(?:consent|permission) (?:is |has been |hereby )*(?:revoked|withdrawn|removed)"
    r"|(?:revok\w*|take back|withdraw\w*|rescind\w*|retract\w*) (?:my |any |all |the |prior "
    r"|this ){0,2}(?:consent|permission|authorization)"
    r"|(?:do not|dont|did not|didnt|never) (?:give |gave )?(?:you )?(?:my )?(?:consent|permission) to\b"
    # i do not want to hear from you
    rf"|(?:do not|dont|no longer|never) (?:ever |even |really )?{_ASK} (?:(?:you |them "
    rf"|people )?(?:to )?(?:{_MORE} ){{0,4}}{_CONTACT}|to be (?:contact|call|text|messag|bother|solicit|harass"
    r"|disturb|on (?:your|this|the|any))\w*|to (?:ever )?hear (?:anything |any ?more )?from|to (?:talk"
    rf"|speak) (?:to|with) (?:you|any)|to (?:receive|get) (?:{_MORE}|anything|this)$)"
    rf"|want (?:no|zero) (?:more )?{_CONTACT}"
    r"|leave (?:me|us|this (?:number|phone)|my (?:number|phone))(?: the \w+)?(?: \w+)? alone"
    r"|(?:lose|forget) (?:my|this) number|^(?:just )?(?:please )?go away|^(?:just )?get lost"
    r"|fuck (?:off|outta here)|^f off|\bstfu\b|(?:piss|bugger|buzz|sod) off|^back off|kick rocks"
    r"|(?:put|add|place|mark|get|list) (?:me|us|my \w+|this number"
    r"|my phone number)(?: down)? (?:\w+ ){0,4}(?:do not call|dnc|do not contact|dont call)"
    r"|(?:im|i am|is|are|am|number is|my number) (?:\w+ )?on (?:the |a |your )?(?:national |federal "
    r"|state )*(?:do not call|dnc)|^do not (?:call|contact|disturb|text)(?: list| registry| please)?$"
    r"|do not disturb(?: me)?$|^dnc\b"
    # wrong number
    r"|(?:^|have |got |youve got |sorry |reached |is |its |texting |calling |called |dialed |u |wtf )(?:a "
    r"|the )?wrong (?:number|person|guy|lady)(?! (?:of|on|for|but)\b)"
    r"|(?:not|no longer|isnt) (?:\w+ ){0,2}number any ?more|number (?:no longer|doesnt|does not) belongs? to"
    r"|no longer (?:\w+ )?(?:number|phone)$"
    # the next one is reported
    rf"|next time (?:you|u)(?: guys| people)? {_CONTACT}.* (?:report|sue|suing|lawyer|attorney|fcc|ftc|police"
    r"|court|legal|complaint)\w*"
    rf"|if (?:you|u|i)(?: guys| people)? (?:\w+ )?(?:{_CONTACT}|get)\b.* (?:report|sue|suing|lawyer|attorney|fcc"
    r"|ftc|police|court|legal|complaint|harass\w*)"
    rf"|{_VERB} (?:me|this number) (?:again|one more time|any ?more) (?:and|or)\b.* (?:report|sue|suing|lawyer"
    r"|attorney|fcc|block|legal|police)\w*"
    rf"|(?:report|sue|block|complaint|lawyer|attorney)\b.* if (?:you|u|i) .*{_CONTACT} (?:me|this number) (?:again"
    r"|any ?more)|cease and desist)\b"
)
"""Ends contact, unless the clause limits or denies it, or is a question."""

LIMITS = re.compile(
    r"\b(?:before|after|until|till|til|today|tonight|tomorrows?|unless|while|during|right now|rn|at the moment"
    r"|for now|at this time|at (?:my |this )?(?:work|job|office|home|night|lunch|school|church)|(?:to"
    r"|on) my (?:work|job|office|landline|old)|so (?:much|early|late|often)|(?:this|that|too) (?:early|late|often"
    r"|week|month)|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weekdays?|mornings?|evenings?|if (?!you"
    r"|u\b|i\b)|if (?:you|i) (?:dont|do not|cant|have no)|when|except|only|so many|instead|every day|everyday|lol"
    r"|haha\w*|lmao)\b|\b(?<!thanks )(?<!thank you )(?<!sorry )for (?:a|an|the|\d+)\b"
    r"|\bin (?:a|an|the|\d+) (?:few |couple )?(?:min|hour|day|week|month|year|while|bit|moment|morning|evening"
    r"|afternoon|night)\w*|\b(?:call|text|message|email)\w* from (?!you|u\b|ya|this|these|any|your|him|them)"
    rf"|\b\d{{1,4}}\b|\b(?:just|only|rather|but|better|prefer\w*) (?:to )?{_REACH}\b"
    r"|\bi(?:ll| will) (?:call|text|reach|contact|get back|let you)"
    r"|\b(?:call|text|contact|bother|messag|harass)\w* (?:my|our|his|her) (?!phone|number|cell|house|line|mobile"
    r"|home|lawyer|attorney)\w+"
    r"|\b(?:call|text|contact|bother|messag)\w* (?:every(?:one|body)|him|her|them|people)\b"
    rf"|\band (?:just |please )?{_REACH} me\b(?! again)"
)
"""Limits to a time, place or way: `not now` is not `never`."""

IMMEDIATELY = re.compile(r"\bright (?:now|away)\b|\b24 7\b")
"""Says how soon, and limits nothing unless the clause is a ban: `stop right now`, not `do not call right now`."""

DENIES = re.compile(
    r"\b(?:do not|dont|never|didnt|did not|not|wont|cant) (?:please |ever |really |want to |want you to |you "
    r"|to )?(?:stop|quit|remove|optout|unsubscribe|cancel|delete|mean|say|take me|drop|opt|unsub)\b"
    r"|\b(?:by mistake|by accident|accident\w*|ignore|didnt mean|meant to)\b"
)
"""Says the opposite, or takes the opt-out back."""

ASKS_FOR_IT = re.compile(
    r"\b(?:can|could|will|would|wont|cant) (?:you|u|ya|someone|yall|i)\b.*\b(?:stop|quit|remove|take (?:me|my)"
    r"|delete|unsubscribe|leave|optout)"
    r"|^how (?:do|can|to)\b.*\b(?:unsubscribe|unsub|optout$|stop (?:\w+ ){0,2}(?:text|call|messag)|get off"
    r"|remove|make (?:\w+ ){1,2}stop|(?:stop|end|cancel|turn off|get rid of) (?:these|those|getting|receiving|them|your)\b)"
    r"|^(?:would|do|wld) (?:you|u|ya|yall) mind\b|^why .*\bstill\b|how many times|when will you stop|why wont you stop"
    r"|^(?:please|pls) "
)
"""A question that is a request all the same: `can you please stop texting me?`."""

INVITES = re.compile(
    rf"^(?:just |please |pls |only |instead |rather |but |and |so ){{0,2}}{_REACH}\b(?! (?:me |us )?(?:again|list|stop\b"
    rf"|end\b|quit|unsub\w*|cancel))"
    rf"|\b(?:just|only|rather|instead|but|better|prefer\w*) (?:to )?{_REACH}\b|\b{_REACH} (?:me )?instead\b"
    r"|\bi(?:ll| will) (?:call|text|reach|contact|get back|let you)"
    r"|^(?:i have|i got|got|have) (?:\w+ ){0,2}questions?\b|^(?:wait|hold on|let me)\b"
)
"""Asks for contact in another way or from somebody else, so not all contact is ended."""

HARMLESS = re.compile(
    r"\b(?:(?:can|could|may|will|ill|well|would|should|might|gonna|going to|want to|have to|had to|need to|let me"
    r"|id|they|he|she|we|i|you|just) (?:(?!repl|said|say|text|type|wrote"
    r"|sen[dt])\w+ ){0,2}stop (?:by(?! accident| mistake)|in|at|over|there|here|for|and|on)"
    r"|(?:cant|cannot|wont|couldnt|didnt|doesnt|havent|isnt|hasnt|does not|will not|can not|could not|would not"
    r"|wouldnt) (?:(?!say|mean|want|text|ask)\w+ )?(?:stop|quit)(?! (?:call|text|messag|contact))"
    r"|(?:bus|full|one|truck|rest|pit|first|next|last|red|train|tab|short|non|a|every|quick|long|any|two|1|door"
    r"|the) stops?(?! (?:\w+ ){0,2}(?:call|text|messag|contact|send|bother))(?= \w|$)(?<!the stop)"
    r"|(?:at|near|off|from|the) the stop(?: on| at| near)?|stop payments?"
    r"|stop (?:sign|light|loss|watch|gap|street|motion|and go|lights|\d+ (?:rd|road|st|street|ave))"
    r"|(?:how|where|when|does|did|do|if) (?:(?!you\b|u\b)\w+ ){1,3}stop(?= \w)"
    r"(?! (?:\w+ ){0,2}(?:call|text|messag|contact|send)|(?: these| those)$| getting (?:these|this|those))"
    r"|(?:to|gotta|must|trying to|could|never|i|we|it|they) stop (?:the|my|paying|our|a|an|for|taking|using|doing"
    r"|his|her|smoking|working|thinking)"
    r"|(?:to|can|could|will|would|help|you|we|they) (?:please )?stop (?:(?:my|the|a|an|our|his|her|this|any) )?(?:\w+ )?"
    r"(?:foreclosure|garnish\w*|eviction|repo\w*|leak\w*|collect\w*|lawsuit|lev(?:y|ies)|bank\w*|drip\w*|flood\w*"
    r"|smoking|drinking|hair loss|interest|late fees|snoring|barking|believing|worrying)"
    r"|stop (?:believing|worrying|the press(?:es)?|teasing)"
    r"|(?:i|we|ive|weve|just|already|have) (?:unsubscribed|optedout|cancelled|canceled|quit|removed myself)"
    r"(?: (?:from|of|with|on|using))?(?: (?:the|my|our|all|those|these|a))* (?:other|others|old|previous|last|existing"
    r"|competitor\w*|competition|prior|former)"
    r"|(?:does|did|when|where) (?:(?!you\b|u\b|this\b|it\b|these\b)\w+ ){1,3}stop$"
    r"|(?:just|just like|finally|i|he|she|it|they|we|had|ac|heater|car|has|have) quit\b(?=.* (?:my|smoking|work"
    r"|job|on|drinking|last|\w+ing|the|a))"
    r"|(?:gave|sent|give|send|put|called|dialed|entered|typed|wrote|had|texted) (?:you |u |him |them |in )?(?:a "
    r"|the |my )?wrong (?:number|phone)|wrong number of \w+"
    r"|(?:do|does|did|can|could|would|should|if) i (?:\w+ ){0,3}cancel"
    r"|(?:do not|dont|did not|didnt|never|wont|cost to|fee to|free to|easy to|charge to|they|he|she"
    r"|it) cancel\b(?! (?:all|these|my sub|text|messag))"
    r"|(?:can|could|may|do) i optout of (?!this|these|text|messag|call|all|your|the list|it\b))\b"
)
"""Words of an opt-out in another sense; they are removed before anything else is matched."""

OFTEN_MISTYPED: frozenset[str] = frozenset()
"""The typos of English and Spanish words are read by `text_normalisation`."""

SPELLINGS = ()
"""This language has no spellings of its own to replace."""

SUSPECT = re.compile(
    r"\b(?:stop|optout|stopall|unsub\w*|revoke\w*|remove (?:me|us|my (?:number|name|info|phone)\w*)|(?:delete"
    r"|erase) (?:me|my|this)|take (?:me|my number|us) off|not (?:\w+ )?interested|no longer interested"
    r"|no (?:\w+ )?interest|uninterested|(?:dont|do not|never) (?:call|text|contact|message|e ?mail"
    r"|bother)(?! (?:it|that|him|her|them))|harass\w*|leave (?:me|us) alone|wrong (?:number|person)|fuck (?:you"
    r"|u)|shut up|go to hell|screw (?:you|u)|eat shit|no entry|no more (?:calls?|texts?|messages?)|(?:too many"
    r"|so many) (?:text|call|messag|email)\w*|(?:text|call|message) (?:\w+ )?too (?:much|often)"
    r"|(?<!u )(?<!you )(?<!he )(?<!she )(?<!they )(?:never|didnt|did not) (?:sign\w* up|request\w*|ask\w*"
    r"|subscrib\w*|consent\w*|opt)|(?:reporting|report) (?:this|you|your|u)|reported (?:you|this|as|to)"
    r"|going to block|(?:blocking|blocked|block) (?:you|u|this)|(?:ill|will|gonna|going to|to) sue|sue you|suing"
    r"|(?:my|call\w*) (?:my )?(?:lawyer|attorney) (?:will|is|would)|(?:calling|contact) my (?:lawyer|attorney)"
    r"|fcc|ftc|do not call|dnc|cease|desist|discontinue|hold off(?! on)|this (?:is not|isnt) (?!good|it|right"
    r"|what|the|my|true|correct|cool|fair|urgent|working|enough|for|a)\w+$|not the person|(?:dont"
    r"|do not) know (?:any|who you are|you$)|passed away|deceased|(?:he|she|husband|wife|mother|father|mom"
    r"|dad) (?:\w+ )?died|why (?:(?:do|are|r|did) )?(?:you|u|yall)(?: guys| people)? (?:\w+ )?(?:text|call|messag"
    r"|contact)\w*|how do i get (?:this|these|it|off) (?:off|to (?:end|stop)))\b"
    rf"|\b(?:sick|tired|fed up|annoyed|done|over) (?:of|with|by) (?:\w+ ){{0,3}}{_CONTACT}"
    r"|\binstead of (?:text|call)\w*|\b(?:youre|you are|ur|you) (?:just |a )?(?:spam|scam)\w*|^scammers?$"
    r"|\bno (?:calls?|texts?|messages?) (?!yet|received|from|so far|needed)|\bcancel$|\bdoes stop\b"
    r"|(?:text|type|say|reply|press|send)\w* stop\b"
    rf"|\b(?:dont|do not|not|never|cant|shouldnt|wont|without|no)(?: {_GRAMMAR}){{0,4}} (?:be (?:call|contact|text"
    r"|messag)ed|contact(?:ing)?|call(?:ing)?|text(?:ing)?|messag(?:e|es|ing)|bother\w*|email(?:s"
    r"|ing)?)\b(?! (?:it|that|him|her|them|a)\b)"
    rf"|\b(?:not|dont|off|leave|remov\w*|delet\w*|scrub\w*|eras\w*|purg\w*)(?: {_GRAMMAR}| \w+){{0,4}} (?:list"
    r"|lists|database|records|system)\b"
    r"|^(?:please |pls |can you |could you |i (?:need|want|would like|have) to |yes )?cancel\b|^quit\b|^i quit$"
    r"|^end (?:it|this|these|my)\b|^(?:(?:this|it|its) (?:is )?(?:a )?)?(?:spam|scam)$|^pause\b|^blocked$"
    r"|^reported$|^no (?:calls?|texts?|texting|calling|messages|contact|solicit\w*)(?: please| thanks)*$"
    r"|^(?:no|nope|nah)(?: (?:no|nope|nah))+$|^cancell?ed$|^not any ?more(?: thx| thanks| thank you)?$|^when will this end"
    r"|\bfuck off\b|^(?:get lost|go away)|^remove$|^enough$"
)
"""What a person has to review."""
