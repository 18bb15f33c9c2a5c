"""Which Portuguese words end consent, which limit or deny that, and which only look like it?

Patterns are matched against clauses of `text_normalisation`: lower-case words without accents, one space between words.
"""

import re

_CONTACT = (
    r"(?:(?:me |nos )?(?:lig\w*|telefon\w*|escrev\w*|mand\w*|envi\w*|contat\w*|contact\w*|incomod\w*|perturb\w*"
    r"|importun\w*|cham\w*)"
    r"|(?:as |os |essas |esses |suas |seus |de )*(?:mensage(?:m|ns)|sms|ligac(?:ao|oes)|e ?mails?|propagandas?|spam"
    r"|notificac(?:ao|oes)))"
)
_BAN = (
    r"(?:lig(?:ue|uem|a|ar)|telefon(?:e|em|ar)|escrev(?:a|am|er)"
    r"|mand(?:e|em|a|ar)|envi(?:e|em|a|ar)|contat(?:e|em|ar)|contact(?:e|em|ar)|incomod(?:e|em|ar)|perturb(?:e|em)"
    r"|cham(?:e|em))"
)
_OURS = r"(?:o |a )?(?:meu|este|esse|nosso) (?:numero|nome|telefone|celular|contato|cadastro|dados|e ?mail)"
_LIST = r"(?:lista\w*|cadastro|base|sistema|registro\w*|contatos|tudo)"

WORDS = frozenset(
    re.findall(
        r"\w+",
        "pare parem parar chega sair descadastrar descadastre descadastrem descadastro cancele cancelem desinscrever "
        "desinscreva",
    )
)
"""Each is an opt-out by itself: `PARAR`, `SAIR` and `CANCELAR` are what Brazilian senders offer."""

POLITE = frozenset(
    re.findall(r"\w+", "por favor obrigado obrigada ola oi bom dia boa tarde noite ja agora isso gentileza desculpe")
)
"""Words around such a word that do not change its meaning."""

OBJECTS = frozenset(
    re.findall(r"\w+", "mensagem mensagens ligacao ligacoes as os essas esses suas seus lista inscricao envio envios")
)
"""What such a word may refer to: `parem as mensagens`."""

ENDS = re.compile(
    r"\b(?:"
    r"(?:quero|gostaria de|desejo|peco para) ser (?:retirad|removid|excluid|descadastrad)\w*|"
    r"(?:solicito|peco|quero) (?:a )?(?:minha )?(?:exclusao|remocao|retirada|descadastro)|"
    r"peco que (?:me )?(?:exclu|remov|apag|retir)\w*|"
    r"nao entr\w+ mais em contato|"
    r"cancel(?:ar?|e|em)(?: ai| ja| logo| por favor)? (?:o|os|as|a|esses?|essas?|todos os|todas as)(?: (?:meus?|minhas?))?"
    r" (?:recebimento|envios?|sms|mensage(?:m|ns)|ligac\w+|inscricao|cadastro|notificac\w+)|"
    r"nunca mais me \w+|"
    r"chega de (?:mensagem|mensagens)|"
    rf"(?:remov|retir|tir|exclu|apag|descadastr)\w* {_OURS}(?=$| (?:d\w+|ai|e|por gentileza|por favor)\b)|"
    rf"me (?:tir|remov|retir|exclu|apag)\w* d\w+ {_LIST}|"
    r"nao me (?:chama|manda|liga) mais|"
    # pare de me ligar; chega de mensagens
    r"(?:pare|parem|para|parar|deixe|deixem|chega|basta)(?: ja)?(?: (?:de|com|com as"
    rf"|com os))? {_CONTACT}(?<!para me)(?<!para mim)"
    # nao me ligue mais
    rf"|(?:nao|nunca)(?: mais)? (?:me|nos) {_BAN}\b|(?:nao|nunca)(?: mais)? {_BAN}(?: (?:me|mim|nos|para mim"
    r"|pra mim))?(?: mais)?(?=$| (?:por favor|nunca|obrigad\w))"
    r"|nao (?:quero|desejo|queremos|autorizo|aceito) (?:mais )?(?:receber|ser (?:contat|contact|incomod|perturb)\w*"
    r"|nada|ligac\w+|mensagen\w*|que (?:me )?(?:lig|mand|escrev|envi)\w*|saber (?:de )?(?:nada|mais))"
    # remova meu numero da sua lista
    rf"|(?:remov|remove|retir|tir|exclu|apag|delet|elimin)\w* (?:me|{_OURS})(?=$| (?:d[aoe]s?|por favor|ja|agora)\b)"
    r"|me (?:tir|remov|retir|exclu|descadastr|apag)\w*(?=$| (?:d[aoe]s?|por favor|ja|agora)\b)"
    r"|(?:quero|desejo|gostaria de|solicito|como) (?:o |a |me )?(?:descadastr|sair da lista|cancelamento|cancelar (?:a "
    r"|minha )?inscricao)\w*"
    r"|(?:revogo|retiro|cancelo) (?:o |a )?(?:meu |minha )?(?:consentimento|autorizacao|permissao)"
    r"|(?:me deix\w+|deix\w+ me) em paz|(?:nao (?:me )?(?:encha|enche|encham)|vai se (?:foder|ferrar)|va se (?:foder"
    r"|danar))"
    # numero errado
    r"|(?:^|e |eh |esta no |ligou (?:no|pro|para o) )numero errado$|(?:este|esse) numero nao e (?:mais )?(?:d[aoe]))\b"
)
"""Ends contact, unless the clause limits or denies it, or is a question."""

LIMITS = re.compile(
    r"\b(?:antes|depois|hoje|amanha|agora nao|ate|noite|tarde|manha|segunda|terca|quarta|quinta|sexta|sabado|domingo"
    r"|semana|mes"
    r"|enquanto|durante|so|somente|apenas|exceto|melhor|quando|no (?:trabalho|servico|escritorio)|em casa|horas?)\b"
    r"|\b\d{1,4}\b"
)
"""Limits to a time, place or way: `not now` is not `never`."""

IMMEDIATELY = re.compile(r"\b(?:agora mesmo|imediatamente|a partir de (?:hoje|agora)|24 7)\b")
"""Says how soon, and limits nothing."""

DENIES = re.compile(
    r"\bnao (?:me )?(?:par|tir|remov|retir|descadastr|cancel|exclu)\w*\b|\b(?:por engano|sem querer|ignor\w+"
    r"|me enganei)\b"
)
"""Says the opposite, or takes the opt-out back."""

ASKS_FOR_IT = re.compile(
    r"\b(?:pode|podem|poderia|poderiam|voces podem)\b.*\b(?:parar|remov|tirar|retirar|exclu|descadastr|deixar)\w*"
    r"|^como .*\b(?:descadastr|sair|cancel|remov|tir)\w*|quantas vezes|\bpor favor\b"
)
"""A question that is a request all the same."""

INVITES = re.compile(
    r"^(?:so|somente|apenas) (?:por )?(?:mensage\w*|texto|whatsapp|e ?mail)|"
    r"\b(?:melhor|so|somente|apenas) (?:me )?(?:lig|escrev|mand|por (?:texto|mensagem|e ?mail|telefone|whatsapp))\w*"
    r"|^(?:me )?(?:lig|escrev|mand|cham)\w* (?:me|mais tarde|depois)\b|\beu (?:ligo|escrevo|retorno)\b"
)
"""Asks for contact in another way or from somebody else, so not all contact is ended."""

HARMLESS = re.compile(
    r"\b(?:nao (?:pare|deix\w+) de (?:me )?(?:lig|escrev|mand)\w*|(?:vou|quero|preciso|tenho que|para|de|vai) (?:parar"
    r"|sair)(?! d\w+ lista)"
    r"|(?:chega|chegam) (?:em|na|no|as|hoje|amanha|logo)|sair (?:com|de|do|da|para)(?! lista)|quando chega)\b"
)
"""Words of an opt-out in another sense; they are removed before anything else is matched."""

OFTEN_MISTYPED: frozenset[str] = frozenset(
    re.findall(r"\w+", "descadastrar descadastra descadastre descadastrem descadastro desinscrever")
)
"""Words whose typos are read in short clauses: none of them is a typo away from a word of everyday sentences."""

SPELLINGS = (
    (re.compile(r"\bn(?= (?:me|quero|mande|manda|liga|ligue|entre)\b)"), "nao"),
    (re.compile(r"\bpfv\b"), "por favor"),
    (re.compile(r"\bmsgs?\b"), "mensagem"),
    (re.compile(r"\bdescad(?:rasta|astar|rastar|astre?)\b"), "descadastrar"),
)
"""What people type instead of a word."""

SUSPECT = re.compile(
    r"\b(?:so me (?:cham|lig|mand|escrev)\w*|e spam|propaganda|nao obrigad[oa]|agora nao|parar de receber)\b|"
    r"\b(?:nao (?:tenho|ha) interesse|sem interesse|nao (?:estou )?interessad[oa]|descadastr\w*|numero errado|golpe"
    r"|fraude|processar|procon"
    r"|denunciar|advogad[oa]|(?:nao|nunca) (?:me )?(?:lig(?:ue|uem)|mand(?:e|em)|escrev(?:a|am)|envi(?:e|em)|contat(?:e"
    r"|em))|faleceu|morreu|nao conheco|muitas (?:mensagens|ligacoes))\b|^(?:pare|parem|parar)\b"
)
"""What a person has to review."""
