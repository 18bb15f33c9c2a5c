"""Which Spanish words end consent, which limit or deny that, and which only look like it?

Patterns are matched against clauses of `text_normalisation`: lower-case words without accents, one space between words.
"""

import re

_CONTACT = (
    r"(?:(?:ll|y|l)am\w*|escrib\w*|mand\w*|envi\w*|contact\w*|te(?:x|ks|s)t?[ei]\w*|texto\w*|mensaj\w*|sms|molest\w*"
    r"|marc\w*|marq\w*"
    r"|jod\w*|ching\w*|fastidi\w*|acos\w*|habl\w*|insist\w*|busc\w*|comunic\w*|correo\w*|publicidad|propaganda"
    r"|notific\w*|spam)"
)
# The form of a verb that asks or forbids: llame, escriban, no `llaman` (they do).
_BAN = (
    r"(?:(?:ll|y|l)am(?:es?|en)|escrib(?:as?|an)|mand(?:es?|en)|envi(?:es?|en)|contact(?:es?|en)|te(?:x|ks"
    r"|s)t?[ei]+(?:es?|en|s|n)?"
    r"|molest(?:es?|en)|marq(?:ues?|uen)|jod(?:as?|an)|ching(?:ues?|uen)|fastidi(?:es?|en)|habl(?:es?|en)|busq(?:ues?"
    r"|uen)"
    r"|insist(?:as?|an)|comuniq(?:ues?|uen)|notifiq(?:ues?|uen)|llamar|escribir|mandar|enviar|contactar|molestar"
    r"|textear|marcar)"
)
_OURS = r"(?:mi|este|mis|nuestro) (?:numero|nombre|telefono|celular|datos|informacion|contacto|cel|registro|correo)"
_LIST = r"(?:lista\w*|base|sistema|registros?|datos|contactos|todo|ahi|aqui|grupo|directorio)"

WORDS = frozenset(
    re.findall(
        r"\w+",
        "alto para parar pare paren basta detener detenga detengan detenganse detente cancelar baja salir "
        "desuscribir desuscribirme desuscribirse eliminar eliminarme borrar suficiente nomas arret fin",
    )
)
"""Each is an opt-out by itself; carriers in Canada accept `arret`."""

POLITE = frozenset(
    re.findall(
        r"\w+",
        "por favor porfavor porfa porfas favor pf gracias hola ya ok bueno buenas disculpe disculpen perdon "
        "senor senora senorita pues entonces los las sus estos estas tus",
    )
)
"""Words around such a word that do not change its meaning."""

OBJECTS = frozenset(
    re.findall(
        r"\w+",
        "mensaje mensajes llamada llamadas texto textos sms suscripcion contacto lista correos",
    )
)
"""What such a word may refer to: `stop texts`."""

ENDS = re.compile(
    r"\b(?:"
    # ya no me llamen mas; no vuelvan a escribir
    rf"(?:no|ni|nunca|jamas)(?: mas)? (?:me|nos) {_BAN}\b"
    rf"|(?:no|ni|nunca|jamas)(?: mas)? {_BAN}(?:me|nos)?(?=$| (?:mas|a este|aqui|por favor|porfa|nunca|ya|gracias"
    r"|a mi)\b)|no (?:quiero|deseo) recibir (?:nada|mas)"
    r"|(?:no|nunca|jamas)(?: mas)? (?:me |nos )?vuelv(?:a|an|as) a \w+r(?:me|nos)?\b|no vuelv(?:an|as?)$"
    r"|(?:agradec\w+|pido|pedir\w*|ruego|rogar\w*|prefer\w+|gustaria|quisiera|solicito) que (?:ya )?(?:no|dej\w+ de)"
    r" (?:mas )?(?:me |nos )?(?:vuelv\w+ a |volvi\w+ a |sig\w+ )?(?:llam|escrib|mand|envi|contact|text|molest|marc|marq|busc"
    r"|habl|insist)\w*"
    r"|(?:no|nunca|jamas)(?: mas)? (?:me |nos )?volvi(?:er|es)(?:a|an|as|en) a \w+r(?:me|nos)?\b"
    r"|no (?:me |nos )?(?:sigas?|sigan|esten?|estes|anden?) (?:me )?(?:llam|escrib|mand|envi|contact|text|molest"
    r"|insist|jod|ching|fastidi)\w*ndo\w*|no (?:quiero|queremos|deseo) saber (?:nada|mas)"
    r"|no (?:quiero|queremos|deseo) que (?:me |nos )?(?:vuelv\w+ a |sigan |esten )?(?:llam|escrib|mand|envi"
    r"|contact|text|molest|marq|marc|busq|habl)\w*"
    rf"|quiero que (?:me (?:quiten|borren|eliminen|saquen|remuevan)|(?:quiten|borren|eliminen|saquen) {_OURS})(?=$"
    r"| de| ya| por| del)"
    r"|(?:no|nunca|ya no) (?:quiero|deseo|queremos|deseamos|quisiera|me interesa|autorizo|autorice|doy permiso"
    r"|acepto|necesito)(?: (?:que|recibir|mas|ser|seguir|recibiendo|sus|tus|estos|esos|los|las|ningun|ninguna|me"
    r"|nos|de|estas|esas|a)){0,4} (?!(?:hablar|llamar|escribir|mandar|enviar|contactar|buscar"
    rf"|marcar)\b){_CONTACT}|(?:^|ya )no mas (?:{_CONTACT}|textos?)"
    r"|^(?:ya )?(?:no mas|ya no)(?: por favor| porfa| gracias| ok)*$|^nunca mas$"
    # dejen de llamar; basta de mensajes
    r"|(?:(?:dej(?:a|e|en|ar|ad)(?:me|nos)?|para)(?: ya)? de|(?:paren?|parar|parenle|cesen?|cesar|basta|alto"
    r"|detengan?|terminen?|suspendan?|eviten?)(?: ya)?(?: (?:de|con|a))?)(?: (?:de|con|a|los|las|sus|tus|estos"
    rf"|esos|estas|me|todos|todas)){{0,3}} {_CONTACT}|^(?:ya )?par(?:en|a)le"
    r"|(?:cancel(?:ar?|en|e)|termin(?:ar|en)|quit(?:ar|en)) (?:la |mi |las |los |esta |sus |estos "
    r"|todos los ){0,2}(?:suscripcion|mensajes|llamadas|textos|notificaciones)"
    # borrenme de su lista; quiten mi numero
    r"|(?:borr|quit|elimin|sac|sacq|saq|remov|remuev|retir|excluy|tach|desuscrib)\w*(?:me|nos)(?: (?:ya|por favor"
    r"|gracias|porfa|pf|inmediatamente))*(?:$| del?(?: (?:su|tu|la|esa|esta|sus|tus|todas|todo|las|ese|el|este"
    rf"|aqui)){{0,2}} {_LIST})"
    rf"|(?:me|nos) (?:\w+ )?(?:borr|quit|elimin|sac|saq|remuev|retir)\w* del?(?: \w+)? {_LIST}"
    r"|(?:borr(?:a|e|en|ar)|quit(?:a|e|en|ar)|elimin(?:a|e|en|ar)|saca|sacar|saqu(?:e|en)|remuev(?:a|an|e)"
    rf"|remover|retir(?:e|en|ar)|bloque(?:e|en|ar)) {_OURS}(?=$| (?:ya|por favor|porfa|gracias|inmediatamente|y)\b"
    rf"| del?(?: \w+){{0,2}} {_LIST})|(?:olviden|olvidense de|olvidate de|pierdan) {_OURS}"
    r"|(?:dar|dame|denme|darme|den|deme|demen|darnos|me den|me de|darse) (?:ya )?de baja(?! (?:mi|el|la"
    r"|un) (?:seguro|poliza|auto|carro|plan))|(?:solicito|pido|quiero|deseo) (?:la|mi) baja|desuscrib\w*"
    r"|desinscrib\w*|cancelar suscripcion"
    r"|(?:revoco|retiro|cancelo) (?:\w+ )?(?:consentimiento|permiso|autorizacion)"
    r"|^(?:me (?:quitan|borran|sacan|eliminan)|ya estuvo(?: bueno)?)(?: (?:por favor|porfa|ya))*$"
    # dejenme en paz
    r"|dej(?:a|e|en|es)(?:me|nos) (?:en paz|tranquil\w+|quiet\w+)|^(?:ya )?dej(?:a|e|en)(?:me|nos)$"
    r"|no (?:me )?(?:jod(?:as?|an)|frieg(?:ues?|uen)|chinguen|molest(?:es?|en))\b"
    r"|(?:vete|vayase|vayanse|vaya|vayan|largate|larguense) ?(?:a la (?:mierda|verga|chingada|porra)|al (?:carajo"
    r"|diablo|infierno)|todos)?$"
    # numero equivocado
    r"|(?:^|tiene(?:n|s)? |es |esta |a |al |en |marco |llamo |llamando |escribiendo |perdon |lo siento )(?:el "
    r"|un |este )?(?:numero|persona|telefono|numeros) (?:esta )?equivocad[oa]s?(?! de)"
    r"|equivocad[oa]s? de (?:numero|persona|telefono)|equivoc(?:o|aron|aste) de (?:numero|persona|telefono)"
    r"|(?:este|ya) no es (?:el |mas el )?(?:numero|telefono|celular) de"
    # si me vuelven a llamar los demando
    r"|si (?:me |nos )?(?:vuelven?|siguen?|sigues|vuelves|llaman?|escriben?|mandan?|molestan?)\b.* (?:demand\w*"
    r"|report\w*|denunci\w*|policia|abogado)"
    r"|(?:pongan|ponga|agreguen|anoten)(?:me)? (?:\w+ ){0,4}(?:no llamar|do not call))\b"
)
"""Ends contact, unless the clause limits or denies it, or is a question."""

LIMITS = re.compile(
    r"\b(?:hoy|ahorita|ahora|manana|noche|tarde|antes|despues|hasta|mientras|durante|lunes|martes|miercoles"
    r"|jueves|viernes|sabados?|domingos?|semana|a menos|(?:al|en el|en mi|a mi) (?:trabajo|oficina|casa)|tan"
    r"|tanto|si no|mejor|sino|cuando|horas?|solo|jaja\w*)\b|\b\d{1,4}\b"
    r"|\b(?:mensajes?|llamadas?|textos?) de (?!ustedes|usted|este|esta|su|esa|ese|spam|nadie|ningun|venta"
    r"|publicidad)"
)
"""Limits to a time, place or way: `not now` is not `never`."""

IMMEDIATELY = re.compile(r"\bahora mismo\b|\b24 7\b|\bdesde hoy\b|\ba partir de (?:hoy|ahora)\b")
"""Says how soon, and limits nothing."""

DENIES = re.compile(
    r"\bno (?:me |nos |se )?(?:dej|par|borr|quit|elimin|saq|cancel)\w*\b(?! en paz)"
    r"|\b(?:por error|sin querer|ignor\w+|me equivoque)\b"
)
"""Says the opposite, or takes the opt-out back."""

ASKS_FOR_IT = re.compile(
    r"\b(?:pueden?|puedes|podrian?|quieren|podria)\b.*\b(?:dejar|parar|borrar|quitar|eliminar|sacar|no|baja|desuscrib"
    r"|desinscrib|cancel)\w*"
    r"|^como .*\b(?:baja|desuscrib|cancel|borr|quit|sal)\w*|cuantas veces|\bpor favor\b"
)
"""A question that is a request all the same."""

INVITES = re.compile(
    r"\b(?:mejor|solo|sino|nomas) (?:me )?(?:escrib|llam|text|mand|por (?:texto|mensaje|correo|whatsapp"
    r"|telefono))\w*"
    r"|^(?:(?:ll|y)am(?:a|e|en)(?:me)?|escrib(?:e|a|an|eme|ame|anme)|mand(?:a|e|en)(?:me)?|text\w+me|yo (?:los "
    r"|les |te |le )?(?:llamo|llamare|escribo|busco))\b"
)
"""Asks for contact in another way or from somebody else, so not all contact is ended."""

HARMLESS = re.compile(
    r"\b(?:no (?:olvid|dud|dej|tard)\w+ (?:en |de )?(?:llam|escrib|mand|contact|habl)\w*(?<!escribirme)"
    r"|(?:voy a|quiero|tengo que|puedo|a|sin|de) parar (?:en|el|la|un|a)"
    r"|(?:di|mande|puse|dio|pase|escribi|marque) (?:el |un |mi )?numero equivocado"
    r"|(?:direccion|precio|zip|correo|modelo|ano|nombre|cotizacion) (?:\w+ )?(?:esta|es) equivocad[oa]"
    r"|dar de baja (?:mi|el|la) \w+|por ?que (?:ya )?no (?:me |nos )?\w+n\b)\b"
)
"""Words of an opt-out in another sense; they are removed before anything else is matched."""

OFTEN_MISTYPED: frozenset[str] = frozenset(re.findall(r"\w+", "desinscribir desuscribirme"))
"""Words whose typos are read in short clauses: none of them is a typo away from a word of everyday sentences."""

SPELLINGS = (
    (re.compile(r"\bvaja\b"), "baja"),
    (re.compile(r"\bvorr(?=[ae])"), "borr"),
    (re.compile(r"\bkit(?=[ae]n?(?:me|nos)?\b)"), "quit"),
    (re.compile(r"\bsakenme\b"), "saquenme"),
    (re.compile(r"\bkiero\b"), "quiero"),
    (re.compile(r"\bke\b"), "que"),
)
"""What people write by ear instead of a word."""

SUSPECT = re.compile(
    r"\bno (?:me |nos )?(?:vuelv\w+ a )?(?:(?:ll|y)am(?:es?|en)|escrib(?:as?|an)|mand(?:es?|en)|contact(?:es?|en)"
    r"|molest(?:es?|en))\b(?! porque)|\bno (?:me |nos )?(?:dejen?|borren?|quiten?|paren)\b"
    r"|\b(?:no (?:\w+ ){0,2}(?:interesa|interesad[oa])|sin interes|equivocad[oa]|acoso|acosando|estafa\w*"
    r"|fraude|demandar|denunciar|reportar|reporto|abogado|desuscri\w*|(?:borr|quit|elimin|sac)\w*(?:me|nos)\b"
    r"|dej(?:a|e|en)(?:me|nos) en paz|(?:dejen?|paren?|deje|cesen?) de (?:\w+)|muchos mensajes|muchas llamadas"
    r"|(?:llaman|escriben|mandan|textean) (?:tanto|mucho|demasiado)|(?:por ?que|porque) (?:\w+ )?(?:siguen?"
    r"|llaman|escriben|mandan|insisten)|no (?:me )?(?:inscrib|suscrib|registr)\w+|no (?:lo )?(?:pedi|solicite)\b"
    r"|callate|callense|ching\w+ (?:a )?(?:tu|su)|hijos? de (?:la|su|tu|puta)|putas?|pendej\w+|vete|no conozco a"
    r"|no vive|fallecio|murio|basta por|(?:no mas|ya no) por|no mas (?:llamadas|mensajes|textos)|cancel(?:ar|e"
    r"|en) (?:mi|la|el) (?!seguro|poliza|plan|contrato))\b"
    r"|^(?:yo )?no soy (?!due|propiet|casad|ciudad|resid|fumad|mayor|client)\w+$"
    r"|^(?:quiero |deseo |necesito )?cancelar$|^(?:es |esto es )?spam$|^(?:alto|parar|pare|paren|basta(?! con| che"
    r"| que| un| una| uno| poco))\b"
    r"|^cancel(?:ar|e|en) (?:cita|orden|reserva\w*)|\bno soy la persona|\bno (?:llamadas|mensajes|textos)\b"
)
"""What a person has to review."""
