//! Numbers that notes write otherwise than a query: apart from their unit or together with it (`400mg`, `400 mg`), with
//! separators of thousands (`17480`, `17.480`), in groups (`+46705550123`, `+46 70 555 01 23`), or at the end of a name
//! (`solnit`, `@solnit2000`).

use std::ops::Range;

use tantivy::Term;

use super::super::LexicalError;
use super::super::corpus::Corpus;
use super::super::nearly::beginning_with;
use super::super::query::{As, AskedWord};
use super::{Also, Corrected, Language, MOST_COMPLETED};

/// Most letters of a unit.
const UNIT: usize = 4;
/// Digits of a number that may have separators of thousands.
const GROUPED: Range<usize> = 4..13;
/// Least digits of a number that may be written in groups.
const LEAST_IN_GROUPS: usize = 7;
/// Beginnings of such a number that are looked up as phrases.
const MOST_BEGINNINGS: usize = 64;
/// Least letters of a name that notes have with a number, and most digits of the number: a year.
const NAME: usize = 3;
const MOST_DIGITS: usize = 4;

impl Corpus<'_> {
    /// How notes that the asker may see write a word otherwise; `None` if they do not.
    pub(super) fn glued(
        &self,
        asked: &[AskedWord],
        at: usize,
        typed: &str,
        languages: &[Language],
    ) -> Result<Option<Also>, LexicalError> {
        let Some(word) = asked.get(at) else { return Ok(None) };
        let phrase = match apart(&word.plain) {
            Some(phrase) if self.shows_phrase(&phrase)? => Some(phrase),
            _ => self.in_groups(&word.plain)?,
        };
        let forms = match asked.get(at + 1) {
            Some(unit) if is_unit(word, unit, typed) => {
                self.forms(&format!("{}{}", word.plain, unit.plain), languages)?.0
            }
            _ => Vec::new(),
        };
        let is_found = phrase.is_some() || !forms.is_empty();
        let shown = phrase.iter().chain(&forms).cloned().collect();
        let forms = forms.into_iter().map(|form| (form, 1.0)).collect();
        Ok(is_found.then(|| Also { forms, phrase, shown, ..Also::none(word) }))
    }

    /// The groups in which notes write a long number (a telephone's, an account's), if none has it in one piece.
    fn in_groups(&self, plain: &str) -> Result<Option<String>, LexicalError> {
        let is_number = plain.is_ascii() && plain.bytes().filter(u8::is_ascii_digit).count() >= LEAST_IN_GROUPS;
        let Some(fields) = self.views.first().map(|view| view.fields).filter(|_| is_number) else { return Ok(None) };
        let count = |piece: &str| self.count(&Term::from_field_text(fields.words, piece));
        // What is known to stand somewhere, and how much of the number it is.
        let mut begun = if count(plain)? == 0 { vec![(String::new(), 0)] } else { Vec::new() };
        let mut looked_up = 0;
        while let Some((before, at)) = begun.pop() {
            for end in at + 1..=plain.len() {
                let piece = &plain[at..end];
                if count(piece)? == 0 {
                    continue;
                }
                let groups = if at == 0 { piece.to_owned() } else { format!("{before} {piece}") };
                looked_up += usize::from(at > 0);
                if looked_up > MOST_BEGINNINGS {
                    return Ok(None);
                }
                if at == 0 || self.shows_phrase(&groups)? {
                    if end == plain.len() {
                        return Ok(Some(groups));
                    }
                    // The longest is gone on with first.
                    begun.push((groups, end));
                }
            }
        }
        Ok(None)
    }

    /// The words that a word is together with a number, if no snapshot has it alone.
    pub(super) fn numbered(&self, word: &AskedWord, typed: &str) -> Result<Option<Corrected>, LexicalError> {
        let is_name = word.plain.chars().count() >= NAME && word.plain.chars().all(char::is_alphabetic);
        let Some(fields) = self.views.first().map(|view| view.fields).filter(|_| is_name) else { return Ok(None) };
        let mut forms = Vec::new();
        for (text, _) in beginning_with(&self.views, fields.words, &word.plain, MOST_COMPLETED)? {
            let number = &text[word.plain.len()..];
            let is_number = (1..=MOST_DIGITS).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
            if is_number && self.shows(&Term::from_field_text(fields.words, &text))? {
                forms.push((text, 1.0));
            }
        }
        let Some(name) = forms.first().map(|(name, _)| name.clone()) else { return Ok(None) };
        self.count_as_one(forms.iter().map(|(form, _)| form))?;
        Ok(Some(Corrected::new(word, word.range.clone(), typed, name, forms)))
    }
}

/// Whether these are a number and its unit with a blank between them.
fn is_unit(number: &AskedWord, unit: &AskedWord, typed: &str) -> bool {
    number.plain.bytes().all(|b| b.is_ascii_digit())
        && matches!(unit.as_what, As::Name | As::Unfinished)
        && unit.plain.chars().count() <= UNIT
        && unit.plain.chars().all(char::is_alphabetic)
        && typed.get(number.range.end..unit.range.start) == Some(" ")
}

/// The pieces of a number with letters before it or behind it, or those between its separators of thousands.
fn apart(plain: &str) -> Option<String> {
    let is_digit = |c: char| c.is_ascii_digit();
    if plain.chars().all(is_digit) {
        let first = (plain.len() + 2) % 3 + 1;
        let groups = || std::iter::once(0..first).chain((first..plain.len()).step_by(3).map(|at| at..at + 3));
        return (GROUPED.contains(&plain.len()) && !plain.starts_with('0'))
            .then(|| groups().map(|range| &plain[range]).collect::<Vec<_>>().join(" "));
    }
    let begins = plain.starts_with(is_digit);
    let at = plain.find(|c| is_digit(c) != begins)?;
    let (left, right) = plain.split_at(at);
    let are_pure =
        |text: &str, digits: bool| text.chars().all(|c| if digits { is_digit(c) } else { c.is_alphabetic() });
    (are_pure(left, begins) && are_pure(right, !begins)).then(|| format!("{left} {right}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_apart() {
        for (plain, expected) in [
            ("400mg", Some("400 mg")),
            ("ral7016", Some("ral 7016")),
            ("350f", Some("350 f")),
            ("1299", Some("1 299")),
            ("17480", Some("17 480")),
            ("210300", Some("210 300")),
            ("1000000", Some("1 000 000")),
            ("299", None),
            ("0049", None),
            ("a1b2", None),
            ("word", None),
            ("", None),
            ("1234567890123", None),
        ] {
            assert_eq!(apart(plain).as_deref(), expected, "{plain}");
        }
    }
}
