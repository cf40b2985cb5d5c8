//! The index's dictionary, read in order: the words that begin with something, and names written almost like a word.

use std::collections::HashMap;

use tantivy::schema::Field;

use super::LexicalError;
use super::documents::{View, letters};

/// Words of a segment's dictionary that are looked at for a beginning: all, unless it is one or two letters of a large
/// vault. A word takes about 50 ns.
const MOST_SEEN: usize = 8192;
/// Characters of a word that may have one slip, and of one that may have two.
const ONE_SLIP: usize = 4;
const TWO_SLIPS: usize = 8;

/// The words of a field that begin with `text`, and in how many documents of all views they are: the `most` most frequent
/// ones.
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

/// The word of a title, an alias or a heading that differs from `word` (a normal form without a language) by one slip, or
/// by two if it is long: a letter too many, too few, another one, or two that changed places (Damerau, CACM 1964, in the
/// restricted form). Of several the nearest, then the one that is most frequent in all views together.
pub(super) fn nearly(views: &[&View], word: &str) -> Result<Option<String>, LexicalError> {
    let length = word.chars().count();
    if length < ONE_SLIP || !word.chars().all(char::is_alphabetic) {
        return Ok(None);
    }
    let slips = if length < TWO_SLIPS { 1 } else { 2 };
    let own = letters(word);
    let mut found: HashMap<&str, (usize, u64)> = HashMap::new();
    let mut segments = Vec::new();
    for view in views {
        segments.extend(view.names()?);
    }
    for name in segments.iter().flat_map(|names| names.iter()) {
        if (name.letters ^ own).count_ones() as usize > 2 * slips {
            continue;
        }
        if let Some((_, known)) = found.get_mut(&*name.text) {
            *known += name.count;
        } else if name.text.chars().count().abs_diff(length) <= slips {
            let distance = strsim::osa_distance(word, &name.text);
            if distance <= slips {
                found.insert(&name.text, (distance, name.count));
            }
        }
    }
    let best = found.into_iter().min_by(|(a, (far_a, count_a)), (b, (far_b, count_b))| {
        far_a.cmp(far_b).then(count_b.cmp(count_a)).then(a.cmp(b))
    });
    Ok(best.map(|(name, _)| name.to_owned()))
}
