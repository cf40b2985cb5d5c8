//! Judges which of the questions and terms that a model wrote with a context may be indexed. Rejected ones are left
//! out: they are not worth another call, nor the loss of the context. Pure.

use std::collections::HashSet;

use super::{Material, numbers, phrases, script, tokens, words};
use crate::document::{Document, Passage};
use crate::expansion::{Expansion, MOST_TERMS, QUESTIONS};

/// Characters of a question, and of a term.
const QUESTION_CHARS: std::ops::RangeInclusive<usize> = 8..=200;
const TERM_CHARS: std::ops::RangeInclusive<usize> = 2..=60;

/// The questions and terms of a passage that may be indexed. Each is judged alone: it is dropped if it is not plain
/// text, holds numbers that the note does not, or repeats an earlier one. A question is also dropped if it shares no
/// content word with the note, or stands word for word in the passage. If the questions are in another language than
/// the note, all questions and terms are dropped.
pub fn judge_expansion(written: &Expansion, document: &Document, passage: &Passage) -> Expansion {
    if written.is_empty() {
        return Expansion::default();
    }
    let material = Material::of(document, passage);
    let (vocabulary, own) = (words::Terms::vocabulary(&material.note), tokens(material.passage));
    let judge = Judge { material, vocabulary, own };
    let questions = distinct(&written.questions, QUESTIONS.1, |text| judge.takes_question(text));
    let terms = distinct(&written.terms, MOST_TERMS, |text| judge.takes_term(text));
    if script::other_language(&questions.join(" "), &judge.material.note, judge.material.passage) {
        return Expansion::default();
    }
    Expansion { questions, terms }
}

struct Judge<'a> {
    material: Material<'a>,
    /// Words of the note.
    vocabulary: words::Terms,
    /// The passage, word by word.
    own: Vec<String>,
}

impl Judge<'_> {
    fn takes_question(&self, text: &str) -> bool {
        let words = tokens(text);
        QUESTION_CHARS.contains(&text.chars().count())
            && self.is_plain(text)
            && !phrases::is_refusal(text, &self.material.note)
            && words::Terms::content(text).shared(&self.vocabulary) > 0
            && !self.own.windows(words.len().max(1)).any(|run| run == words)
    }

    fn takes_term(&self, text: &str) -> bool {
        TERM_CHARS.contains(&text.chars().count()) && text.chars().any(char::is_alphanumeric) && self.is_plain(text)
    }

    fn is_plain(&self, text: &str) -> bool {
        let Material { note, date, .. } = &self.material;
        !phrases::is_garbled(text)
            && !text.contains(['<', '>', '⟦', '⟧', '\n'])
            && !phrases::is_leak(text, note)
            && !script::other_script(text, note)
            && !numbers::invented(text, note, *date)
    }
}

/// The first texts that are taken, each once.
fn distinct(texts: &[String], most: usize, takes: impl Fn(&str) -> bool) -> Vec<String> {
    let mut known = HashSet::new();
    let mut is_new = |text: &&String| known.insert(tokens(text));
    texts.iter().filter(|text| takes(text)).filter(&mut is_new).take(most).cloned().collect()
}

#[cfg(test)]
mod tests;
