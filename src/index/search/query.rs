//! The query language. Everything within the limits ([`super::limits`]) parses: what is malformed becomes words and a warning.
//!
//! ```text
//! free words          found by meaning and by words; no word has to occur
//! "a phrase"          must occur, word for word
//! -word  -"a phrase"  must not occur
//! tag:a               tag `a` or below it (`a/b`)
//! path:Work           the folder, a note in it, or a glob (`path:**/archive/*`)
//! type:daily          kind of note
//! link:Note           notes that link to `Note`
//! linked-from:Note    notes that `Note` links to
//! prop.status:done    a property of the front matter: also prop.priority:>2, prop.due:<2026-12
//! [status]  [status:done]  as Obsidian writes it: the note has it; it is `done`
//! after:2026-11  before:7d  modified:today  modified:>2026  modified:<1y
//! ```
//!
//! Values with blanks are quoted (`tag:"two words"`); `-` before a condition turns it around, but not before a date.

use jiff::civil::Date;

use super::filter::{Filter, Key};
use super::limits::{Counted, MAX_BYTES, TooMuch};
use crate::LexicalQuery;

/// A query understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The free words, separated by blanks.
    pub words: String,
    /// What must occur, word for word.
    pub phrases: Vec<String>,
    /// Words and phrases that must not occur.
    pub without: Vec<String>,
    /// Conditions on the note.
    pub filter: Filter,
    /// What was not understood, for the user; may quote the query.
    pub warnings: Vec<String>,
    /// Whether the last word is still being typed, so that words that begin with it are found too. Set by who asks.
    pub prefix: bool,
    /// What is counted against the limits. A caller that adds conditions to [`Parsed::filter`] counts them here.
    pub counted: Counted,
}

/// Further warnings say nothing new.
const MAX_WARNINGS: usize = 8;

/// Understands a query; `today` is what relative dates are reckoned from.
///
/// # Errors
/// It is over a limit. Nothing is looked up of such a query: a part of its conditions would find what the rest forbids.
pub fn parse(query: &str, today: Date) -> Result<Parsed, TooMuch> {
    if query.len() > MAX_BYTES {
        return Err(TooMuch::Bytes { given: query.len() });
    }
    let mut parser = Parser { parsed: Parsed::default(), unclosed: false, today };
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        rest = parser.token(rest)?.trim_start();
    }
    Ok(parser.parsed)
}

impl Parsed {
    /// What the lexical lane is asked.
    pub fn lexical(&self, contextual: bool) -> LexicalQuery {
        LexicalQuery {
            words: self.words.clone(),
            phrases: self.phrases.clone(),
            without: self.without.clone(),
            contextual,
            prefix: self.prefix && !self.words.is_empty(),
            ..LexicalQuery::default()
        }
    }

    /// What is to be found, as plain text: to be embedded, and for highlights. Empty if the query has
    /// conditions only.
    pub fn text(&self) -> String {
        let mut text = self.words.clone();
        for phrase in &self.phrases {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(phrase);
        }
        text
    }

    /// Whether there is anything to be found, and not conditions only.
    pub fn has_text(&self) -> bool {
        !self.words.is_empty() || !self.phrases.is_empty()
    }
}

struct Parser {
    parsed: Parsed,
    unclosed: bool,
    today: Date,
}

impl Parser {
    /// Takes one token off the start of `rest`, which is neither empty nor begins with a blank.
    fn token<'a>(&mut self, rest: &'a str) -> Result<&'a str, TooMuch> {
        // `--option` is searched for, not excluded.
        let body = rest.strip_prefix('-').filter(|body| !body.starts_with('-') && !starts_blank(body));
        let (negated, body) = (body.is_some(), body.unwrap_or(rest));
        if let Some(after) = strip_quote(body) {
            let Some((phrase, after)) = self.quoted(after) else {
                return self.word(negated, after);
            };
            self.phrase(negated, phrase)?;
            return Ok(after);
        }
        if let Some((name, _)) = body[..word_end(body)].split_once(':')
            && let Some(field) = Field::named(name)
        {
            return self.field(negated, field, body, name.len() + 1);
        }
        if let Some((name, value, after)) = bracketed(body) {
            let value = value.map_or("*", unquoted);
            self.condition(negated, Field::Property(unquoted(name)), value, &body[..body.len() - after.len()])?;
            return Ok(after);
        }
        self.word(negated, body)
    }

    /// Takes a condition off the start of `body`; its value begins at `at`.
    fn field<'a>(&mut self, negated: bool, field: Field<'_>, body: &'a str, at: usize) -> Result<&'a str, TooMuch> {
        let typed = &body[at..];
        let bare = strip_quote(typed);
        if let Some((value, after)) = bare.and_then(|inner| self.quoted(inner)) {
            self.condition(negated, field, value, &body[..body.len() - after.len()])?;
            return Ok(after);
        }
        let typed = bare.unwrap_or(typed);
        let (value, after) = typed.split_at(word_end(typed));
        self.condition(negated, field, value, &body[..body.len() - after.len()])?;
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
            return Ok(after);
        }
        if negated {
            self.parsed.counted.phrase(word)?;
            self.parsed.without.push(word.to_owned());
        } else {
            self.push_words(word);
        }
        Ok(after)
    }

    fn phrase(&mut self, negated: bool, phrase: &str) -> Result<(), TooMuch> {
        let phrase = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
        if is_noise(&phrase) {
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

    /// `raw` is the condition as typed.
    fn condition(&mut self, negated: bool, field: Field<'_>, value: &str, raw: &str) -> Result<(), TooMuch> {
        match field {
            Field::Property(_) => self.parsed.counted.property(value)?,
            Field::Key(_) => self.parsed.counted.condition(value)?,
        }
        let filter = &mut self.parsed.filter;
        let added = match field {
            Field::Property(name) => filter.add_property(name, value, !negated, self.today),
            Field::Key(key) if negated => filter.add_not(key, value),
            Field::Key(key) => filter.add(key, value, self.today),
        };
        if let Err(why) = added {
            let shown: String = raw.chars().take(60).collect();
            self.warn(format!("`{shown}` is searched for as words: {why}"));
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

/// What a condition is about, as typed.
#[derive(Clone, Copy)]
enum Field<'a> {
    Key(Key),
    Property(&'a str),
}

impl<'a> Field<'a> {
    fn named(name: &'a str) -> Option<Self> {
        let property = name.get(..5).filter(|start| start.eq_ignore_ascii_case("prop.")).map(|_| &name[5..]);
        property.map(Field::Property).or_else(|| name.parse().ok().map(Field::Key))
    }
}

/// Bytes of a condition in brackets at most: not looking further keeps a flood of opening brackets linear.
const BRACKETED: usize = 300;

/// Splits a condition in brackets off the start of `body`: name, value, and what follows. A link or a check box is
/// none, nor is what has more letters right behind it.
fn bracketed(body: &str) -> Option<(&str, Option<&str>, &str)> {
    let inner = body.strip_prefix('[').filter(|inner| !inner.starts_with(['[', ']']))?;
    let mut quoted = false;
    let close = inner.char_indices().take_while(|(at, _)| *at < BRACKETED).find_map(|(at, c)| {
        quoted ^= c == '"';
        (c == ']' && !quoted).then_some(at)
    })?;
    let (inner, after) = (&inner[..close], &inner[close + 1..]);
    if !starts_blank(after) || inner.trim().chars().nth(1).is_none() {
        return None;
    }
    match inner.split_once(':') {
        Some((name, value)) => Some((name.trim(), Some(value.trim()), after)),
        None => Some((inner.trim(), None, after)),
    }
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
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

fn starts_blank(text: &str) -> bool {
    text.chars().next().is_none_or(char::is_whitespace)
}

/// Punctuation alone finds nothing, but would keep a query from being one of conditions only.
fn is_noise(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_punctuation() || c.is_whitespace() || OPENING.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::super::limits::{MAX_PHRASE_WORDS, MAX_TERMS, MAX_VALUE_BYTES};

    const TODAY: Date = date(2026, 11, 20);

    /// A query within the limits.
    fn parse(query: &str, today: Date) -> Parsed {
        super::parse(query, today).unwrap()
    }

    fn filter(with: &[(Key, &str)], without: &[(Key, &str)]) -> Filter {
        let mut filter = Filter::default();
        with.iter().for_each(|(key, value)| filter.add(*key, value, TODAY).unwrap());
        without.iter().for_each(|(key, value)| filter.add_not(*key, value).unwrap());
        filter
    }

    #[test]
    fn words_phrases_and_exclusions() {
        let cases: [(&str, &str, &[&str], &[&str]); 21] = [
            ("", "", &[], &[]),
            ("  two   words ", "two words", &[], &[]),
            ("\"a phrase\"", "", &["a phrase"], &[]),
            ("\" a \n  phrase \"x", "x", &["a phrase"], &[]),
            ("“a phrase” „noch eine“", "", &["a phrase", "noch eine"], &[]),
            ("-gone stays", "stays", &[], &["gone"]),
            ("-\"not this\" but this", "but this", &[], &["not this"]),
            ("--no-verify", "--no-verify", &[], &[]),
            ("a - b", "a b", &[], &[]),
            ("e-mail", "e-mail", &[], &[]),
            ("\"\" -\"\" ... ?!", "", &[], &[]),
            ("foo:bar https://x.org/y", "foo:bar https://x.org/y", &[], &[]),
            ("-foo:bar", "", &[], &["foo:bar"]),
            ("foo:\"bar baz\"", "foo:\"bar baz\"", &[], &[]),
            ("6\" nails", "6\" nails", &[], &[]),
            ("日本語 -中文", "日本語", &[], &["中文"]),
            ("🎉", "🎉", &[], &[]),
            ("a\u{3000}b", "a b", &[], &[]),
            (":x x:", ":x x:", &[], &[]),
            ("12:30 C:\\x", "12:30 C:\\x", &[], &[]),
            ("\"one\"\"two\"-three", "", &["one", "two"], &["three"]),
        ];
        for (query, words, phrases, without) in cases {
            let parsed = parse(query, TODAY);
            let got = (parsed.words.as_str(), parsed.phrases.as_slice(), parsed.without.as_slice());
            let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
            assert_eq!(got, (words, owned(phrases).as_slice(), owned(without).as_slice()), "{query}");
            assert_eq!((parsed.warnings.len(), parsed.filter.is_empty()), (0, true), "{query}");
        }
    }

    #[test]
    fn conditions() {
        use Key::{After, Before, Link, Modified, Path, Tag, Type};
        let cases: [(&str, &[(Key, &str)], &[(Key, &str)]); 10] = [
            ("tag:work", &[(Tag, "work")], &[]),
            ("TAG:work/x", &[(Tag, "work/x")], &[]),
            ("tag:\"two words\"", &[(Tag, "two words")], &[]),
            ("tag:“two words”", &[(Tag, "two words")], &[]),
            ("-tag:done -path:\"Old stuff\"", &[], &[(Tag, "done"), (Path, "Old stuff")]),
            ("path:**/a/*.md", &[(Path, "**/a/*.md")], &[]),
            ("type:daily after:2026-11", &[(Type, "daily"), (After, "2026-11")], &[]),
            ("link:[[Note]] before:7d", &[(Link, "Note"), (Before, "7d")], &[]),
            ("link:\"A note: about it\"", &[(Link, "A note: about it")], &[]),
            ("modified:>2026-01 modified:<today", &[(Modified, ">2026-01"), (Modified, "<today")], &[]),
        ];
        for (query, with, without) in cases {
            let parsed = parse(query, TODAY);
            assert_eq!(parsed.filter, filter(with, without), "{query}");
            assert!(!parsed.has_text() && parsed.warnings.is_empty(), "{query}: {parsed:?}");
        }
        let properties = [
            ("prop.status:done", ("status", "done", true)),
            ("-PROP.Due:>2026-12", ("Due", ">2026-12", false)),
            ("prop.status:\"in progress\"", ("status", "in progress", true)),
            ("[status]", ("status", "*", true)),
            ("-[status:done OR open]", ("status", "done OR open", false)),
            ("[\"due date\" : \"a ] b\"]", ("due date", "a ] b", true)),
        ];
        for (query, (name, value, holds)) in properties {
            let parsed = parse(query, TODAY);
            let mut expected = Filter::default();
            expected.add_property(name, value, holds, TODAY).unwrap();
            assert_eq!((parsed.filter, parsed.warnings.len(), parsed.words.as_str()), (expected, 0, ""), "{query}");
        }
        for words in ["[x] task", "[[Link]]", "[text](url)", "[", "[]", "a[0]", "[ ]", "[open", "prop.x"] {
            let parsed = parse(words, TODAY);
            assert!(parsed.filter.is_empty() && parsed.warnings.is_empty(), "{words}: {parsed:?}");
        }
        let mixed = parse("plan tag:\"a b\"next \"x y\" type:daily", TODAY);
        assert_eq!((mixed.words.as_str(), mixed.text().as_str()), ("plan next", "plan next x y"));
        assert_eq!(mixed.filter, filter(&[(Tag, "a b"), (Type, "daily")], &[]));
    }

    #[test]
    fn what_is_malformed_becomes_words_and_a_warning() {
        let cases = [
            ("\"open end", "open end"),
            ("tag: x", "tag: x"),
            ("tag:\"\"", "tag:\"\""),
            ("after:tomorow", "after:tomorow"),
            ("modified:>", "modified:>"),
            ("-before:2026", "before:2026"),
            ("prop.:x", "prop.:x"),
            ("prop.due:>soon", "prop.due:>soon"),
            ("[due:]", "[due:]"),
        ];
        for (query, words) in cases {
            let parsed = parse(query, TODAY);
            assert_eq!((parsed.words.as_str(), parsed.warnings.len()), (words, 1), "{query}: {:?}", parsed.warnings);
            assert!(parsed.filter.is_empty(), "{query}");
        }
        let open = parse("tag:\"open end", TODAY);
        assert_eq!((open.words.as_str(), open.warnings.len()), ("end", 1));
        assert_eq!(open.filter, filter(&[(Key::Tag, "open")], &[]));
    }

    #[test]
    fn a_flood_is_refused() {
        for operator in
            ["-x ", "tag:y ", "\"z\" ", "-\"z\" ", "after:never ", "prop.a:1 ", "[a:1] ", "-[a:1] ", "link:x "]
        {
            let within = parse(&operator.repeat(MAX_TERMS), TODAY);
            assert!(within.warnings.len() <= MAX_WARNINGS, "{operator}");
            let over = super::parse(&operator.repeat(MAX_TERMS + 1), TODAY);
            assert_eq!(over, Err(TooMuch::Terms { given: MAX_TERMS + 1 }), "{operator}");
        }
        let values = format!("prop.a:\"x{}\"", " OR x".repeat(MAX_TERMS));
        assert_eq!(super::parse(&values, TODAY), Err(TooMuch::Terms { given: MAX_TERMS + 1 }));
        let words = "word ".repeat(MAX_PHRASE_WORDS);
        for text in [format!("\"{words}more\""), format!("-\"{words}more\""), format!("\"{words}\" \"more\"")] {
            assert_eq!(super::parse(&text, TODAY), Err(TooMuch::PhraseWords { given: MAX_PHRASE_WORDS + 1 }));
        }
        assert_eq!(parse(&format!("\"{words}\""), TODAY).phrases.len(), 1);
        let value = "y".repeat(MAX_VALUE_BYTES + 1);
        for field in ["tag", "path", "link", "prop.a", "modified"] {
            let given = MAX_VALUE_BYTES + 1;
            assert_eq!(super::parse(&format!("{field}:{value}"), TODAY), Err(TooMuch::ValueBytes { given }));
        }
        assert_eq!(super::parse(&"x".repeat(MAX_BYTES + 1), TODAY), Err(TooMuch::Bytes { given: MAX_BYTES + 1 }));
    }

    #[test]
    fn a_flood_of_openings_is_linear() {
        let quotes = parse(&"„x ".repeat(13_000), TODAY);
        assert_eq!((quotes.words.len(), quotes.warnings.len()), (25_999, 1));
        assert!(parse(&"[x ".repeat(20_000), TODAY).filter.is_empty());
    }

    proptest! {
        #[test]
        fn any_string_parses(query in any::<String>()) {
            parse(&query, TODAY);
        }

        #[test]
        fn any_mix_of_the_languages_parts_parses(parts in proptest::collection::vec(
            prop_oneof![Just("\""), Just("-"), Just(":"), Just(" "), Just("tag:"), Just("after:"), Just("modified:>"),
                Just("path:"), Just("*"), Just("“"), Just("”"), Just("é"), Just("7d"), Just("2026-11"), Just("x"), Just("["), Just("]"), Just("prop.a:")], 0..24)) {
            let query = parts.concat();
            let parsed = parse(&query, TODAY);
            prop_assert!(parsed.phrases.iter().chain(&parsed.without).all(|text| !is_noise(text)));
            prop_assert_eq!(parsed.has_text(), !parsed.text().is_empty());
        }

        #[test]
        fn plain_words_stay_as_typed(words in proptest::collection::vec("[a-zäß日0-9]{1,8}", 0..6)) {
            let parsed = parse(&words.join("  "), TODAY);
            prop_assert_eq!(parsed.words, words.join(" "));
            prop_assert!(parsed.warnings.is_empty());
        }
    }
}
