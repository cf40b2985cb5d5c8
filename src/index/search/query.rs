//! The query language. Everything within the limits ([`super::limits`]) parses: what is malformed becomes words and a warning.
//!
//! ```text
//! free words          found by meaning and by words; no word has to occur
//! "a phrase"          must occur: these words in a row, each in any of its forms
//! +word               must occur, in any of its forms
//! /a regex/           a line of the text must match it; smart case
//! -word  -"a phrase"  must not occur; -/a regex/ neither
//! "📅"  +📅  -📅      signs that are no words: a line must have them as they are, or none may
//! tag:a               tag `a` or below it (`a/b`); tag:(a OR b) is (tag:a OR tag:b), and so of every field
//! path:Work           the folder, a note in it, or a glob (`path:**/archive/*`)
//! type:daily          kind of note
//! vault:Work          notes of this vault, or of this team
//! link:Note           notes that link to `Note`
//! linked-from:Note    notes that `Note` links to
//! prop.status:done    a property of front matter or text: also prop.priority:>2, prop.due:<2026-12
//! [status]  [status:done]  as Obsidian writes it: the note has it; it is `done`
//! after:2026-11  before:7d  on:yesterday  in:march  last:week    the note's day
//! a AND b   a OR b   NOT a   (a OR b) AND tag:c    what must be met, or not ([`boolean`])
//! created:2025  modified:today  modified:>=2026  modified:<1y
//! ```
//!
//! `[status]`, `-word`, NOT and the operators beside it are words instead where the notes show that a text was pasted
//! ([`super::settled`]).
//!
//! Values with blanks are quoted (`tag:"two words"`); `-` before a condition turns it around, but not before a date.

mod boolean;
mod field;
mod keyboard;
mod slashed;
mod unknown;

use std::ops::Range;

use jiff::civil::Date;

pub use self::boolean::Required;
use self::field::{Field, bracketed, condition, dated_end, of_field, unquoted};
pub use self::slashed::LinePattern;
use super::Options;
use super::filter::Filter;
use super::limits::{Counted, MAX_BYTES, TooMuch};
use note::Private;

use crate::{Choice, Corpus, LexicalError, LexicalQuery, Meant, Snapshot, is_stop_word};

/// A query understood.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The free words, separated by blanks.
    pub words: String,
    /// What must occur: words in a row, each in any of its forms.
    pub phrases: Vec<String>,
    /// Words and phrases that must not occur.
    pub without: Vec<String>,
    /// Regular expressions, and signs that are no words, and whether a line of the text is to match (`true`) or none.
    pub patterns: Vec<(bool, LinePattern)>,
    /// Conditions on the note.
    pub filter: Filter,
    /// What AND, OR and NOT ask for.
    pub required: Option<Required>,
    /// What was not understood, for the user; may quote the query.
    pub warnings: Vec<String>,
    /// What may be text that was pasted, and no condition.
    pub doubtful: Doubtful,
    /// The bytes of the words that were read as a time ([`asked`](super::asked())). Set by [`Parsed::read_time`].
    pub time: Option<Range<usize>>,
    /// Whether the last word is still being typed, so that words that begin with it are found too. Set by the caller.
    pub prefix: bool,
    /// What its words stand for, if [`Parsed::understand`] has looked it up.
    pub meant: Option<Meant>,
    /// Whether it has signs (`->`) that were passed over.
    pub signs: bool,
    /// What is counted against the limits. A caller that adds conditions to [`Parsed::filter`] counts them here.
    pub counted: Counted,
}

/// Conditions of a query that a pasted text may have as words: `[ERROR] refused`, `rsync -avz`, `x IS NOT NULL`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubtful {
    /// Names of properties in brackets, each with the brackets as typed.
    pub brackets: Vec<(String, String)>,
    /// Words that must not occur, each as typed with the sign that says so.
    pub exclusions: Vec<String>,
}

/// Which of the [`Doubtful`] are words. [`parse`] takes none for words; [`settled`](super::settled) asks the notes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsWords {
    /// Names of properties in brackets that are words.
    pub brackets: Vec<String>,
    /// Whether all exclusions are words.
    pub exclusions: bool,
}

/// Words of a question that are looked up, the rarest. Common ones cost most and say least: no set of questions is answered
/// worse by more than .001 than with all of them, and a pasted passage of 100 words in a quarter of the time.
const RAREST: usize = 16;

/// Words of a question about a time that ask for its notes, whatever they are about; prepositions and articles before a
/// time.
const ABOUT_NOTES: [&str; 28] = [
    "au", "de", "den", "der", "det", "die", "du", "el", "em", "en", "happened", "het", "i", "il", "im", "la", "le",
    "les", "na", "note", "notes", "op", "på", "wrote", "в", "во", "за", "на",
];

/// Further warnings say nothing new.
const MAX_WARNINGS: usize = 8;

/// Understands a query; `today` is what relative dates are reckoned from.
///
/// # Errors
/// The query is over a limit. It is not looked up at all: a part of its conditions would find what the rest forbids.
pub fn parse(query: &str, today: Date) -> Result<Parsed, TooMuch> {
    parse_as(query, today, &AsWords::default())
}

/// As [`parse`]; what else counts as words is said.
///
/// # Errors
/// As [`parse`].
pub fn parse_as(query: &str, today: Date, as_words: &AsWords) -> Result<Parsed, TooMuch> {
    if query.len() > MAX_BYTES {
        return Err(TooMuch::Bytes { given: query.len() });
    }
    let query = &*keyboard::plain(query);
    let mut parser = Parser { parsed: Parsed::default(), unclosed: false, as_words, today };
    if boolean::has_operators(query, as_words) {
        boolean::read(&mut parser, query)?;
    } else {
        parser.tokens(query.trim_start())?;
    }
    let end = parser.parsed.words.trim_end_matches(" -").len();
    parser.parsed.words.truncate(end);
    parser.signs_alone()?;
    Ok(parser.parsed)
}

/// Whether answering a query looks through the texts of all notes that its other conditions admit, for a regular
/// expression or for signs, instead of looking words up.
pub fn reads_all_texts(query: &str) -> bool {
    // Nothing else needs to be read to know it of nearly all queries.
    let may = query.contains('/') || !query.contains(char::is_alphanumeric);
    may && parse(query, Date::ZERO).is_ok_and(|parsed| parsed.ones().any(|(_, one)| !one.patterns.is_empty()))
}

impl Parsed {
    /// What the lexical lane is asked.
    pub fn lexical(&self, contextual: bool) -> LexicalQuery {
        LexicalQuery {
            words: self.words.clone(),
            phrases: self.phrases.clone(),
            contextual,
            prefix: self.prefix && !self.words.is_empty(),
            choice: if self.is_all_required() { Choice::Every } else { Choice::Rarest(RAREST) },
            time: self.time.clone(),
            ..LexicalQuery::default()
        }
    }

    /// Looks up what its words stand for in all snapshots that it is asked of, each with the notes that are hidden from
    /// the asker, as the lexical lane would.
    ///
    /// # Errors
    /// A word index cannot be read, or the search is cancelled.
    pub fn understand<'a, 'p>(
        &mut self,
        snapshots: impl IntoIterator<Item = (&'a Snapshot, Option<&'p Private>)>,
        options: &Options,
    ) -> Result<(), LexicalError> {
        self.meant = Some(Corpus::hiding(snapshots).meant(&self.asked_of(options))?);
        Ok(())
    }

    /// The same conditions with other free words, of which nothing is known yet.
    #[must_use]
    pub fn rephrased(&self, words: &str) -> Self {
        Parsed { words: words.to_owned(), meant: None, time: None, warnings: Vec::new(), ..self.clone() }
    }

    /// Takes note of the words that name a time, as the query has them.
    pub fn read_time(&mut self, words: &str) {
        self.time = self.words.find(words).map(|start| start..start + words.len());
    }

    /// Whether its words say nothing but a time, so that the notes of that time are what is asked for. A number alone may be
    /// meant as it is; year, month and day are no number.
    pub(super) fn asks_time_alone(&self) -> bool {
        let Some(time) = self.time.as_ref().filter(|_| self.phrases.is_empty()) else { return false };
        let outside = |c: char| !c.is_alphanumeric();
        let says_nothing =
            |word: &str| word.is_empty() || is_stop_word(word) || ABOUT_NOTES.contains(&&*word.to_lowercase());
        let rest = [&self.words[..time.start], &self.words[time.end..]];
        let time = &self.words[time.clone()];
        let is_number = !time.contains(char::is_alphabetic) && time.split(outside).count() < 3;
        !is_number && rest.iter().flat_map(|rest| rest.split(outside)).all(says_nothing)
    }

    /// What the lexical lane is asked with these options.
    pub(super) fn asked_of(&self, options: &Options) -> LexicalQuery {
        let (expansion, cancel) = (options.expansion(), options.cancel.clone());
        LexicalQuery { expansion, cancel, ..self.lexical(options.contextual) }
    }

    /// As [`Parsed::text`], with words that occur nowhere replaced by their corrections. A correction may be the name
    /// of a hidden note: this text must not leave the machine.
    pub fn text_meant(&self) -> String {
        let words = self.meant.as_ref().map_or_else(|| self.words.clone(), |meant| meant.in_place(&self.words));
        self.with_phrases(words)
    }

    /// What is to be found, as plain text: to be embedded, and for highlights. Empty if the query has
    /// conditions only.
    pub fn text(&self) -> String {
        self.with_phrases(self.words.clone())
    }

    fn with_phrases(&self, mut text: String) -> String {
        for phrase in &self.phrases {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(phrase);
        }
        text
    }

    /// Whether it asks for text that a chunk must hold, and excludes none.
    pub(super) fn holds_text(&self) -> bool {
        let patterns_hold = self.patterns.iter().all(|(holds, _)| *holds);
        self.without.is_empty() && patterns_hold && !(self.phrases.is_empty() && self.patterns.is_empty())
    }

    /// The query itself, and what it joins by AND, OR and NOT, each with whether it stands under a NOT.
    fn ones(&self) -> impl Iterator<Item = (bool, &Parsed)> {
        std::iter::once((false, self)).chain(self.required.iter().flat_map(Required::ones))
    }

    /// Those of them that a hit may show.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Parsed> {
        self.ones().filter(|(not, _)| !not).map(|(_, one)| one)
    }

    /// Whether it has conditions: notes may be left out that are not hidden from the asker.
    pub(super) fn has_conditions(&self) -> bool {
        !self.filter.asks_nothing() || self.required.is_some() || !self.without.is_empty() || !self.patterns.is_empty()
    }

    /// Has its conditions test the notes of this vault. One that has no text lists the notes that they admit, so all stay.
    pub fn of_vault(&mut self, name: &str) {
        self.filter.of_vault(name, self.has_text());
    }

    /// The vaults that its conditions name, also between AND, OR and NOT.
    pub fn vaults(&self) -> Vec<&str> {
        self.ones().flat_map(|(_, one)| one.filter.vaults()).collect()
    }

    /// Conditions, as typed, that cannot be tested on what an engine elsewhere tells of its notes.
    pub fn unknown_elsewhere(&self) -> Vec<String> {
        self.ones().flat_map(|(_, one)| one.filter.unknown_elsewhere()).collect()
    }

    /// The regular expressions that a hit may show: those that a line is to match.
    pub(super) fn patterns_shown(&self) -> Vec<LinePattern> {
        let patterns = self.shown().flat_map(|one| &one.patterns);
        patterns.filter(|(holds, _)| *holds).map(|(_, pattern)| pattern.clone()).collect()
    }

    /// The phrases of several words that a hit may show.
    pub(super) fn phrases_shown(&self) -> Vec<String> {
        let phrases = self.shown().flat_map(|one| &one.phrases);
        phrases.filter(|phrase| crate::word_count(phrase) > 1).cloned().collect()
    }

    /// Whether AND, OR and NOT have all of its words, so that whatever meets them is found.
    pub(super) fn is_all_required(&self) -> bool {
        let words: Vec<&str> = self.shown().skip(1).flat_map(|one| &one.phrases).map(String::as_str).collect();
        self.required.is_some() && words.join(" ") == self.words
    }

    /// Whether [`settled`](super::settled) may read it otherwise.
    pub fn is_doubtful(&self) -> bool {
        self.doubtful != Doubtful::default()
    }

    /// Whether there is anything to be found, and not conditions only.
    pub fn has_text(&self) -> bool {
        !self.words.is_empty() || !self.phrases.is_empty()
    }
}

struct Parser<'w> {
    parsed: Parsed,
    unclosed: bool,
    as_words: &'w AsWords,
    today: Date,
}

impl Parser<'_> {
    /// Takes all tokens of a text that does not begin with a blank.
    fn tokens(&mut self, text: &str) -> Result<(), TooMuch> {
        let mut rest = text;
        while !rest.is_empty() {
            rest = self.token(rest)?.trim_start();
        }
        Ok(())
    }

    /// Takes one token off the start of `rest`, which is neither empty nor begins with a blank.
    fn token<'a>(&mut self, rest: &'a str) -> Result<&'a str, TooMuch> {
        // `--option` is searched for, not excluded.
        let body = rest.strip_prefix('-').filter(|body| !body.starts_with('-') && !starts_blank(body));
        let (negated, body) = (body.is_some(), body.unwrap_or(rest));
        let required = body.strip_prefix('+').filter(|_| !negated);
        let begins = |c: char| c.is_alphanumeric() || is_sign(c) || "#@.".contains(c);
        if let Some(word) = required.filter(|word| word.starts_with(begins) && !is_phone_number(word)) {
            let (word, after) = word.split_at(word_end(word));
            self.phrase(false, word)?;
            return Ok(after);
        }
        let body = required.filter(|phrase| strip_quote(phrase).is_some()).unwrap_or(body);
        if let Some(after) = strip_quote(body) {
            let Some((phrase, after)) = self.quoted(after) else {
                return self.word(negated, after);
            };
            self.phrase(negated, phrase)?;
            return Ok(after);
        }
        if let Some((pattern, after)) = slashed::slashed(body) {
            self.pattern(negated, pattern)?;
            return Ok(after);
        }
        if let Some((field, value)) = condition(body) {
            return self.field(negated, field, body, body.len() - value.len());
        }
        if let Some((name, value, after)) = bracketed(body, starts_blank) {
            let (name, typed) = (unquoted(name), &body[..body.len() - after.len()]);
            if !negated && self.as_words.brackets.iter().any(|known| known == name) {
                self.push_words(typed);
                return Ok(after);
            }
            if !negated {
                self.parsed.doubtful.brackets.push((name.to_owned(), typed.to_owned()));
            }
            self.condition(negated, Field::Property(name), value.map_or("*", unquoted), (typed, after))?;
            return Ok(after);
        }
        self.word(negated, body)
    }

    /// Takes a condition off the start of `body`; its value begins at `at`.
    fn field<'a>(&mut self, negated: bool, field: Field<'_>, body: &'a str, at: usize) -> Result<&'a str, TooMuch> {
        let typed = &body[at..];
        let typed = if matches!(field, Field::Property(_)) { of_field(typed) } else { typed };
        let bare = strip_quote(typed);
        if let Some((value, after)) = bare.and_then(|inner| self.quoted(inner)) {
            self.condition(negated, field, value, (&body[..body.len() - after.len()], after))?;
            return Ok(after);
        }
        let typed = bare.unwrap_or(typed);
        let end = dated_end(body).map_or_else(|| word_end(typed), |end| end - (body.len() - typed.len()));
        let (value, after) = typed.split_at(end);
        self.condition(negated, field, value, (&body[..body.len() - after.len()], after))?;
        Ok(after)
    }

    /// Splits what follows an opening quote at the closing one. Once there is none, there is none further on
    /// either: not looking again keeps a flood of opening quotes linear.
    fn quoted<'a>(&mut self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let split = if self.unclosed { None } else { text.split_once(CLOSING) };
        if split.is_none() {
            self.unclosed = true;
            self.warn("a quote is not closed; it is ignored".to_owned());
        }
        split
    }

    /// Takes a word off the start of `body`.
    fn word<'a>(&mut self, negated: bool, body: &'a str) -> Result<&'a str, TooMuch> {
        let (word, after) = body.split_at(word_end(body));
        if is_noise(word) {
            self.parsed.signs |= word.contains(SIGNS);
            // It may join two times, `March - May`, and is a part of names.
            if word == "-" && !self.parsed.words.is_empty() {
                self.push_words(word);
            }
            return Ok(after);
        }
        // Nobody tells notes by a letter that they lack: it is an option of a command (`git commit -m`).
        let is_option = negated && word.len() == 1;
        if is_option {
            self.warn(format!("`-{word}` is searched for as a word; `-\"{word}\"` leaves it out"));
        } else if negated {
            self.parsed.doubtful.exclusions.push(format!("-{word}"));
        }
        if negated && !is_option && !self.as_words.exclusions {
            self.phrase(true, word)?;
        } else {
            self.push_words(word);
        }
        if let Some(hint) = unknown::hint(unknown::with_value(body)) {
            self.warn(hint);
        }
        Ok(after)
    }

    /// Where signs are all that is sought, they must occur: no lane knows any.
    fn signs_alone(&mut self) -> Result<(), TooMuch> {
        let Parsed { words, phrases, required, .. } = &self.parsed;
        if phrases.is_empty() && required.is_none() && !crate::terms::has_words(words) {
            for signs in std::mem::take(&mut self.parsed.words).split_whitespace() {
                self.phrase(false, signs)?;
            }
        }
        Ok(())
    }

    fn phrase(&mut self, negated: bool, phrase: &str) -> Result<(), TooMuch> {
        let phrase = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
        if is_noise(&phrase) {
            self.parsed.signs |= phrase.contains(SIGNS);
            return Ok(());
        }
        if !crate::terms::has_words(&phrase)
            && let Ok(signs) = LinePattern::literal(&phrase)
        {
            // The word index holds no signs.
            self.parsed.counted.pattern(&phrase)?;
            self.parsed.patterns.push((!negated, signs));
            return Ok(());
        }
        self.parsed.counted.phrase(&phrase)?;
        if negated {
            self.parsed.without.push(phrase);
        } else {
            self.parsed.phrases.push(phrase);
        }
        Ok(())
    }

    /// `pattern` is what stands between the slashes.
    fn pattern(&mut self, negated: bool, pattern: &str) -> Result<(), TooMuch> {
        self.parsed.counted.pattern(pattern)?;
        match LinePattern::new(pattern) {
            Ok(pattern) => self.parsed.patterns.push((!negated, pattern)),
            Err(why) => {
                let shown: String = pattern.chars().take(60).collect();
                self.warn(format!("`/{shown}/` is searched for as words: {why}"));
                self.push_words(pattern);
            }
        }
        Ok(())
    }

    /// `raw` is the condition as typed, which `after` follows.
    fn condition(
        &mut self,
        negated: bool,
        field: Field<'_>,
        value: &str,
        (raw, after): (&str, &str),
    ) -> Result<(), TooMuch> {
        match field {
            Field::Property(_) => self.parsed.counted.property(value)?,
            Field::Key(_) => self.parsed.counted.condition(value)?,
        }
        let filter = &mut self.parsed.filter;
        let added = match field {
            Field::Property(name) => filter.add_property(raw, (name, value), !negated, self.today),
            Field::Key(key) if negated => filter.add_not(key, value),
            Field::Key(key) => filter.add(key, value, self.today),
        };
        let is_missing = !negated && value.is_empty() && matches!(field, Field::Key(key) if key.is_day());
        if added.is_err() && is_missing && raw.ends_with(':') && begins_prose(after.trim_start()) {
            self.push_words(raw);
        } else if let Err(why) = added {
            let why = if is_missing { "a value is missing".to_owned() } else { why };
            let not = if negated { "-" } else { "" };
            let shown: String = raw.chars().take(60).collect();
            self.warn(format!("`{not}{shown}` is searched for as words: {why}"));
            self.push_words(raw);
        }
        Ok(())
    }

    fn push_words(&mut self, words: &str) {
        if !self.parsed.words.is_empty() {
            self.parsed.words.push(' ');
        }
        self.parsed.words.push_str(words);
    }

    fn warn(&mut self, warning: String) {
        let warnings = &mut self.parsed.warnings;
        if warnings.len() < MAX_WARNINGS && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

/// Keyboards that mean well write curly quotes.
const OPENING: [char; 4] = ['"', '“', '„', '”'];
const CLOSING: [char; 3] = ['"', '”', '“'];

fn strip_quote(text: &str) -> Option<&str> {
    text.strip_prefix(OPENING)
}

fn word_end(text: &str) -> usize {
    text.find(char::is_whitespace).unwrap_or(text.len())
}

/// Whether what follows a colon is no day that was meant as a condition's value: `we should focus on: the budget`.
fn begins_prose(text: &str) -> bool {
    let is_day = ["today", "yesterday"].iter().any(|day| text.starts_with(day));
    !text.is_empty() && !is_day && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn starts_blank(text: &str) -> bool {
    text.chars().next().is_none_or(char::is_whitespace)
}

/// Whether a text begins with a telephone number, but for the `+`.
fn is_phone_number(text: &str) -> bool {
    let number = text.chars().take_while(|c| c.is_ascii_digit() || " \u{a0}()".contains(*c));
    number.filter(char::is_ascii_digit).nth(6).is_some()
}

/// An emoji or the like.
fn is_sign(c: char) -> bool {
    !c.is_ascii() && !c.is_alphanumeric() && !OPENING.contains(&c)
}

/// Punctuation that is more than that, so that somebody may look for it.
const SIGNS: [char; 12] = ['<', '>', '=', '%', '&', '#', '$', '@', '~', '^', '|', '\\'];

/// Punctuation alone finds nothing, but would keep a query from being one of conditions only.
fn is_noise(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_punctuation() || c.is_whitespace() || OPENING.contains(&c))
}

#[cfg(test)]
mod tests;
