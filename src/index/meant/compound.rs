//! Words that have another at their end: German, Dutch, Finnish and the languages of Scandinavia write a noun with what
//! describes it as one word, so who asks for `Versicherung` means a passage about a `Haftpflichtversicherung`, too.

use std::collections::{BTreeSet, HashMap};

use tantivy::Term;

use super::super::corpus::Corpus;
use super::super::nearly::spelled;
use super::super::query::AskedWord;
use super::super::{Language, LexicalError};
use super::Also;

/// Weight of the words that end with a word which the vault has as well. Chosen among 0, .1, .15 and .3 by queries of two
/// words (`TRIED.md`).
const ENDING: f32 = 0.1;
/// Weight of words that begin with a word, relative to those that end with it: a `Versicherungspolice` is no insurance.
const BEGINNING: f32 = 0.5;
/// Least letters of a word that is looked for in others, and of what else they have.
const SHORTEST: usize = 5;
const LEAST_MORE: u8 = 3;
/// Least letters of a word that is a part of another: shorter ones are mostly endings and prefixes.
const SHORTEST_PART: usize = 4;
/// Words that have a word in them and are looked up: the most frequent.
const MOST_COMPOUNDS: usize = 16;
/// Chunks of a segment whose languages are looked at to tell where a word is written.
const LOOKED_AT: usize = 8;
/// Most words of a query that are looked for in others: who asks so little wants to see them all.
const FEW_WORDS: usize = 3;

/// A word that has another in it.
pub(super) struct Compound {
    /// Its normal form without a language.
    pub(super) spelling: String,
    /// Its forms that the vault has.
    pub(super) forms: Vec<String>,
    /// How many chunks have it.
    count: u64,
    /// What it weighs relative to others.
    pub(super) weight: f32,
}

impl Corpus<'_> {
    /// The words that end with a word which the vault has; `None` if there are none, or the query has many words.
    pub(super) fn endings(
        &self,
        word: &AskedWord,
        words: usize,
        languages: &[Language],
    ) -> Result<Option<Also>, LexicalError> {
        if words > FEW_WORDS {
            return Ok(None);
        }
        let mut compounds = self.compounds(word, languages)?;
        compounds.retain(|compound| compound.weight >= 1.0);
        if compounds.is_empty() {
            return Ok(None);
        }
        let shown = compounds.iter().map(|compound| compound.spelling.clone()).collect();
        let forms: Vec<String> = compounds.into_iter().flat_map(|compound| compound.forms).collect();
        self.count_as_one(forms.iter())?;
        let forms = forms.into_iter().map(|form| (form, ENDING)).collect();
        Ok(Some(Also { forms, shown, ..Also::none(word) }))
    }

    /// The words that end with a word, and then those that begin with it, the most frequent first; only words that notes in
    /// a language have which joins nouns.
    pub(super) fn compounds(&self, word: &AskedWord, languages: &[Language]) -> Result<Vec<Compound>, LexicalError> {
        let joining: Vec<Language> = languages.iter().copied().filter(|language| language.joins_nouns()).collect();
        let long = |form: &&String| form.chars().count() >= SHORTEST && form.chars().all(char::is_alphabetic);
        let asked = || word.forms.iter().map(|form| &form.text);
        let stem = asked().filter(long).min_by_key(|form| form.len());
        let Some(stem) = stem.filter(|_| !joining.is_empty()) else { return Ok(Vec::new()) };
        let ends = |form: &String| asked().any(|asked| form.ends_with(asked.as_str()));
        let begins = |form: &String| asked().any(|asked| form.starts_with(asked.as_str()));
        let mut found: HashMap<String, Compound> = HashMap::new();
        let holding =
            spelled(&self.views, |outlines| outlines.holding(stem, LEAST_MORE), |text| text.contains(stem.as_str()))?;
        // In order: of two spellings of one form the first is named.
        for spelling in BTreeSet::from_iter(holding) {
            let (mut forms, count) = self.forms(&spelling, &joining)?;
            forms.retain(|form| !asked().any(|asked| asked == form) && (ends(form) || begins(form)));
            let Some(first) = forms.first().cloned() else { continue };
            if !found.contains_key(&first) && self.is_joined(&forms)? {
                let weight = if forms.iter().any(ends) { 1.0 } else { BEGINNING };
                found.insert(first, Compound { spelling, forms, count, weight });
            }
        }
        let mut found: Vec<Compound> = found.into_values().collect();
        found.sort_unstable_by(|a, b| {
            b.weight.total_cmp(&a.weight).then(b.count.cmp(&a.count)).then_with(|| a.spelling.cmp(&b.spelling))
        });
        found.truncate(MOST_COMPOUNDS);
        Ok(found)
    }

    /// From now on each form scores as if it were in all the chunks that have any of them: they count as one word with many
    /// spellings, or else the rarest of them would count most.
    pub(super) fn count_as_one<'f>(&self, forms: impl Iterator<Item = &'f String> + Clone) -> Result<(), LexicalError> {
        let Some(fields) = self.views.first().map(|view| view.fields) else { return Ok(()) };
        let term = |form: &String| Term::from_field_text(fields.words, form);
        let together = forms.clone().map(|form| self.count(&term(form))).sum::<Result<u64, _>>()?;
        forms.map(term).try_for_each(|term| self.set(&term, together))
    }

    /// Whether two words, each with its forms, may be written as one.
    pub(super) fn makes_a_word(
        &self,
        (left, left_forms): (&str, &[String]),
        (right, right_forms): (&str, &[String]),
    ) -> Result<bool, LexicalError> {
        let are_long = [left, right].iter().all(|part| part.chars().count() >= SHORTEST_PART);
        Ok(are_long && self.is_joined(left_forms)? && self.is_joined(right_forms)?)
    }

    /// Whether one of the forms is written in a language that joins nouns.
    fn is_joined(&self, forms: &[String]) -> Result<bool, LexicalError> {
        for view in &self.views {
            for form in forms {
                let mut segments = view.languages_of(&Term::from_field_text(view.fields.words, form))?.into_iter();
                if segments.any(|languages| languages.take(LOOKED_AT).any(Language::joins_nouns)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
