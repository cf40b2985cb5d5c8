//! Slips of the hand: a seeded program misspells one word of a query, in one of the four ways that make most slips
//! (Damerau, "A Technique for Computer Detection and Correction of Spelling Errors", CACM 1964).

use crate::common::rng::Rng;

/// Letters of a word that may be misspelt.
const LEAST: usize = 5;

/// The text with one slip in one of its longer words; as it is if it has none. Words of ASCII letters alone, so that a slip
/// is a letter of the same script.
pub(crate) fn misspelt(text: &str, rng: &mut Rng) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let is_long = |word: &String| word.len() >= LEAST && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let long: Vec<usize> = (0..words.len()).filter(|at| is_long(&words[*at])).collect();
    if !long.is_empty() {
        let at = *rng.pick(&long);
        words[at] = slip(&words[at], rng);
    }
    words.join(" ")
}

/// A word of ASCII letters with one slip behind its first letter.
fn slip(word: &str, rng: &mut Rng) -> String {
    let mut letters = word.as_bytes().to_vec();
    let at = rng.between(1, letters.len() - 2);
    let other = b'a' + rng.below(26) as u8;
    match rng.below(4) {
        0 => letters.swap(at, at + 1),
        1 => drop(letters.remove(at)),
        2 => letters.insert(at, other),
        _ => letters[at] = other,
    }
    String::from_utf8_lossy(&letters).into_owned()
}
