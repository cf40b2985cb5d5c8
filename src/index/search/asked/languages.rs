//! The words for times in twelve languages: those whose words are stemmed.
//!
//! `|` separates forms, a blank the words of one form; behind ` / ` stand those that say several. Accents and letter case do
//! not count. `hier` stands for French alone, and only beside another French word: in German it means "here".

/// The words of one language.
pub(super) struct Language {
    /// As months and weekdays are known by.
    pub(super) code: &'static str,
    /// Today, yesterday, the day before; a part of one counts as the day.
    pub(super) days: [&'static str; 3],
    /// `last` before what it belongs to, and behind it.
    pub(super) last: [&'static str; 2],
    /// With its unit, where the word alone says less: `i år`.
    pub(super) this: &'static str,
    /// As `last`.
    pub(super) next: [&'static str; 2],
    /// Day, week, month, quarter, year, weekend, a comma between them.
    pub(super) units: &'static str,
    /// Words that make a month or a weekday behind them a time.
    pub(super) at: &'static str,
    /// `ago` before the number, and behind the unit.
    pub(super) ago: [&'static str; 2],
    /// `between … and …`, the second also for `or`; `from … to …`.
    pub(super) between: [&'static str; 2],
    pub(super) from: [&'static str; 2],
    pub(super) since: &'static str,
    /// Up to a time and without it, and with it.
    pub(super) before: &'static str,
    pub(super) until: &'static str,
    pub(super) after: &'static str,
    /// Words that a time may stand behind for its first day, and for its last.
    pub(super) edges: [&'static str; 2],
    /// Words that ask for the newest by themselves.
    pub(super) newest: &'static str,
    /// Words that ask for the newest only before one of `of`: `status of`, never `HTTP status`.
    pub(super) state: &'static str,
    pub(super) of: &'static str,
    /// One to ten, a comma between them.
    pub(super) numbers: &'static str,
    /// Some of them, less than ten.
    pub(super) few: &'static str,
    /// First to fourth, as quarters are told apart.
    pub(super) ordinals: &'static str,
}

pub(super) const LANGUAGES: [Language; 12] = [
    // English
    Language {
        code: "en",
        days: [
            "today|tonight|this morning|this afternoon|this evening",
            "yesterday|last night",
            "the day before yesterday|day before yesterday",
        ],
        last: ["last|past|previous|the last|the past", ""],
        this: "this|current|the current",
        next: ["next|coming|upcoming|the next", ""],
        units: "day / days,week|cw / weeks,month / months,quarter / quarters,year / years,weekend / weekends",
        at: "in|on|of|during|for|from|late in|early in|mid|early|late",
        ago: ["", "ago"],
        between: ["between", "and|or"],
        from: ["from", "to|until|till|through"],
        since: "since|ever since",
        before: "before",
        until: "until|till|up to",
        after: "after",
        edges: ["beginning|start", "end"],
        newest: "latest|newest|most recent|recent|recently|lately|currently|nowadays|so far|these days|what is new|what's new|\
                 where are we|where do we stand|current status|current state",
        state: "status|progress",
        of: "of|on|for|with|in|about",
        numbers: "one|a,two,three,four,five,six,seven,eight,nine,ten",
        few: "few|a few|several|couple of|a couple of",
        ordinals: "first,second,third,fourth",
    },
    // German
    Language {
        code: "de",
        days: ["heute", "gestern|letzte nacht|vergangene nacht", "vorgestern"],
        last: [
            "letzte|letzten|letzter|letztes|letztem|vorige|vorigen|voriger|voriges|vergangene|vergangenen|vergangener|\
             vergangenes",
            "",
        ],
        this: "diese|diesen|dieser|dieses|diesem",
        next: ["nächste|nächsten|nächster|nächstes|nächstem|kommende|kommenden|kommender|kommendes", ""],
        units: "tag / tage|tagen,woche|kw|kalenderwoche / wochen|kalenderwochen,monat|monats / monate|monaten,\
                 quartal|quartals / quartale|quartalen,jahr|jahres / jahre|jahren,\
                 wochenende|wochenendes / wochenenden",
        at: "in|im|am|vom|von|des|mitte",
        ago: ["vor", ""],
        between: ["zwischen", "und|oder"],
        from: ["von|vom", "bis|bis zum"],
        since: "seit|ab",
        before: "vor",
        until: "bis|bis zum|bis zur",
        after: "nach",
        edges: ["anfang|beginn", "ende"],
        newest: "neueste|neuesten|neuester|neuestes|neuste|neusten|aktuell|aktuelle|aktuellen|aktueller|aktuelles|derzeit|\
                 zuletzt|neulich|kürzlich|momentan|stand der dinge",
        state: "stand|status|fortschritt",
        of: "von|des|vom|bei|beim|zu|zum|zur|im",
        numbers: "einem|einer,zwei,drei,vier,fünf,sechs,sieben,acht,neun,zehn",
        few: "paar|ein paar|einigen|mehreren|wenigen",
        ordinals: "erstes|erste|ersten,zweites|zweite|zweiten,drittes|dritte|dritten,viertes|vierte|vierten",
    },
    // French
    Language {
        code: "fr",
        days: ["aujourd'hui|ce matin|ce soir|cet après-midi", "hier|nuit dernière", "avant-hier"],
        last: ["dernier|dernière / derniers|dernières", "dernier|dernière|passé|passée / derniers|dernières"],
        this: "ce|cet|cette",
        next: ["prochain|prochaine|prochains|prochaines", "prochain|prochaine|prochains|prochaines|qui vient"],
        units: "jour|jours,semaine|semaines,mois|mois-ci,trimestre|trimestres,an|ans|année|années,\
                 week-end|week-ends|weekend|weekends",
        at: "en|au|le|du|de|d'|mi|milieu",
        ago: ["il y a", ""],
        between: ["entre", "et|ou"],
        from: ["de|du", "à|au|jusqu'en"],
        since: "depuis|à partir de|à partir du|à partir d'",
        before: "avant",
        until: "jusqu'en|jusqu'à|jusqu'au",
        after: "après",
        edges: ["début", "fin"],
        newest: "récent|récente|récents|récentes|récemment|actuel|actuelle|actuels|actuelles|actuellement|\
                 dernières nouvelles|où en est|où en sont|où en sommes",
        state: "statut|avancement",
        of: "de|du|des|d'",
        numbers: "un|une,deux,trois,quatre,cinq,six,sept,huit,neuf,dix",
        few: "quelques",
        ordinals: "premier,deuxième|second,troisième,quatrième",
    },
    // Spanish
    Language {
        code: "es",
        days: ["hoy|esta mañana|esta tarde|esta noche", "ayer|anoche", "anteayer|antes de ayer"],
        last: ["último|última / últimos|últimas", "pasado|pasada / pasados|pasadas"],
        this: "este|esta",
        next: ["próximo|próxima|próximos|próximas", "próximo|próxima|que viene|que vienen"],
        units: "día|días,semana|semanas,mes|meses,trimestre|trimestres,año|años,fin de semana|fines de semana",
        at: "en|el|de|del",
        ago: ["hace", ""],
        between: ["entre", "y|e|o|u"],
        from: ["de|del|desde", "a|al|hasta"],
        since: "desde|a partir de|a partir del",
        before: "antes de|antes del",
        until: "hasta",
        after: "después de|después del|tras",
        edges: ["principios|comienzos|inicio", "fin|finales"],
        newest: "más reciente|más recientes|reciente|recientes|recientemente|actual|actuales|actualmente|últimas noticias",
        state: "progreso|avance",
        of: "de|del",
        numbers: "un|una,dos,tres,cuatro,cinco,seis,siete,ocho,nueve,diez",
        few: "unos|unas|algunos|algunas|pocos|pocas",
        ordinals: "primer,segundo,tercer,cuarto",
    },
    // Italian
    Language {
        code: "it",
        days: [
            "oggi|stamattina|stamani|stasera|questa mattina|questa sera",
            "ieri|notte scorsa",
            "l'altro ieri|altro ieri|avantieri",
        ],
        last: [
            "scorso|scorsa|ultimo|ultima / scorsi|scorse|ultimi|ultime",
            "scorso|scorsa|passato|passata / scorsi|scorse",
        ],
        this: "questo|questa",
        next: ["prossimo|prossima|prossimi|prossime", "prossimo|prossima|che viene"],
        units: "giorno|giorni,settimana|settimane,mese|mesi,trimestre|trimestri,anno|anni,fine settimana|weekend",
        at: "in|a|ad|nel|nell'|di|del|dell'|il|lo|metà",
        ago: ["", "fa"],
        between: ["tra|fra", "e|ed|o"],
        from: ["da|dal|dall'|dalla", "a|al|all'|alla|ad|fino a|fino al|fino all'"],
        since: "da|dal|dall'|dalla|a partire da|a partire dal|a partire dall'",
        before: "prima di|prima del|prima della",
        until: "fino a|fino al|fino alla",
        after: "dopo",
        edges: ["inizio", "fine"],
        newest: "più recente|più recenti|recente|recenti|recentemente|attuale|attuali|attualmente|ultime novità|a che punto",
        state: "avanzamento",
        of: "di|del|della|dei|dell'",
        numbers: "un|una,due,tre,quattro,cinque,sei,sette,otto,nove,dieci",
        few: "alcuni|alcune|pochi|poche|qualche",
        ordinals: "primo,secondo,terzo,quarto",
    },
    // Portuguese
    Language {
        code: "pt",
        days: ["hoje|esta manhã|esta tarde|esta noite", "ontem|noite passada", "anteontem"],
        last: ["último|última / últimos|últimas", "passado|passada / passados|passadas"],
        this: "este|esta|neste|nesta|deste|desta",
        next: ["próximo|próxima|próximos|próximas", "próximo|próxima|que vem"],
        units: "dia|dias,semana|semanas,mês|meses,trimestre|trimestres,ano|anos,\
                 fim de semana|fins de semana|final de semana",
        at: "em|no|na|de|do|da",
        ago: ["há", "atrás"],
        between: ["entre", "e|ou"],
        from: ["de|desde", "a|até"],
        since: "desde|a partir de|a partir do|a partir da",
        before: "antes de|antes do|antes da",
        until: "até",
        after: "depois de|depois do|depois da|após",
        edges: ["início|começo|inícios", "fim|fins"],
        newest: "mais recente|mais recentes|recente|recentes|recentemente|atual|atuais|atualmente|últimas novidades",
        state: "andamento|progresso",
        of: "de|do|da|dos|das",
        numbers: "um|uma,dois|duas,três,quatro,cinco,seis,sete,oito,nove,dez",
        few: "alguns|algumas|uns|umas|poucos|poucas",
        ordinals: "primeiro,segundo,terceiro,quarto",
    },
    // Dutch
    Language {
        code: "nl",
        days: [
            "vandaag|vanmorgen|vanochtend|vanmiddag|vanavond",
            "gisteren|gisterochtend|gistermiddag|gisteravond|afgelopen nacht",
            "eergisteren",
        ],
        last: ["vorige|vorig|afgelopen|laatste|verleden", ""],
        this: "deze|dit",
        next: ["volgende|volgend|komende|komend|aanstaande", "aanstaande"],
        units: "dag / dagen,week / weken,maand / maanden,kwartaal / kwartalen,jaar / jaren,\
                 weekend|weekeinde / weekends|weekenden",
        at: "in|op|van|half|medio|midden",
        ago: ["", "geleden"],
        between: ["tussen", "en|of"],
        from: ["van", "tot|tot en met|t/m"],
        since: "sinds|vanaf",
        before: "voor",
        until: "tot|tot en met",
        after: "na",
        edges: ["begin", "eind|einde"],
        newest: "nieuwste|recente|recent|recentste|huidige|onlangs|momenteel|laatste nieuws",
        state: "stand|status|voortgang",
        of: "van",
        numbers: "een,twee,drie,vier,vijf,zes,zeven,acht,negen,tien",
        few: "paar|een paar|enkele",
        ordinals: "eerste,tweede,derde,vierde",
    },
    // Russian
    Language {
        code: "ru",
        days: ["сегодня", "вчера|прошлой ночью", "позавчера"],
        last: [
            "прошлый|прошлая|прошлое|прошлую|прошлой|прошлом|прошлого|последний|последняя|последнюю|\
             последней|последнего|прошлые|прошлых / последние|последних",
            "",
        ],
        this: "этот|эта|эту|этой|этом|этого",
        next: [
            "следующий|следующая|следующее|следующую|следующей|следующем|следующего|следующие|следующих|\
             будущем|будущей|будущую|будущего",
            "",
        ],
        units: "день|дня / дней|дни,неделя|неделю|неделе|недели|недель,месяц|месяца|месяце / месяцев|месяцы,\
                 квартал|квартала|квартале / кварталов|кварталы,год|года|году / лет|годы,выходные|выходных",
        at: "в|во|на|за|от|середине|середина|середины",
        ago: ["", "назад"],
        between: ["между", "и|или"],
        from: ["с|со|от", "до|по"],
        since: "с|со",
        before: "до",
        until: "",
        after: "после",
        edges: ["начала|начало|начале", "конца|конец|конце"],
        newest: "последние новости|свежие|свежий|недавно|недавние|недавний|текущий|текущая|текущее|текущие|актуальный|\
                 актуальные|актуальная|сейчас|какой статус|как продвигается|как идёт|как идут",
        state: "статус",
        of: "по|у",
        numbers: "один|одну,два|две,три,четыре,пять,шесть,семь,восемь,девять,десять",
        few: "несколько|пару",
        ordinals: "первый|первом|первого,второй|втором|второго,третий|третьем|третьего,четвёртый|четвёртом|четвёртого",
    },
    // Swedish
    Language {
        code: "sv",
        days: ["idag|i dag|i morse|i kväll|ikväll|i eftermiddag", "igår|i går", "i förrgår|förrgår"],
        last: ["förra|senaste|sista", ""],
        this: "denna|detta|den här|det här|i år|i helgen",
        next: ["nästa|kommande", ""],
        units: "dag / dagar|dagarna,vecka|veckan / veckor|veckorna,månad|månaden / månader|månaderna,\
                 kvartal|kvartalet / kvartalen,år|året / åren,helg|helgen / helger|helgerna",
        at: "i|på|den|under|från|av",
        ago: ["", "sedan"],
        between: ["mellan", "och|eller"],
        from: ["från", "till"],
        since: "sedan",
        before: "före|innan",
        until: "till",
        after: "efter",
        edges: ["början", "slutet"],
        newest: "senaste|nyaste|nyligen|aktuell|aktuella|aktuellt|nuvarande|just nu",
        state: "status|läget|framsteg",
        of: "för|på|med|i|av",
        numbers: "en|ett,två,tre,fyra,fem,sex,sju,åtta,nio,tio",
        few: "några|ett par",
        ordinals: "första,andra,tredje,fjärde",
    },
    // Norwegian
    Language {
        code: "nb",
        days: ["i dag|idag|i morges|i kveld|i ettermiddag|i formiddag", "i går|igår", "i forgårs|forgårs"],
        last: ["forrige|siste|sist", ""],
        this: "denne|dette|i år|i helgen|i helga",
        next: ["neste|kommende", ""],
        units: "dag / dager|dagene,uke|uken|uka / uker|ukene,måned|måneden / måneder|månedene,\
                 kvartal|kvartalet / kvartaler,år|året / årene,helg|helgen|helga / helger",
        at: "i|på|den|fra|av",
        ago: ["", "siden"],
        between: ["mellom", "og|eller"],
        from: ["fra", "til"],
        since: "siden",
        before: "før|innen",
        until: "til",
        after: "etter",
        edges: ["begynnelsen", "slutten"],
        newest: "nyeste|nylig|nåværende|aktuelle|for tiden|siste nytt",
        state: "status|fremdrift",
        of: "for|på|med|i|av",
        numbers: "en|et,to,tre,fire,fem,seks,sju,åtte,ni,ti",
        few: "noen|et par|få",
        ordinals: "første,andre,tredje,fjerde",
    },
    // Danish
    Language {
        code: "da",
        days: ["i dag|idag|i morges|i aften|i eftermiddag|i formiddag", "i går|igår", "i forgårs|forgårs"],
        last: ["sidste|seneste|forrige", ""],
        this: "denne|dette|i år|i weekenden",
        next: ["næste|kommende", ""],
        units: "dag / dage|dagene,uge|ugen / uger|ugerne,måned|måneden / måneder|månederne,\
                 kvartal|kvartalet / kvartaler,år|året / årene,weekend|weekenden / weekender",
        at: "i|på|den|fra|af",
        ago: ["", "siden"],
        between: ["mellem", "og|eller"],
        from: ["fra", "til"],
        since: "siden",
        before: "før|inden",
        until: "til",
        after: "efter",
        edges: ["begyndelsen", "slutningen"],
        newest: "nyeste|for nylig|nylig|nuværende|aktuelle|seneste nyt|seneste",
        state: "status|fremskridt",
        of: "for|på|med|i|af",
        numbers: "en|et,to,tre,fire,fem,seks,syv,otte,ni,ti",
        few: "nogle|et par|få",
        ordinals: "første,andet|anden,tredje,fjerde",
    },
    // Finnish; its endings say what prepositions say elsewhere.
    Language {
        code: "fi",
        days: ["tänään|tänä aamuna|tänä iltana", "eilen|viime yönä", "toissapäivänä"],
        last: ["viime|viimeisen|viimeisten|edellinen|edellisen|edellisellä", ""],
        this: "tämä|tällä|tässä|tänä|tämän",
        next: ["ensi|seuraava|seuraavan|seuraavalla|tuleva|tulevan|tulevalla", ""],
        units: "päivä|päivää|päivän|päivänä / päivinä,viikko|viikolla|viikkoa|viikon / viikkoina,\
                 kuukausi|kuukauden|kuukautta|kuussa|kuun / kuukausina,\
                 neljännes|vuosineljännes|vuosineljänneksellä|neljänneksellä,vuosi|vuonna|vuoden|vuotta / vuosina,\
                 viikonloppu|viikonloppuna|viikonlopun|viikonloppua / viikonloppuina",
        at: "",
        ago: ["", "sitten"],
        between: ["", "ja|tai"],
        from: ["", ""],
        since: "",
        before: "ennen",
        until: "",
        after: "jälkeen",
        edges: ["", ""],
        newest: "uusin|uusimmat|viimeisin|viimeisimmät|nykyinen|nykyiset|äskettäin|tällä hetkellä|mikä on tilanne",
        state: "",
        of: "",
        numbers: "yksi,kaksi,kolme,neljä,viisi,kuusi,seitsemän,kahdeksan,yhdeksän,kymmenen",
        few: "muutama|muutaman",
        ordinals: "ensimmäinen|ensimmäisen|ensimmäisellä,toinen|toisen|toisella,kolmas|kolmannen|kolmannella,neljäs|neljännen|neljännellä",
    },
];

/// French words: `hier` means yesterday only in a question that has one of them.
pub(super) const FRENCH: [&str; 28] = [
    "le", "la", "les", "des", "du", "de", "d'", "l'", "un", "une", "est", "que", "qu'", "quoi", "qui", "sur", "avec",
    "pour", "ai", "avons", "reunion", "dit", "fait", "soir", "depuis", "avant", "apres", "jusqu'",
];

/// Articles that may stand before a time behind another word: `seit der letzten Woche`, `desde la semana pasada`.
pub(super) const ARTICLES: &str = "the der den dem die das le la les l' el il o a de det";

/// Units that mean one of them before `ago` without a number: `неделю назад`, `viikko sitten`.
pub(super) const SINGULAR: [&str; 7] = ["день", "неделю", "месяц", "год", "viikko", "kuukausi", "vuosi"];

/// Weekdays that are numbers too (`na segunda parte`): times only with `passada` or `-feira`.
pub(super) const ORDINAL_WEEKDAYS: [&str; 5] = ["segunda", "terca", "quarta", "quinta", "sexta"];

/// Short names of months that are unambiguous beside a number; other beginnings could be words (`set 5 values`, `4 helm`).
pub(super) const SHORT_MONTHS: [&str; 28] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "okt", "dez", "janv", "fevr",
    "febr", "juil", "sept", "янв", "фев", "апр", "авг", "сент", "окт", "нояб", "дек", "ноя",
];

/// Names of months that are verbs, too.
pub(super) const VERBS: [&str; 2] = ["march", "may"];

/// Endings of months and weekdays in a sentence (`maaliskuussa`, `tiistaina`, `viime lokakuun`, `i tisdags`, `på tisdagen`,
/// `terça-feira`), and the languages that have them: elsewhere they say several, `on Mondays`.
pub(super) const ENDINGS: [(&str, &str); 6] =
    [("-feira", "pt"), ("ssa", "fi"), ("en", "sv nb da"), ("na", "fi"), ("n", "fi"), ("s", "sv nb da")];

/// Finnish says by these what other languages say by a word before the name.
pub(super) const IN_FINNISH: [&str; 2] = ["ssa", "na"];
