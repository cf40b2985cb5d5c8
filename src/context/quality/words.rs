//! Words as the gate compares them: content words by a crude stem, and pairs of characters for scripts that put
//! no spaces between words.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

/// Letters that two words must share at their beginning to count as forms of one: long enough that most endings of
/// German and Russian come after it.
const STEM: usize = 5;

/// Short words are forms of one another if they share four letters and are about as long (риск, риски).
const SHORT_STEM: usize = 4;

/// Words so short say too little to be looked for in the note.
const SHORTEST: usize = 4;

/// Words that hold a sentence together, by language. They are no content, and their share tells the language.
const STOP: [(&str, &str); 8] = [
    (
        "en",
        "a about above after again all also am an and any are as at be because been before being below between both \
         but by can could did do does during each for from had has have he her here his how i if in into is it its \
         just may more most must my no nor not now of off on only or other our out over own same she should so some \
         such than that the their them then there these they this those through to too under until up very was we \
         were what when where which while who whose why will with within without would you your",
    ),
    (
        "de",
        "aber alle als also am an auch auf aus bei beim bis da damit dann das dass dem den denn der des dich die dies \
         diese diesem diesen dieser dieses dir doch du durch ein eine einem einen einer eines er es euch für gegen \
         habe haben hat hatte hatten ich ihm ihn ihr ihre ihrem ihren ihrer im in ist ja kann kein keine können mehr \
         mein meine meinem meinen meiner mich mir mit muss nach nicht noch nun nur ob oder ohne sein seine seinem \
         seinen seiner sich sie sind so soll sollen sowie über um und uns unser unsere unserem unseren unserer unter \
         vom von vor wann war waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werden wie \
         wieso wieviel wird wir wo wofür woher wohin womit wurde wurden zu zum zur zwischen",
    ),
    (
        "fr",
        "à ai as au aux avec avez avons c ce ces cet cette combien comme comment d dans de depuis des du elle en entre \
         est et été être eu il ils j je l la le les leur leurs lors lui ma mais même mes mon n ne nos notre nous on ont \
         ou où par pas pendant plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si \
         son sont sous sur ta tes ton tout très tu un une vers votre vous y",
    ),
    (
        "es",
        "al ante como cómo con cuál cuáles cuando cuándo cuánta cuántas cuánto cuántos de del desde donde dónde e el \
         ella en entre era es está esta este esto fue ha han hasta hay he la las le lo los más me mi mis muy no \
         nuestra nuestro o para pero por porque qué que quién quiénes se ser si sin sobre son su sus también \
         tengo tiene tu tus un una y ya yo",
    ),
    (
        "it",
        "a abbiamo al alla anche che chi ci come con cosa da dal dalla degli dei del della delle di dopo dov dove e è \
         ed era gli ha hanno ho i il in io la le lo ma mi mia mie miei mio nel nella non nostra nostro o per perché più \
         qual quale quali quando quanta quante quanti quanto questa questo se si sono su sua suo tra tua tuo un una",
    ),
    (
        "pt",
        "a ao aos as até com como da das de do dos e é ela ele em entre era esta está este eu foi há isso já mais mas \
         meu meus minha minhas na nas não no nos nossa nosso o onde os ou para pela pelo por porque qual quais quando \
         quanta quantas quanto quantos que quem se sem ser seu sua são sobre também tem tenho um uma",
    ),
    (
        "nl",
        "aan al als bij dan dat de der deze die dit door een en er haar had hadden heb hebben heeft het hij hoe hoeveel \
         ik in is je jij jouw kan kunnen maar meer met mij mijn na naar niet nog of om onder ons onze ook op over te \
         tot uit van veel voor waar waarom wanneer was wat we welk welke werd wie wij wordt zal ze zich zij zijn",
    ),
    (
        "ru",
        "а без более бы был была были было быть в вам вас во вот все всё где да для до его её если есть ещё же за зачем \
         и из или им их к как какая какие какого какое какой каком какую когда кого кому которая которые который кто \
         куда ли между меня мне моё моего моей мои мой мою моя мы на над нам нас наш наша не него нет но о об он она \
         они от откуда перед по под после потому почему при с сколько со так также там тебя то тоже только ты у уже \
         через чего чей чем что чтобы эта эти это этот я",
    ),
];

/// Words that captions say about any passage; whether they stand in the note tells nothing.
const ABOUT: &str = "about abschnitt aufgezeichnet author beschreibt behandelt captures chapter compares contains covers \
     contient contiene datei decision decisions decrit describe describes described description describing detail \
     detailing details discusses discussed discussion document documentation documents dort enthält entry entries \
     erklärt erläutert erwähnt example examples explain explained explaining explains explanation explica explique \
     eintrag fichier file focus focuses follows fragmento gives heading hält including includes information \
     introduces journal kapitel lists listed listet listing mention mentions mentioned names nennt note noted notes \
     notiz notizen nota notas owner page part passage personal plan plans planned presents project provides reason \
     reasons recorded records refers reference regarding related relates resume résume sagt says section sección \
     seite several shows situated specific specifically states steps subject summarizes summary tells text thema \
     title together topic topics trata traite user using various wird works written zeigt \
     запись заметка заметки заметке описывает описано объясняет описан описана раздел разделе рассказывает \
     содержит перечисляет указано говорится отрывок страница тема проект проекта проекте";

/// Chinese and Japanese characters that hold sentences together: a pair with one of them is no content.
const GLUE: &str = "的了和是在与及于为对从到以其该此这那等并或而把被将由之也都就";

static STOP_WORDS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut words: HashMap<&str, Vec<&str>> = HashMap::new();
    for (language, list) in STOP {
        for word in list.split_whitespace() {
            words.entry(word).or_default().push(language);
        }
    }
    words
});

static ABOUT_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| ABOUT.split_whitespace().collect());

/// The languages (ISO 639-1), of those that are known, in which a word in lower case holds sentences together.
pub fn stop_word_languages(word: &str) -> &'static [&'static str] {
    STOP_WORDS.get(word).map_or(&[], Vec::as_slice)
}

/// Whether a word holds sentences together in one of the known languages.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains_key(word)
}

/// The language of most of a text's stop words; `None` where no language stands out.
pub(super) fn language_by_stop_words(text: &str) -> Option<&'static str> {
    let words = words(text);
    if words.len() < 6 {
        return None;
    }
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for language in words.iter().filter_map(|word| STOP_WORDS.get(word.as_str())).flatten() {
        *found.entry(language).or_default() += 1;
    }
    let mut counts: Vec<(usize, &str)> = found.into_iter().map(|(language, count)| (count, language)).collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let (best, language) = *counts.first()?;
    let second = counts.get(1).map_or(0, |(count, _)| *count);
    let share = best as f32 / words.len() as f32;
    let stands_out = best >= 3 && share > 0.15 && best * 2 >= second * 3;
    stands_out.then_some(language)
}

/// The words of a text in lower case: runs of letters and digits that hold a letter. Hyphens and apostrophes separate
/// words, so that compounds are compared by their parts.
pub(super) fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || is_mark(c)));
    parts.filter(|word| word.chars().any(char::is_alphabetic)).map(str::to_lowercase).collect()
}

/// Marks that belong to the letter before them: in decomposed text, and in the scripts of India.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{d7f}' | '\u{e31}'..='\u{e4e}' | '\u{64b}'..='\u{65f}')
}

/// Whether a letter is of a script that puts no spaces between words, or glues particles to them (Korean).
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0xe00..=0xeff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

/// Length of a text in words, about: a word of Chinese or Japanese is nearly two characters, of Thai four.
pub(super) fn length_in_words(text: &str) -> usize {
    let mut quarters = 0;
    let mut in_word = false;
    for c in text.chars() {
        if is_unspaced(c) {
            quarters += if matches!(u32::from(c), 0xe00..=0x17ff) { 1 } else { 2 };
            in_word = false;
        } else if c.is_alphanumeric() {
            quarters += if in_word { 0 } else { 4 };
            in_word = true;
        } else {
            in_word = in_word && (is_mark(c) || matches!(c, '\'' | '’' | '-'));
        }
    }
    quarters / 4
}

/// What a text is about, for comparing it with others.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// Content words.
    pub(super) words: BTreeSet<String>,
    /// Pairs of characters of scripts without spaces.
    pub(super) pairs: BTreeSet<[char; 2]>,
}

impl Terms {
    /// All words, for texts that others are compared with: what is a stop word in one language may be content
    /// in another.
    pub(super) fn vocabulary(text: &str) -> Self {
        Terms::of(text, |_| true)
    }

    /// The content words.
    pub(super) fn content(text: &str) -> Self {
        let mut terms = Terms::of(text, |word| {
            let long = word.chars().nth(SHORTEST - 1).is_some();
            long && !is_stop_word(word) && !ABOUT_WORDS.contains(word)
        });
        let hiragana = |c: char| matches!(c, '\u{3040}'..='\u{309f}');
        terms.pairs.retain(|pair| !pair.iter().any(|c| GLUE.contains(*c) || hiragana(*c)));
        terms
    }

    fn of(text: &str, keep: impl Fn(&str) -> bool) -> Self {
        let mut terms = Terms::default();
        for word in words(text) {
            if word.chars().any(is_unspaced) {
                let letters: Vec<char> = word.chars().collect();
                let pairs = letters.windows(2).filter_map(|w| <[char; 2]>::try_from(w).ok());
                terms.pairs.extend(pairs.filter(|pair| pair.iter().all(|c| is_unspaced(*c))));
                // Latin names stand between the characters without a space.
                let latin = word.split(is_unspaced).filter(|part| !part.is_empty() && keep(part));
                terms.words.extend(latin.map(str::to_owned));
            } else if keep(&word) {
                terms.words.insert(word);
            }
        }
        terms
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.words.len() + self.pairs.len()
    }

    /// Whether a word, or a form of it, is among these.
    pub(super) fn has_word(&self, word: &str) -> bool {
        if self.words.contains(word) {
            return true;
        }
        let length = word.chars().count();
        if length < SHORT_STEM {
            return false;
        }
        let stem: String = word.chars().take(STEM.min(length).max(SHORT_STEM)).collect();
        let short: String = word.chars().take(SHORT_STEM).collect();
        let begin_alike = |start: String| {
            self.words.range(start.clone()..).take_while(move |other| other.starts_with(start.as_str()))
        };
        begin_alike(stem).any(|other| is_form(word, other)) || begin_alike(short).any(|other| is_form(word, other))
    }

    /// How many of these words and pairs are among others.
    pub(super) fn shared(&self, others: &Terms) -> usize {
        self.words.iter().filter(|word| others.has_word(word)).count() + self.pairs.intersection(&others.pairs).count()
    }
}

/// Whether two words are forms of one, crudely: they begin alike for long enough.
fn is_form(a: &str, b: &str) -> bool {
    let alike = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.chars().count(), b.chars().count());
    if alike >= STEM { alike * 3 >= a.min(b) * 2 } else { alike >= SHORT_STEM && a.max(b) <= 6 }
}

#[cfg(test)]
mod tests;
