//! The line in which a query is typed: text and cursor, moved and edited by whole characters as a person sees them.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::cli::print::printable;

/// Longer queries are cut: users do not type them, and a paste of a book is a mistake.
const MOST_BYTES: usize = 4096;

/// A line that is being typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    text: String,
    /// A byte position, always between two characters.
    cursor: usize,
}

impl Line {
    /// What is typed.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text before the cursor.
    pub(super) fn before(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts text at the cursor, without what a terminal must not get. Returns whether anything changed.
    pub(super) fn insert(&mut self, text: &str) -> bool {
        let text = printable(text);
        let room = MOST_BYTES.saturating_sub(self.text.len());
        let end = text.grapheme_indices(true).map(|(at, g)| at + g.len()).take_while(|end| *end <= room).last();
        let text = &text[..end.unwrap_or(0)];
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        !text.is_empty()
    }

    /// Removes the text between the cursor and a place. Returns whether anything changed.
    pub(super) fn remove(&mut self, to: Move) -> bool {
        let other = self.place(to);
        let range = self.cursor.min(other)..self.cursor.max(other);
        self.cursor = range.start;
        self.text.drain(range.clone());
        !range.is_empty()
    }

    /// Moves the cursor.
    pub(super) fn go(&mut self, to: Move) {
        self.cursor = self.place(to);
    }

    fn place(&self, to: Move) -> usize {
        let (before, after) = self.text.split_at(self.cursor);
        match to {
            Move::Start => 0,
            Move::End => self.text.len(),
            Move::Back => before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at),
            Move::Forward => self.cursor + after.graphemes(true).next().map_or(0, str::len),
            Move::WordBack => {
                let word = before.trim_end();
                word.rfind(char::is_whitespace).map_or(0, |at| at + word[at..].chars().next().map_or(0, char::len_utf8))
            }
            Move::WordForward => {
                let gap = after.len() - after.trim_start().len();
                let word = &after[gap..];
                self.cursor + gap + word.find(char::is_whitespace).unwrap_or(word.len())
            }
        }
    }
}

/// Where a cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// One character to the left.
    Back,
    /// One to the right.
    Forward,
    /// To the beginning of the word.
    WordBack,
    /// To its end.
    WordForward,
    /// To the beginning of the line.
    Start,
    /// To its end.
    End,
}

#[cfg(test)]
mod tests;
