//! A prompt in the user's own words, filled in.

use super::render::{self, Keep, Meter};
use crate::document::{Document, Passage};
use crate::own_prompt::{OwnPrompt, Part, Place};

/// A prompt with its placeholders filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filled {
    /// What is the same for every passage of a note.
    pub(super) prefix: String,
    /// The rest, from the passage on.
    pub(super) task: String,
    /// Whether the note or the passage had to be cut.
    pub(super) cut: bool,
}

/// Fills in a note and one of its passages, cutting both so that they fit into `room` tokens.
pub(super) fn fill(
    own_prompt: &OwnPrompt,
    document: &Document,
    passage: &Passage,
    words: (u32, u32),
    room: u32,
    meter: Meter,
) -> Filled {
    let text = render::escaped(document.passage_text(passage));
    let (chunk, chunk_cut) = meter.fit(&text, room / 3, Keep::Ends);
    // Cut in the same way for every passage, so that a provider can cache it.
    let whole = render::escaped(&document.text);
    let (note, note_cut) = meter.fit(&whole, room - room / 3, Keep::Ends);
    let mut filled = Filled { prefix: String::new(), task: String::new(), cut: chunk_cut };
    let mut own = false;
    for part in own_prompt.parts() {
        own |= *part == Part::Place(Place::Chunk);
        let out = if own { &mut filled.task } else { &mut filled.prefix };
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Place(Place::Document) => {
                filled.cut |= note_cut;
                out.push_str(&note);
            }
            Part::Place(Place::Chunk) => out.push_str(&chunk),
            Part::Place(Place::Title) => out.push_str(&render::one_line(&document.title, 200)),
            Part::Place(Place::Type) => {
                out.push_str(&render::one_line(document.kind.as_deref().unwrap_or("note"), 60));
            }
            Part::Place(Place::Tags) => out.push_str(&render::one_line(&document.tags.join(", "), 300)),
            Part::Place(Place::Path) => out.push_str(&render::one_line(&document.path, 300)),
            Part::Place(Place::MinWords) => out.push_str(&words.0.to_string()),
            Part::Place(Place::MaxWords) => out.push_str(&words.1.to_string()),
        }
    }
    filled
}

#[cfg(test)]
mod tests;
