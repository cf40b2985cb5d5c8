//! Words of queries and names, as far as comparing and choosing them needs.

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// The words of a text in lower case, compatibility composed.
pub(super) fn words(text: &str) -> Vec<String> {
    let folded: String = text.nfkc().collect::<String>().to_lowercase();
    folded.unicode_words().map(str::to_owned).collect()
}

/// What two texts have in common that read the same but for case, punctuation and spaces.
pub(super) fn key(text: &str) -> String {
    words(text).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        for (a, b) in [("The  Tide, Table", "the tide table"), ("Übersicht", "u\u{308}BERSICHT"), ("ﬁre!", "Fire")] {
            assert_eq!(key(a), key(b), "{a}");
        }
        assert_ne!(key("tide table"), key("tidetable"));
        assert_eq!(key("—…!"), "");
        assert_eq!(words("潮汐 2026").len(), 3);
    }
}
