//! The languages whose words are reduced to stems, and which of them a note is written in.
//!
//! A word is stemmed as it is written, and its stem is folded afterwards: a stemmer of German knows `ü`, one of Russian
//! knows `й`. Words of languages without a compiled-in stemmer stay as they are; words of ASCII letters are stemmed as
//! English unless their note is in another language of the Latin script.

mod english;

use frostem::{Algorithm, Stemmer};
use strum::VariantArray;
use unicode_normalization::UnicodeNormalization;
use whatlang::{Detector, Lang};

use english::is_plainly_english;

/// A language with a stemmer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray)]
pub enum Language {
    /// Also the language of notes whose language is unknown.
    #[default]
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish.
    Spanish,
    /// Italian.
    Italian,
    /// Portuguese.
    Portuguese,
    /// Dutch.
    Dutch,
    /// Russian.
    Russian,
    /// Swedish.
    Swedish,
    /// Norwegian (Bokmål).
    Norwegian,
    /// Danish.
    Danish,
    /// Finnish.
    Finnish,
}

/// A text with fewer letters is too short to guess its language.
const LEAST: usize = 40;

impl Language {
    /// Bytes of a note from which its language is guessed: enough to be sure, and read in a fraction of a millisecond.
    pub(super) const LOOKED_AT: usize = 1000;

    /// All of them; a language's place in this list is its number in the index.
    pub const ALL: &[Language] = Self::VARIANTS;

    /// By its code of two letters (ISO 639-1), whatever region follows (`de`, `DE-at`, `pt_BR`).
    pub fn of_code(code: &str) -> Option<Language> {
        let code = code.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        let code = if code == "nb" || code == "nn" { "no" } else { &code };
        Language::ALL.iter().copied().find(|language| language.code() == code)
    }

    /// Whether it writes a noun with the nouns that describe it as one word (`Haftpflichtversicherung`).
    pub(super) fn joins_nouns(self) -> bool {
        use Language::{Danish, Dutch, Finnish, German, Norwegian, Swedish};
        matches!(self, German | Dutch | Swedish | Norwegian | Danish | Finnish)
    }

    /// Its code of two letters (ISO 639-1).
    pub fn code(self) -> &'static str {
        self.facts().0
    }

    fn facts(self) -> (&'static str, Algorithm, Lang) {
        match self {
            Language::English => ("en", Algorithm::English, Lang::Eng),
            Language::German => ("de", Algorithm::German, Lang::Deu),
            Language::French => ("fr", Algorithm::French, Lang::Fra),
            Language::Spanish => ("es", Algorithm::Spanish, Lang::Spa),
            Language::Italian => ("it", Algorithm::Italian, Lang::Ita),
            Language::Portuguese => ("pt", Algorithm::Portuguese, Lang::Por),
            Language::Dutch => ("nl", Algorithm::Dutch, Lang::Nld),
            Language::Russian => ("ru", Algorithm::Russian, Lang::Rus),
            Language::Swedish => ("sv", Algorithm::Swedish, Lang::Swe),
            Language::Norwegian => ("no", Algorithm::Norwegian, Lang::Nob),
            Language::Danish => ("da", Algorithm::Danish, Lang::Dan),
            Language::Finnish => ("fi", Algorithm::Finnish, Lang::Fin),
        }
    }

    /// The language of a text; `None` if it is too short to tell, or in a language that is not listed here.
    pub(super) fn of_text(text: &str) -> Option<Language> {
        let text = &text[..text.floor_char_boundary(Self::LOOKED_AT)];
        if text.chars().filter(|c| c.is_alphabetic()).take(LEAST).count() < LEAST {
            return None;
        }
        if is_plainly_english(text) { Some(Language::English) } else { Self::detected(text) }
    }

    /// The same, by the full detector.
    fn detected(text: &str) -> Option<Language> {
        // Russian also counts if the detector is unsure: it is the only language here of its script, and a text taken
        // for another language would not be stemmed at all.
        let sure = |info: &whatlang::Info| info.is_reliable() || info.lang() == Lang::Rus;
        let info = Detector::new().detect(text).filter(sure)?;
        Language::ALL.iter().copied().find(|language| language.facts().2 == info.lang())
    }

    /// The stem, not yet folded, of a word as it is written; `None` if this language's stemmer does not handle it.
    /// [`Language::stem_folded`] handles English.
    pub(super) fn stem(self, word: &str) -> Option<String> {
        if self == Language::English {
            return None;
        }
        let of_script = |c: char| match self {
            Language::Russian => matches!(c, '\u{400}'..='\u{4FF}'),
            _ => c.is_ascii() || matches!(c, '\u{C0}'..='\u{24F}'),
        };
        let word: String = if word.is_ascii() {
            word.to_ascii_lowercase()
        } else {
            word.nfkc().flat_map(char::to_lowercase).nfc().collect()
        };
        let stemmed = word.chars().nth(2).is_some() && word.chars().all(|c| c.is_alphabetic() && of_script(c));
        let stem = stemmed.then(|| Stemmer::new(self.facts().1).stem(&word).into_owned());
        stem.filter(|stem| !stem.is_empty())
    }

    /// The stem of a folded word that [`Language::stem`] did not handle: words of ASCII letters count as English if the
    /// note's own language has another script.
    pub(super) fn stem_folded(self, word: &str) -> Option<String> {
        let english = matches!(self, Language::English | Language::Russian);
        let stemmed = english && word.len() >= 3 && word.bytes().all(|b| b.is_ascii_lowercase());
        let stem = stemmed.then(|| Stemmer::new(Algorithm::English).stem(word).into_owned());
        stem.filter(|stem| !stem.is_empty())
    }
}

#[cfg(test)]
mod tests;
