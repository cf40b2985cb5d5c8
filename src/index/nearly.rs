//! The index's dictionary, read in order: the words that begin with something, and names written almost like a word.

use std::collections::HashMap;

use tantivy::schema::Field;

use super::LexicalError;
use super::documents::View;

/// Words of a segment's dictionary that are looked at for a beginning: all, unless it is one or two letters of a large
/// vault. A word takes about 50 ns.
const MOST_SEEN: usize = 8192;
/// Characters of a word that may have one slip, and of one that may have two.
const ONE_SLIP: usize = 4;
const TWO_SLIPS: usize = 8;

impl View {
    /// The words of a field that begin with `text`, and in how many documents they are: the `most` most frequent ones.
    pub(super) fn beginning_with(
        &self,
        field: Field,
        text: &str,
        most: usize,
    ) -> Result<Vec<(String, u64)>, LexicalError> {
        let mut found: HashMap<String, u64> = HashMap::new();
        for reader in self.searcher.segment_readers() {
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

    /// The word of a title, an alias or a heading that differs from `word` (a normal form without a language) by one slip,
    /// or by two if it is long: a letter too many, too few, another one, or two that changed places (Damerau, CACM
    /// 1964, in the restricted form). Of several the nearest, then the most frequent.
    pub(super) fn nearly(&self, word: &str) -> Result<Option<String>, LexicalError> {
        let length = word.chars().count();
        if length < ONE_SLIP || !word.chars().all(char::is_alphabetic) {
            return Ok(None);
        }
        let slips = if length < TWO_SLIPS { 1 } else { 2 };
        // A character has at most four bytes.
        let bytes = word.len().saturating_sub(4 * slips)..=word.len() + 4 * slips;
        let mut found: HashMap<String, (usize, u64)> = HashMap::new();
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(self.fields.names)?;
            let mut stream = index.terms().stream()?;
            while stream.advance() {
                let Some(name) = Some(stream.key()).filter(|key| bytes.contains(&key.len())) else { continue };
                let Ok(name) = std::str::from_utf8(name) else { continue };
                let count = u64::from(stream.value().doc_freq);
                if let Some((_, known)) = found.get_mut(name) {
                    *known += count;
                } else if name.chars().count().abs_diff(length) <= slips {
                    let distance = strsim::osa_distance(word, name);
                    if distance <= slips {
                        found.insert(name.to_owned(), (distance, count));
                    }
                }
            }
        }
        let best = found.into_iter().min_by(|(a, (far_a, count_a)), (b, (far_b, count_b))| {
            far_a.cmp(far_b).then(count_b.cmp(count_a)).then_with(|| a.cmp(b))
        });
        Ok(best.map(|(name, _)| name))
    }
}
