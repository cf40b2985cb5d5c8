//! Text → words, the same for notes and queries.
//!
//! * **Words** of alphabetic scripts: runs of letters, digits and marks, lower case, accents folded
//!   (compatibility decomposition; the combining marks of Latin, Greek, Cyrillic, Arabic and Hebrew dropped, the
//!   vowel signs of Indic scripts kept). They are stemmed in the language of their note ([`Language`]).
//! * **Compounds** (`snake_case`, `kebab-case`, `a.b`, `camelCase`): each part is a word at its own position,
//!   and the parts written together are one more word at the position of the first, so `e-mail` finds `email`.
//! * **Names with symbols** (`C++`, `F#`, `.NET`): the letters are a word, and with their symbols a second
//!   word at the same position.
//! * **Scripts without spaces** (Chinese, Japanese, Thai, Lao, Khmer, Burmese) and **Korean**: overlapping pairs of
//!   characters, and the last character of a run alone: every character begins exactly one word, so that a
//!   single character can be looked up as a prefix. Korean has spaces but glues particles to its nouns, and
//!   pairs find the noun without a dictionary.
//!
//! The standard word boundaries (UAX 29) are not used: they leave Thai whole, cut Han into single characters
//! and join `foo.bar` but not `foo-bar`.

mod class;
mod fold;
mod initials;
mod memo;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::language::Language;
use super::scratch::Scratch;
use class::{ASCII, Class, class, extends_pair};
use fold::{normalize, stems};
pub(super) use initials::Initials;
use memo::Memo;

/// Longest normal form, in bytes. Longer words are truncated: they are data, not language.
const LONGEST: usize = 64;
/// A compound of more parts than this has no word for the whole: it is a path or a chain, not a name.
const MOST_PARTS: usize = 8;
/// Words that are cut ahead at a time: this bounds the memory that a megabyte without a space takes.
const MOST_PENDING: usize = 512;

/// What a word is in its compound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A word outside of compounds.
    Word,
    /// A part of a compound.
    Part,
    /// A compound as a whole.
    Whole,
    /// A name with the symbols that belong to it.
    Symbols,
    /// Two characters of a script without spaces.
    Pair,
    /// One character of a script without spaces: the last of its run, or alone.
    Single,
}

/// A word found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Bytes of the text.
    pub(super) range: Range<usize>,
    /// Normal form.
    pub(super) text: String,
    /// Ordinal in the text; a whole stands at the position of its first part.
    pub(super) position: usize,
    /// What it is.
    pub(super) kind: Kind,
}

/// Calls `each` with the words of `text`, as a note in `language` has them; `None` leaves them unstemmed.
pub(super) fn each_word(text: &str, language: Option<Language>, each: impl FnMut(&Token, Kind)) {
    each_word_of(text, language, None, each);
}

/// As [`each_word`], but may skip words that have none of the forms that `initials` was made of.
pub(super) fn each_word_of(
    text: &str,
    language: Option<Language>,
    initials: Option<Initials>,
    mut each: impl FnMut(&Token, Kind),
) {
    /// Kept between calls: the stems looked up last are likely to be looked up next.
    static ANALYZERS: Scratch<Analyzer> = Scratch::new();
    let mut analyzer = ANALYZERS.take().unwrap_or_default();
    let mut stream = analyzer.stream(text, Reading { language, times: 1 });
    stream.initials = initials.filter(|_| Initials::tell(language));
    while stream.advance() {
        each(stream.token, stream.kind);
    }
    ANALYZERS.give(analyzer);
}

/// All words of `text`, as [`each_word`] gives them.
pub(super) fn words(text: &str, language: Option<Language>) -> Vec<Word> {
    let mut words = Vec::new();
    each_word(text, language, |token, kind| {
        let range = token.offset_from..token.offset_to;
        words.push(Word { range, text: token.text.clone(), position: token.position, kind });
    });
    words
}

/// How many words the index has of `text`, including those of compounds.
pub fn word_count(text: &str) -> usize {
    let mut count = 0;
    each_word(text, None, |_, _| count += 1);
    count
}

/// How a value of the index is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// What the words are stemmed as; `None` leaves them unstemmed.
    pub(super) language: Option<Language>,
    /// How often each word counts, 1..=15: the weight of a field of BM25F.
    pub(super) times: u8,
}

/// The first of 240 private-use characters, each of which says how the text behind it is read.
const MARK: u32 = 0xF_0000;

impl Reading {
    /// Sets `marked` to the text with a mark before it that tells the index how to read it: the index has one analyzer
    /// per field, whose only argument is the text. Every value gets a mark, so that no text can bring its own.
    pub(super) fn mark(self, text: &str, marked: &mut String) {
        let language = self.language.map_or(0, |language| language as u32 + 1);
        marked.clear();
        marked.extend(char::from_u32(MARK + 16 * language + u32::from(self.times & 15)));
        marked.push_str(text);
    }

    fn unmark(marked: &str) -> (Self, &str) {
        let mark = marked.chars().next().and_then(|c| u32::from(c).checked_sub(MARK)).filter(|mark| *mark < 240);
        let Some(mark) = mark else {
            return (Reading { language: None, times: 1 }, marked);
        };
        let language = (mark as usize / 16).checked_sub(1).and_then(|n| Language::ALL.get(n).copied());
        (Reading { language, times: (mark % 16) as u8 }, &marked[4..])
    }
}

/// The analyzer as the lexical index calls it; keeps its buffers and stems between texts.
#[derive(Default)]
pub(super) struct Analyzer {
    pending: Vec<Pending>,
    token: Token,
    stems: Memo,
    /// The language of the stems.
    stems_of: Option<Language>,
    read: Arc<AtomicU64>,
}

/// A copy starts with empty buffers: the index copies its analyzers once per field and writer.
impl Clone for Analyzer {
    fn clone(&self) -> Self {
        Analyzer::counting(self.read.clone())
    }
}

/// A word that was cut out but not yet normalised.
#[derive(Clone, Debug)]
struct Pending {
    range: Range<usize>,
    position: usize,
    kind: Kind,
}

impl Tokenizer for Analyzer {
    type TokenStream<'a> = Words<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Words<'a> {
        self.read.fetch_add(text.len() as u64, Ordering::Relaxed);
        let (reading, text) = Reading::unmark(text);
        self.stream(text, reading)
    }
}

impl Analyzer {
    /// An analyzer that counts in `read` the bytes that the index has it read; its copies do the same.
    pub(super) fn counting(read: Arc<AtomicU64>) -> Self {
        Analyzer { read, ..Analyzer::default() }
    }

    fn stream<'a>(&'a mut self, text: &'a str, reading: Reading) -> Words<'a> {
        self.pending.clear();
        // Reading without a language uses no stems, so the cached ones stay.
        if reading.language.is_some() && self.stems_of != reading.language {
            self.stems.clear();
            self.stems_of = reading.language;
        }
        Words {
            text,
            at: 0,
            position: 0,
            pending: &mut self.pending,
            next: 0,
            token: &mut self.token,
            kind: Kind::Word,
            stems: &mut self.stems,
            reading,
            initials: None,
            again: 0,
        }
    }
}

/// The stream of a text's words.
pub(super) struct Words<'a> {
    text: &'a str,
    at: usize,
    position: usize,
    pending: &'a mut Vec<Pending>,
    next: usize,
    token: &'a mut Token,
    kind: Kind,
    stems: &'a mut Memo,
    reading: Reading,
    /// If set, words that begin with other letters are skipped.
    initials: Option<Initials>,
    /// How many more times the token is returned.
    again: u8,
}

impl TokenStream for Words<'_> {
    fn advance(&mut self) -> bool {
        if self.again > 0 {
            self.again -= 1;
            return true;
        }
        loop {
            while let Some(pending) = self.pending.get(self.next) {
                self.next += 1;
                let (range, position) = (pending.range.clone(), pending.position);
                self.kind = pending.kind;
                self.token.text.clear();
                self.form(range.clone());
                if self.token.text.is_empty() {
                    continue;
                }
                (self.token.offset_from, self.token.offset_to) = (range.start, range.end);
                (self.token.position, self.token.position_length) = (position, 1);
                self.again = self.reading.times.saturating_sub(1);
                return true;
            }
            self.pending.clear();
            self.next = 0;
            if !self.cut() {
                return false;
            }
        }
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

impl Words<'_> {
    /// Cuts the next run of the text into pending words; false at the end of the text.
    fn cut(&mut self) -> bool {
        while let Some((c, class)) = self.peek(self.at) {
            match class {
                Class::Lower | Class::Upper | Class::Letter | Class::Digit => {
                    self.cut_compound();
                    return true;
                }
                Class::Paired => {
                    self.cut_pairs();
                    return true;
                }
                Class::Extend | Class::Apostrophe | Class::Joiner | Class::Other => {
                    self.at += c.len_utf8();
                }
            }
        }
        false
    }

    fn peek(&self, at: usize) -> Option<(char, Class)> {
        match self.text.as_bytes().get(at) {
            Some(&b) if b < 128 => Some((char::from(b), ASCII[usize::from(b)])),
            Some(_) => self.text[at..].chars().next().map(|c| (c, class(c))),
            None => None,
        }
    }

    /// Cuts pieces joined by single joiners, and each piece where its case says so.
    fn cut_compound(&mut self) {
        let start = self.at;
        loop {
            self.cut_piece();
            let end = self.at;
            let Some((joiner, kind @ (Class::Joiner | Class::Apostrophe))) = self.peek(end) else {
                break;
            };
            let after = end + joiner.len_utf8();
            if !matches!(self.peek(after), Some((_, Class::Lower | Class::Upper | Class::Letter | Class::Digit))) {
                break;
            }
            if self.pending.len() >= MOST_PENDING {
                break;
            }
            self.at = after;
            if kind == Class::Apostrophe {
                // Both sides of an elision are words (l'homme); an English ending is not (Anna's, don't).
                if let Some(ending) = self.english_ending() {
                    self.at += ending;
                    break;
                }
            }
        }
        let parts = self.pending.len();
        if parts == 1 {
            let with_symbols = self.with_symbols(start);
            self.pending[0].kind = if with_symbols.is_some() { Kind::Part } else { Kind::Word };
            let position = self.pending[0].position;
            self.pending.extend(with_symbols.map(|range| Pending { range, position, kind: Kind::Symbols }));
        } else if parts <= MOST_PARTS {
            let end = self.pending[parts - 1].range.end;
            let whole = Pending { range: start..end, position: self.pending[0].position, kind: Kind::Whole };
            // Positions must not go back, so the whole comes before the second part.
            self.pending.insert(1, whole);
        }
    }

    /// The range of the word from `start` to here with its symbols: a dot before it (`.NET`), `+`, `++` or `#` behind
    /// it. `None` if it has none.
    fn with_symbols(&self, start: usize) -> Option<Range<usize>> {
        let (before, after) = (&self.text.as_bytes()[..start], &self.text.as_bytes()[self.at..]);
        let behind = match after {
            [b'+', b'+', ..] => 2,
            [b'+' | b'#', ..] => 1,
            _ => 0,
        };
        // If more follows, it is a sum, a path or an anchor.
        let ends =
            after.get(behind).is_none_or(|b| !b.is_ascii_alphanumeric() && !matches!(b, b'+' | b'#' | b'/' | b'='));
        let dotted = match before {
            [.., last, b'.'] => last.is_ascii_whitespace() || matches!(last, b'(' | b'`' | b'"' | b'\'' | b'*' | b'['),
            [b'.'] => true,
            _ => false,
        };
        match (dotted, behind > 0 && ends) {
            (false, false) => None,
            (dotted, ended) => Some(start - usize::from(dotted)..self.at + if ended { behind } else { 0 }),
        }
    }

    /// The length of an ending like `s` in `Anna's`, if one stands here.
    fn english_ending(&self) -> Option<usize> {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        let ending = rest.get(..length).filter(|e| e.len() <= 2)?.to_ascii_lowercase();
        let followed = self.peek(self.at + length).is_some_and(|(_, class)| {
            matches!(class, Class::Lower | Class::Upper | Class::Letter | Class::Digit | Class::Extend)
        });
        let known: [&[u8]; 7] = [b"s", b"t", b"d", b"m", b"re", b"ll", b"ve"];
        (!followed && known.contains(&&ending[..])).then_some(length)
    }

    /// Cuts one piece: a run of letters, digits and marks.
    fn cut_piece(&mut self) {
        let start = self.at;
        let first = self.pending.len();
        let (mut part, mut before, mut last) = (start, Class::Other, Class::Other);
        let mut last_at = start;
        while let Some((c, class)) = self.peek(self.at) {
            match class {
                Class::Lower | Class::Upper | Class::Letter | Class::Digit => {
                    // fooBar is cut before B, HTMLParser before P; IDs and PDFs are not cut.
                    let full = self.pending.len() >= MOST_PENDING;
                    if !full && last == Class::Lower && class == Class::Upper {
                        self.push_part(part, self.at);
                        part = self.at;
                    } else if !full
                        && before == Class::Upper
                        && last == Class::Upper
                        && class == Class::Lower
                        && last_at > part
                    {
                        let next = self.peek(self.at + c.len_utf8());
                        if matches!(next, Some((_, Class::Lower))) {
                            self.push_part(part, last_at);
                            part = last_at;
                        }
                    }
                    (before, last, last_at) = (last, class, self.at);
                }
                Class::Extend => {}
                _ => break,
            }
            self.at += c.len_utf8();
        }
        let parts = self.pending.len() - first + 1;
        if parts > 1 && (self.at - start > LONGEST || (self.at - start) <= 2 * parts) {
            // Case changes at every other letter: encoded data, not a name.
            self.position -= parts - 1;
            self.pending.truncate(first);
            part = start;
        }
        self.push_part(part, self.at);
    }

    fn push_part(&mut self, from: usize, to: usize) {
        self.pending.push(Pending { range: from..to, position: self.position, kind: Kind::Part });
        self.position += 1;
    }

    /// Cuts a run of a script without spaces into overlapping pairs and its last character.
    fn cut_pairs(&mut self) {
        let mut before: Option<usize> = None;
        let mut begin = self.at;
        while let Some((c, class)) = self.peek(self.at) {
            let extends = extends_pair(c);
            if class != Class::Paired && !(extends && self.at > begin) {
                break;
            }
            if !extends && self.at > begin {
                if let Some(from) = before {
                    self.push_pair(from, self.at, Kind::Pair);
                    if self.pending.len() >= MOST_PENDING {
                        self.at = begin; // The next call goes on with the pair that begins here.
                        return;
                    }
                }
                before = Some(begin);
                begin = self.at;
            }
            self.at += c.len_utf8();
        }
        if let Some(from) = before {
            self.push_pair(from, self.at, Kind::Pair);
        }
        self.push_pair(begin, self.at, Kind::Single);
    }

    fn push_pair(&mut self, from: usize, to: usize, kind: Kind) {
        self.pending.push(Pending { range: from..to, position: self.position, kind });
        self.position += 1;
    }

    /// Makes the token the normal form of the word at `range`.
    fn form(&mut self, range: Range<usize>) {
        let (word, text) = (&self.text[range], &mut self.token.text);
        if self.initials.is_some_and(|initials| !initials.may_begin(word)) {
            return;
        }
        let Some(language) = self.reading.language.filter(|_| word.len() <= LONGEST && stems(self.kind)) else {
            return normalize(word, self.kind, text);
        };
        if let Some(stem) = self.stems.get(word) {
            return text.push_str(stem);
        }
        let whole = self.kind == Kind::Whole;
        // A soft hyphen or another character without width is no letter, and a stemmer knows letters alone.
        let left_out = |c: &char| {
            matches!(c, '\u{AD}' | '\u{200C}' | '\u{200D}')
                || whole && matches!(class(*c), Class::Joiner | Class::Apostrophe)
        };
        if let Some(stem) = language.stem(&word.chars().filter(|c| !left_out(c)).collect::<String>()) {
            normalize(&stem, self.kind, text);
        } else {
            normalize(word, self.kind, text);
            if let Some(stem) = language.stem_folded(text) {
                *text = stem;
            }
        }
        self.stems.put(word, text);
    }
}
