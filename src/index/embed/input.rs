//! The texts that are embedded for a chunk: its context and its words, in windows. Pure.
//!
//! The built-in model has no maximum length, but the sum of many pieces blurs: a long chunk is embedded as several
//! windows, each under the chunk's context, and a chunk is as near to a query as its best window. Chunks begin after
//! the front matter, so it need not be left out here.

use std::borrow::Cow;
use std::ops::Range;

use super::Input;
use note::fingerprint::{Fields, InputHash, input_hash};

/// How much one input may hold, in pieces of the built-in tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputLimits {
    /// A chunk of up to this many is one window.
    pub one_window: usize,
    /// The windows of a longer chunk have at most this many.
    pub window: usize,
    /// A whole input, including its context, has at most this many; `None` if its length does not matter.
    pub whole: Option<usize>,
    /// Whether the chunks of a note are embedded together, without contexts: each in the light of the others.
    pub together: bool,
    /// Whether questions and terms beside a context are embedded, separately from it. Appended to a chunk's text they
    /// would drown it, and double the cost at a provider, so only the built-in model, which adds vectors, takes them.
    pub expansion: bool,
}

impl InputLimits {
    /// For the built-in model, which takes any length but blurs long texts.
    pub const BUILTIN: InputLimits =
        InputLimits { one_window: 240, window: 200, whole: None, together: false, expansion: true };

    /// For a model that takes `tokens` tokens, including those of `prefix`. Tokenizers differ, and cut other scripts
    /// finer than ours does, so a fifth is left free.
    pub fn of_model(tokens: usize, prefix: usize, together: bool) -> InputLimits {
        let whole = (tokens - tokens / 5).saturating_sub(prefix).max(LEAST);
        InputLimits { one_window: whole, window: whole, whole: Some(whole), together, expansion: false }
    }

    /// The limits for a window under a context of so many pieces.
    fn under(self, context: usize) -> InputLimits {
        let Some(whole) = self.whole else { return self };
        // A context that is too long is cut, not the text that it is about.
        let room = whole.saturating_sub(context).max(whole / 2);
        InputLimits { one_window: self.one_window.min(room), window: self.window.min(room), ..self }
    }
}

/// The limit of an input is at least this, however few tokens a model is said to take.
const LEAST: usize = 16;

/// Most tokens of a note that are embedded together; a longer note becomes several documents. Voyage takes 32,000.
const MOST_TOGETHER: usize = 24_000;

/// The texts to embed for a chunk that reads `raw` and is situated by `context` (which may be empty).
/// `model_pieces` gives the byte where each piece of a text begins, in order, as
/// [`BuiltinModel::token_starts`](super::builtin::BuiltinModel::token_starts) does.
///
/// Never empty: a chunk without any words is embedded as its context. Equal arguments give equal inputs.
pub fn inputs(context: &str, raw: &str, model_pieces: &dyn Fn(&str) -> Vec<u32>) -> Vec<Input> {
    inputs_within(&InputLimits::BUILTIN, context, raw, model_pieces)
}

/// As [`inputs`], for another model.
pub fn inputs_within(
    limits: &InputLimits,
    context: &str,
    raw: &str,
    model_pieces: &dyn Fn(&str) -> Vec<u32>,
) -> Vec<Input> {
    let text = embeddable(raw);
    let starts = model_pieces(&text);
    let (context, limits) = fitted(limits, context.trim(), model_pieces);
    windows(&text, &starts, &limits)
        .into_iter()
        .map(|window| {
            // Pieces of `text` are always in range; those of another text must not cause a panic.
            let part = text.get(window).unwrap_or_default().trim();
            match (context, part) {
                ("", part) | (part, "") => {
                    Input { hash: input_hash(part), text: part.to_owned(), context: 0, expansion: String::new() }
                }
                (context, part) => Input {
                    hash: InputHash(Fields::new("input/2").bytes(context.as_bytes()).bytes(part.as_bytes()).finish()),
                    text: format!("{context}\n\n{part}"),
                    context: context.len(),
                    expansion: String::new(),
                },
            }
        })
        .collect()
}

/// Adds to an input the questions and terms beside its context, if the embedder takes them. Without any, the input
/// stays as it is.
#[must_use]
pub fn with_expansion(limits: &InputLimits, input: Input, expansion: &str) -> Input {
    if !limits.expansion || expansion.is_empty() {
        return input;
    }
    let hash = Fields::new("input-expanded/1").bytes(&input.hash.0).bytes(expansion.as_bytes()).finish();
    Input { hash: InputHash(hash), expansion: expansion.to_owned(), ..input }
}

/// The input without this context, for searches without contexts: its text alone, which is empty for a chunk without
/// words. `None` if there is no context: then the input's own vector serves such searches.
pub fn without_context(input: &Input, context: &str) -> Option<Input> {
    let hash = hash_without_context(input.hash);
    let text = if input.context > 0 { input.text.get(input.context..)?.trim_start() } else { "" };
    (!context.trim().is_empty()).then(|| Input { hash, text: text.to_owned(), context: 0, expansion: String::new() })
}

/// The hash of the input without its context. It follows from the input's own hash, so that nothing more needs to be
/// stored for a chunk.
pub fn hash_without_context(hash: InputHash) -> InputHash {
    InputHash(Fields::new("input-without-context/1").bytes(&hash.0).finish())
}

/// The texts to embed for the chunks of a note that a model sees together: one for each chunk, grouped by document.
/// They have no context: the model sees the text around them. An input's hash depends on its whole document, since its
/// vector does.
///
/// A document has [`MOST_TOGETHER`] pieces at most, and a chunk `limits.whole`; the rest of a longer chunk is cut off.
pub fn inputs_together(
    limits: &InputLimits,
    raws: &[&str],
    model_pieces: &dyn Fn(&str) -> Vec<u32>,
) -> Vec<Vec<Input>> {
    let most = limits.whole.unwrap_or(MOST_TOGETHER).min(MOST_TOGETHER);
    let mut documents: Vec<Vec<String>> = Vec::new();
    let mut room = 0;
    for raw in raws {
        let text = embeddable(raw);
        let starts = model_pieces(&text);
        let end = starts.get(most).map_or(text.len(), |end| *end as usize);
        let text = text.get(..end).unwrap_or(&text).trim().to_owned();
        let pieces = starts.len().min(most);
        match documents.last_mut() {
            Some(document) if pieces <= room => document.push(text),
            _ => {
                documents.push(vec![text]);
                room = MOST_TOGETHER;
            }
        }
        room -= pieces;
    }
    documents.into_iter().map(|texts| of_document(texts).collect()).collect()
}

/// The inputs of texts that are embedded together.
fn of_document(texts: Vec<String>) -> impl Iterator<Item = Input> {
    let fields = texts.iter().fold(Fields::new("input-together/1"), |fields, text| fields.bytes(text.as_bytes()));
    let document = fields.finish();
    texts.into_iter().enumerate().map(move |(place, text)| {
        let hash = Fields::new("input-of/1").bytes(&document).number(place as u64).finish();
        Input { hash: InputHash(hash), text, context: 0, expansion: String::new() }
    })
}

/// The context, cut to leave room for the text that it is about, and the limits under it.
fn fitted<'a>(
    limits: &InputLimits,
    context: &'a str,
    model_pieces: &dyn Fn(&str) -> Vec<u32>,
) -> (&'a str, InputLimits) {
    let Some(whole) = limits.whole else { return (context, *limits) };
    let starts = model_pieces(context);
    let end = starts.get(whole / 2).map_or(context.len(), |end| *end as usize);
    (context.get(..end).unwrap_or(context).trim_end(), limits.under(starts.len().min(whole / 2)))
}

/// Cuts `text` into equal windows at word boundaries. They cover it without gaps or overlaps.
fn windows(text: &str, starts: &[u32], limits: &InputLimits) -> Vec<Range<usize>> {
    let most = limits.window.max(1);
    if starts.len() <= limits.one_window {
        return std::iter::once(0..text.len()).collect();
    }
    // A cut moves back to a word's start, which makes the next window longer. If one gets too long, there must be more
    // windows: one more, or 3 % more if there are very many, since a line of megabytes is one chunk. The loop ends at
    // the latest when no window has more than one piece.
    let mut count = starts.len().div_ceil(most);
    let cuts = loop {
        let cuts = cuts(text, starts, count);
        let longest = cuts.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
        if longest <= most || count >= starts.len() {
            break cuts;
        }
        count += count.div_ceil(32);
    };
    let last = cuts.len() - 1;
    let place = |i: usize| match i {
        0 => 0,
        i if i == last => text.len(),
        i => starts[cuts[i]] as usize,
    };
    (0..last).map(|i| place(i)..place(i + 1)).collect()
}

/// The first pieces of `count` windows of about equal length, and the number of pieces; strictly rising.
fn cuts(text: &str, starts: &[u32], count: usize) -> Vec<usize> {
    let mut cuts = vec![0];
    for i in 1..count {
        let ideal = i * starts.len() / count;
        let before = cuts.last().copied().unwrap_or(0);
        // Half a window back at most: scripts without spaces are cut at a character.
        let lowest = (before + 1).max(ideal.saturating_sub(starts.len() / count / 2));
        // The pieces of one character share a place and stay together.
        let mut places = (lowest..=ideal).rev().filter(|k| starts[*k] != starts[*k - 1]);
        let nearest = places.clone().next();
        cuts.extend(places.find(|k| begins_word(text, starts[*k] as usize)).or(nearest));
    }
    cuts.push(starts.len());
    cuts
}

/// Whether the piece that begins at byte `at` is not within a run of letters and digits.
fn begins_word(text: &str, at: usize) -> bool {
    let Some((before, after)) = text.split_at_checked(at) else {
        return false;
    };
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    !(word(before.chars().next_back()) && word(after.chars().next()))
}

/// The text without the parts that mean nothing to a model that sees only words: comments (`<!-- -->`, `%% %%`), HTML
/// tags, the query strings of URLs, and lines that are nothing but a ruler (of a table, below a heading, between
/// paragraphs). Fenced and inline code stays as it is. Each removed stretch leaves a space.
pub fn embeddable(raw: &str) -> Cow<'_, str> {
    let noise = Scan { raw, at: 0, noise: Vec::new(), ends: [true; 2] }.run();
    if noise.is_empty() {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut kept = 0;
    for Range { start, end } in noise {
        out.push_str(&raw[kept..start]);
        out.push(' ');
        kept = end;
    }
    out.push_str(&raw[kept..]);
    Cow::Owned(out)
}

/// Comments: how they begin and end.
const COMMENTS: [(&str, &str); 2] = [("<!--", "-->"), ("%%", "%%")];

/// Finds noise in one pass. All marks are ASCII, so every range is on character boundaries.
struct Scan<'a> {
    raw: &'a str,
    at: usize,
    noise: Vec<Range<usize>>,
    /// Whether another end may follow, for each kind of [`COMMENTS`]: without this memory, a text of
    /// nothing but openings would be searched to its end for each of them.
    ends: [bool; 2],
}

impl Scan<'_> {
    fn run(mut self) -> Vec<Range<usize>> {
        let mut fence: Option<&str> = None;
        while self.at < self.raw.len() {
            let rest = &self.raw[self.at..];
            let line = &rest[..rest.find('\n').map_or(rest.len(), |n| n + 1)];
            let end = self.at + line.len();
            match (fence, fence_of(line)) {
                (None, Some(opens)) => {
                    fence = Some(opens);
                    self.at = end;
                }
                (Some(open), Some(closes)) if closes.starts_with(open) => {
                    fence = None;
                    self.at = end;
                }
                (Some(_), _) => self.at = end,
                (None, None) if is_ruler(line) => {
                    self.noise.push(self.at..self.at + line.trim_end().len());
                    self.at = end;
                }
                (None, None) => self.line(end),
            }
        }
        self.noise
    }

    /// Goes through the line that ends at `end`, or further if a comment does.
    fn line(&mut self, end: usize) {
        while self.at < end {
            let rest = &self.raw[self.at..];
            let line = &rest[..end - self.at];
            // Every seventeenth letter of English is an `h`: only those before a `t` are looked at.
            let bytes = line.as_bytes();
            let marks = |i: usize, b: u8| match b {
                b'`' | b'<' | b'%' => true,
                b'h' => bytes.get(i + 1) == Some(&b't'),
                _ => false,
            };
            let Some(next) = (0..bytes.len()).find(|i| marks(*i, bytes[*i])) else {
                self.at = end;
                return;
            };
            self.at += next;
            let line = &line[next..];
            if let Some(length) = self.comment() {
                self.cut(0, length);
            } else if let Some(length) = inline_code(line) {
                self.at += length;
            } else if let Some(length) = tag(line) {
                self.cut(0, length);
            } else if let Some(url) = url(line) {
                match query_string(url) {
                    Some(query) => self.cut(query.start, query.len()),
                    None => self.at += url.len(),
                }
            } else {
                // Skips the whole run of backticks: a shorter run at its end opens nothing either.
                self.at += line.bytes().take_while(|b| *b == b'`').count().max(1);
            }
        }
    }

    /// Records `length` bytes of noise after `skip` more bytes, and moves past them.
    fn cut(&mut self, skip: usize, length: usize) {
        let start = self.at + skip;
        self.at = start + length;
        self.noise.push(start..self.at);
    }

    /// The length of the comment that begins here.
    fn comment(&mut self) -> Option<usize> {
        let rest = &self.raw[self.at..];
        let kind = COMMENTS.iter().position(|(begin, _)| rest.starts_with(begin))?;
        let (begin, end) = COMMENTS[kind];
        if !self.ends[kind] {
            return None;
        }
        let found = rest[begin.len()..].find(end);
        self.ends[kind] = found.is_some();
        found.map(|n| begin.len() + n + end.len())
    }
}

/// The marks that open or close a code fence, if the line does.
fn fence_of(line: &str) -> Option<&str> {
    let line = line.trim_start_matches([' ', '\t', '>']);
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let marks = &line[..line.len() - line.trim_start_matches(mark).len()];
    (marks.len() >= 3).then_some(marks)
}

/// Whether the line only draws: `|---|:--:|`, `=====`, `* * *`.
fn is_ruler(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3
        && line.bytes().all(|b| matches!(b, b'|' | b':' | b'-' | b'=' | b'+' | b'*' | b'_' | b' '))
        && line.bytes().any(|b| matches!(b, b'-' | b'=' | b'*' | b'_'))
}

/// The length of the inline code that `line` begins with.
fn inline_code(line: &str) -> Option<usize> {
    let marks = line.bytes().take_while(|b| *b == b'`').count();
    let (open, rest) = line.split_at(marks);
    (marks > 0).then(|| rest.find(open).map(|n| 2 * marks + n)).flatten()
}

/// HTML elements that are markup in notes. It is a fixed list because people also write placeholders and types as
/// `<name>`.
const ELEMENTS: &str = "a abbr b blockquote br center cite code col colgroup dd del details div dl dt em \
    figcaption figure font h1 h2 h3 h4 h5 h6 hr i iframe img input ins kbd label li mark ol p \
    pre q s samp section small source span strike strong style sub summary sup svg table tbody \
    td tfoot th thead tr u ul var video wbr";

/// The length of the HTML tag that `line` begins with.
fn tag(line: &str) -> Option<usize> {
    let inner = line.strip_prefix('<')?;
    let length = inner.find(['<', '>']).filter(|n| inner.as_bytes()[*n] == b'>')?;
    let name = inner[..length].trim_start_matches('/');
    let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
    let after = inner[..length].trim_start_matches('/')[name.len()..].bytes().next();
    let whole = matches!(after, None | Some(b' ' | b'\t' | b'/'));
    (whole && ELEMENTS.split(' ').any(|e| e.eq_ignore_ascii_case(name))).then_some(length + 2)
}

/// The URL that `line` begins with.
fn url(line: &str) -> Option<&str> {
    if !line.starts_with("http://") && !line.starts_with("https://") {
        return None;
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | ')' | ']' | '|' | '`');
    Some(&line[..line.find(ends).unwrap_or(line.len())])
}

/// The query string of a URL, with its question mark.
fn query_string(url: &str) -> Option<Range<usize>> {
    let start = url.find('?')?;
    let end = url[start..].find('#').map_or(url.len(), |n| start + n);
    (end > start + 1).then_some(start..end)
}

#[cfg(test)]
mod tests;
