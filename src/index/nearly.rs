//! Searches of the index's dictionary: for words with a given beginning, and for words spelt almost like another.

use std::collections::{BTreeSet, HashMap, HashSet};

use tantivy::schema::Field;

use super::LexicalError;
use super::documents::View;
use super::outlines::Outlines;

/// Most words of a segment's dictionary that are read for a beginning: all, unless it is one or two letters in a large
/// vault. A word takes about 50 ns.
const MOST_SEEN: usize = 8192;
/// Least characters of a word that may have one slip, and of a word that may have two.
const ONE_SLIP: usize = 4;
const TWO_SLIPS: usize = 8;
/// Least characters of a word that is recognised with other letters than its own: nearly every short word is like another
/// by chance (`wald`, `walk`).
const OTHER_LETTERS: usize = 5;
/// Characters of the longest word that is compared.
const LONGEST: usize = 32;
/// Most similar words that are weighed against each other.
const MOST_SIMILAR: usize = 64;

/// The `most` most frequent words of a field that begin with `text`, each with the number of documents of all views
/// that have it.
pub(super) fn beginning_with(
    views: &[&View],
    field: Field,
    text: &str,
    most: usize,
) -> Result<Vec<(String, u64)>, LexicalError> {
    let mut found: HashMap<String, u64> = HashMap::new();
    for reader in views.iter().flat_map(|view| view.searcher.segment_readers()) {
        let index = reader.inverted_index(field)?;
        let mut stream = index.terms().range().ge(text.as_bytes()).into_stream()?;
        let mut seen = 0;
        while seen < MOST_SEEN && stream.advance() {
            match std::str::from_utf8(stream.key()) {
                Ok(key) if key.starts_with(text) => {
                    let count = u64::from(stream.value().doc_freq);
                    match found.get_mut(key) {
                        Some(known) => *known += count,
                        None => drop(found.insert(key.to_owned(), count)),
                    }
                }
                _ => break,
            }
            seen += 1;
        }
    }
    let mut found: Vec<(String, u64)> = found.into_iter().collect();
    found.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(most);
    Ok(found)
}

/// A word of the vault that is spelt almost like another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Similar {
    /// Its normal form without a language.
    pub(super) text: String,
    /// The number of slips by which it differs.
    pub(super) slips: usize,
}

/// The words that differ from `word` (a normal form without a language) by one slip, or by two if it is long: a letter
/// too many, too few or wrong, or two letters transposed (Damerau, CACM 1964); of short words only those with the same
/// letters, in another order or doubled. At most [`MOST_SIMILAR`], the nearest
/// first.
pub(super) fn similar(views: &[&View], word: &str) -> Result<Vec<Similar>, LexicalError> {
    let length = word.chars().count();
    if !(ONE_SLIP..=LONGEST).contains(&length) || !word.chars().all(char::is_alphabetic) {
        return Ok(Vec::new());
    }
    let slips = if length < TWO_SLIPS { 1 } else { 2 };
    let found = spelled(views, |outlines| outlines.near(word, slips), |_| true)?;
    let of = |text: String| Similar { slips: strsim::osa_distance(word, &text), text };
    let mut similar: Vec<Similar> = found.into_iter().map(of).collect();
    let letters = |text: &str| text.chars().collect::<BTreeSet<char>>();
    similar.retain(|Similar { text, slips: count }| {
        *count <= usize::from(slips) && (text.chars().count() >= OTHER_LETTERS || letters(text) == letters(word))
    });
    similar.sort_unstable_by(|a, b| a.slips.cmp(&b.slips).then_with(|| a.text.cmp(&b.text)));
    similar.truncate(MOST_SIMILAR);
    Ok(similar)
}

/// The spellings in the views' dictionaries at the places that `places` chooses by their outlines, as far as they are
/// wanted; each once.
pub(super) fn spelled(
    views: &[&View],
    places: impl Fn(&Outlines) -> Vec<u64>,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<HashSet<String>, LexicalError> {
    let (mut found, mut spelling) = (HashSet::new(), Vec::new());
    for view in views {
        for (segment, reader) in view.searcher.segment_readers().iter().enumerate() {
            let index = reader.inverted_index(view.fields.spellings)?;
            for place in places(view.outlines(segment, index.terms())?) {
                if index.terms().ord_to_term(place, &mut spelling)?
                    && let Ok(text) = std::str::from_utf8(&spelling)
                    && is_wanted(text)
                {
                    found.insert(text.to_owned());
                }
            }
        }
    }
    Ok(found)
}
