//! What a server on loopback says about passages in the place of a model.

/// Words of a caption: what a model writes when it is asked for 20 to 60.
const WORDS: usize = 40;

/// A caption in the passage's own words and its note's, as long as a model's.
pub(crate) fn caption(document: &str, passage: &str) -> String {
    let words = |text: &str| -> String {
        let long = text.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().count() > 3);
        long.take(WORDS / 2).collect::<Vec<_>>().join(" ")
    };
    let title = document.split_once("title=\"").and_then(|(_, rest)| rest.split('"').next()).unwrap_or("The note");
    let body = document.split_once('>').map_or(document, |(_, body)| body);
    format!("{title}: {}. It belongs with {}.", words(passage), words(body))
}
