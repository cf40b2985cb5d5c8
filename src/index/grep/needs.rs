//! What trigrams a text must hold for a pattern to match in it, after Russ Cox, "Regular Expression Matching with a
//! Trigram Index" (2012): for each part of the pattern this module keeps either all the texts that the part matches, if
//! they are few, or a formula over trigrams.
//!
//! Case is ignored here even if the pattern is case-sensitive: signatures have no capitals.

use std::collections::BTreeSet;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::signature::{Signature, Trigram, trigrams};

/// Most texts that are kept for a part; for more, only the trigrams that they need.
const MOST_TEXTS: usize = 16;

/// A formula over trigrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// This one.
    Trigram(Trigram),
    /// Each of these; nothing, if there are none.
    All(Vec<Needs>),
    /// One of these.
    Any(Vec<Needs>),
}

/// What a part of a pattern matches.
enum Part {
    /// Exactly these texts, apart from case.
    Texts(BTreeSet<Vec<u8>>),
    /// Only texts that meet these needs.
    Needs(Needs),
}

impl Needs {
    const NOTHING: Needs = Needs::All(Vec::new());

    /// The needs of a regular expression; nothing, if it cannot be parsed.
    pub(super) fn of_pattern(pattern: &str) -> Self {
        // Parsed as grep-regex does when it ignores case.
        let mut parser = ParserBuilder::new().case_insensitive(true).multi_line(true).utf8(false).build();
        parser.parse(pattern).map_or(Needs::NOTHING, |hir| part(&hir).needs())
    }

    /// The needs of a literal text; if it has several lines, a match of any of them is enough.
    pub(super) fn of_text(text: &str) -> Self {
        any(text.lines().map(|line| Needs::of_pattern(&regex_syntax::escape(line))))
    }

    /// The needs of one text: all its trigrams.
    fn of_one(text: impl AsRef<[u8]>) -> Self {
        Needs::All(trigrams(text.as_ref()).collect::<BTreeSet<_>>().into_iter().map(Needs::Trigram).collect())
    }

    pub(super) fn are_met_by(&self, signature: &Signature) -> bool {
        match self {
            Needs::Trigram(trigram) => signature.may_hold(*trigram),
            Needs::All(all) => all.iter().all(|needs| needs.are_met_by(signature)),
            Needs::Any(any) => any.iter().any(|needs| needs.are_met_by(signature)),
        }
    }
}

/// The needs where one of several is enough: nothing, if one of them needs nothing.
fn any(several: impl Iterator<Item = Needs>) -> Needs {
    let several: Vec<Needs> = several.collect();
    if several.contains(&Needs::NOTHING) { Needs::NOTHING } else { Needs::Any(several) }
}

impl Part {
    fn empty() -> Self {
        Part::Texts(BTreeSet::from([Vec::new()]))
    }

    const fn unknown() -> Self {
        Part::Needs(Needs::NOTHING)
    }

    fn needs(self) -> Needs {
        match self {
            Part::Texts(texts) => any(texts.into_iter().map(Needs::of_one)),
            Part::Needs(needs) => needs,
        }
    }
}

fn part(hir: &Hir) -> Part {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Part::empty(),
        HirKind::Literal(literal) => Part::Texts(BTreeSet::from([literal.0.to_ascii_lowercase()])),
        HirKind::Class(class) => of_class(class),
        HirKind::Capture(capture) => part(&capture.sub),
        HirKind::Repetition(repetition) => match (repetition.min, repetition.max) {
            (0, Some(0)) => Part::empty(),
            (0, Some(1)) => either([Part::empty(), part(&repetition.sub)]),
            (0, _) => Part::unknown(),
            (1, Some(1)) => part(&repetition.sub),
            // A match holds it at least once.
            _ => Part::Needs(part(&repetition.sub).needs()),
        },
        HirKind::Alternation(several) => either(several.iter().map(part)),
        HirKind::Concat(several) => in_a_row(several.iter().map(part)),
    }
}

/// The characters of a class, if they are few.
fn of_class(class: &Class) -> Part {
    let mut texts = BTreeSet::new();
    let mut add = |text: &[u8]| {
        texts.insert(text.to_ascii_lowercase());
        texts.len() <= MOST_TEXTS
    };
    let few = match class {
        Class::Unicode(class) => {
            let mut chars = class.iter().flat_map(|range| range.start()..=range.end());
            chars.all(|c| add(c.encode_utf8(&mut [0; 4]).as_bytes()))
        }
        Class::Bytes(class) => class.iter().flat_map(|range| range.start()..=range.end()).all(|byte| add(&[byte])),
    };
    if few { Part::Texts(texts) } else { Part::unknown() }
}

/// One part or another.
fn either(several: impl IntoIterator<Item = Part>) -> Part {
    let several: Vec<Part> = several.into_iter().collect();
    let mut all = BTreeSet::new();
    for part in &several {
        match part {
            Part::Texts(texts) if all.len() + texts.len() <= MOST_TEXTS => all.extend(texts.iter().cloned()),
            _ => return Part::Needs(any(several.into_iter().map(Part::needs))),
        }
    }
    Part::Texts(all)
}

/// Parts one behind the other; the texts of neighbours are joined while they are few.
fn in_a_row(several: impl Iterator<Item = Part>) -> Part {
    let mut needs = Vec::new();
    let mut row = BTreeSet::from([Vec::new()]);
    let mut ended = |row: BTreeSet<Vec<u8>>| needs.push(Part::Texts(row).needs());
    let mut exact = true;
    let mut others = Vec::new();
    for part in several {
        match part {
            Part::Texts(texts) if row.len() * texts.len() <= MOST_TEXTS => row = joined(&row, &texts),
            Part::Texts(texts) => {
                exact = false;
                ended(std::mem::replace(&mut row, texts));
            }
            Part::Needs(part) => {
                exact = false;
                ended(std::mem::replace(&mut row, BTreeSet::from([Vec::new()])));
                others.push(part);
            }
        }
    }
    if exact {
        return Part::Texts(row);
    }
    ended(row);
    needs.append(&mut others);
    needs.retain(|needs| *needs != Needs::NOTHING);
    Part::Needs(Needs::All(needs))
}

fn joined(before: &BTreeSet<Vec<u8>>, after: &BTreeSet<Vec<u8>>) -> BTreeSet<Vec<u8>> {
    before.iter().flat_map(|one| after.iter().map(|other| [&one[..], other].concat())).collect()
}

#[cfg(test)]
mod tests;
