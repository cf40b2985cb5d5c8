//! Words of queries and names, as far as comparing and choosing them needs.

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// The words of a text in lower case, compatibility composed.
pub(super) fn words(text: &str) -> Vec<String> {
    let folded: String = text.nfkc().collect::<String>().to_lowercase();
    folded.unicode_words().map(str::to_owned).collect()
}

/// A key that texts share if they differ only in case, punctuation and spaces.
pub(super) fn key(text: &str) -> String {
    words(text).join(" ")
}

#[cfg(test)]
mod tests;
