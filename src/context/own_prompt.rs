//! A prompt in the user's own words, with placeholders: `{document}`, `{chunk}`, `{title}`, `{type}`, `{tags}`,
//! `{path}`, `{min_words}`, `{max_words}`. Other braces stand for themselves. Pure.

use strum::{EnumString, VariantNames};

/// Presets by name, in the shapes that the documents of the specification give: S0's and S2's.
pub const PRESETS: [(&str, &str); 2] = [
    (
        "situate",
        "<document>\n{document}\n</document>\nOne part of it is to be found by a search:\n<chunk>\n{chunk}\n</chunk>\nSay \
         in one or two sentences where this part stands in the whole document and what it is about. Write out what it only \
         hints at: abbreviations, and whom or what \"he\", \"it\" or \"they\" stand for. Answer with these sentences and \
         nothing else.",
    ),
    (
        "prefix",
        "Document title: {title}\nDocument type: {type}\nTags: {tags}\n\nThe document:\n{document}\n\nA passage of it:\n\
         {chunk}\n\nWrite {min_words} to {max_words} words that are put before the passage when it is indexed: what it is \
         about, how it belongs to the rest of the document, and the key terms of its field that somebody might search for. \
         Be specific. Answer with this text only.",
    ),
];

/// What a name in braces stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Place {
    Document,
    Chunk,
    Title,
    Type,
    Tags,
    Path,
    MinWords,
    MaxWords,
}

/// A piece of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Place(Place),
}

/// A prompt as the user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPrompt {
    text: String,
    parts: Vec<Part>,
}

impl OwnPrompt {
    /// Reads a prompt.
    ///
    /// # Errors
    /// What is wrong with it: a name in braces that nobody knows, or no `{chunk}`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let (mut plain, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            plain.push_str(before);
            let name = after.split_once('}').map(|(name, _)| name).filter(|name| is_name(name));
            let Some(name) = name else {
                plain.push('{');
                rest = after;
                continue;
            };
            let place = name.parse().map_err(|_| unknown(name))?;
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Place(place));
            rest = after.get(name.len() + 1..).unwrap_or_default();
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        if !parts.contains(&Part::Place(Place::Chunk)) {
            return Err("it has no {chunk}: the model would not see what it is to write about".to_owned());
        }
        Ok(OwnPrompt { text: text.to_owned(), parts })
    }

    /// The preset of a name.
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(known, _)| *known == name)?;
        OwnPrompt::parse(text).ok()
    }

    /// As the user wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Text and places, in order.
    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }
}

/// Whether the text in braces was meant as the name of a placeholder.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 40 && text.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
}

fn unknown(name: &str) -> String {
    let names = Place::VARIANTS;
    let meant = protocol::nearest::nearest(&name.to_lowercase(), names.iter().copied());
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {{{meant}}}?"));
    let all: Vec<String> = names.iter().map(|name| format!("{{{name}}}")).collect();
    format!("there is no {{{name}}}{meant} (there is {})", all.join(" "))
}
