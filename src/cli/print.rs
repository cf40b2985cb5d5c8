//! What reaches a terminal or a pipe: one writer that dies quietly when nobody reads, widths, colours.
//!
//! Everything that the program did not write itself (text, titles and paths of notes, messages of the daemon) passes
//! through [`printable`] where it is printed.

use std::io::{self, IsTerminal, Write};
use std::ops::Range;
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use owo_colors::OwoColorize as _;
use terminal_size::{Height, Width, terminal_size_of};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr as _};

pub(super) use index::search::printable::{printable, printable_json, printable_lines};

/// A path for a person.
pub(super) fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

/// A path, escaped as one word of a command: folders of a Mac have spaces in their names.
pub(super) fn typed(path: &Path) -> String {
    escaped(&path.to_string_lossy(), |c| c.is_alphanumeric() || "/._-+@:,=%~".contains(c))
}

/// A text with a backslash before each character that is not plain.
pub(super) fn escaped(text: &str, is_plain: impl Fn(char) -> bool) -> String {
    text.chars().flat_map(|c| (!is_plain(c)).then_some('\\').into_iter().chain([c])).collect()
}

/// Width of text that goes to a file or pipe.
const PIPE_WIDTH: usize = 100;

/// No text is laid out narrower: a few columns would hold no word.
const MIN_WIDTH: usize = 20;

/// No line is longer, however wide the terminal is: it would be hard to read.
const MAX_WIDTH: usize = 120;

/// When there are colours, or links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Styling {
    /// On terminals, unless NO_COLOR or TERM=dumb says no; CLICOLOR_FORCE says yes.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Standard output.
pub(super) struct Out {
    stream: AutoStream<Box<dyn Write + Send>>,
    width: usize,
    terminal: bool,
    /// Links are written although colours are not.
    only_links: bool,
}

impl Styling {
    /// Whether the user wants no colours at all.
    pub(super) fn is_plain(self) -> bool {
        self == Styling::Never || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
    }

    /// Applies to all that is printed from now on, messages on standard error included.
    pub(super) fn apply(self) {
        match self {
            Styling::Auto => {}
            Styling::Always => ColorChoice::AlwaysAnsi.write_global(),
            Styling::Never => ColorChoice::Never.write_global(),
        }
    }
}

impl Out {
    /// Standard output of the process.
    pub(super) fn stdout(color: Styling) -> Self {
        let stdout = io::stdout();
        color.apply();
        let choice = AutoStream::choice(&stdout);
        let terminal = stdout.is_terminal();
        let width = if terminal { width(terminal_size_of(&stdout)) } else { PIPE_WIDTH };
        let stream = AutoStream::new(Box::new(stdout) as Box<dyn Write + Send>, choice);
        Out { stream, width, terminal, only_links: false }
    }

    /// One that prints nothing.
    pub(super) fn silent() -> Self {
        let stream = AutoStream::never(Box::new(io::sink()) as Box<dyn Write + Send>);
        Out { stream, width: PIPE_WIDTH, terminal: false, only_links: false }
    }

    /// Columns to lay text out in, 20..=120.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Columns that a place may take: another program gets the whole of it.
    pub(super) fn room_for_places(&self) -> usize {
        if self.terminal { self.width } else { usize::MAX }
    }

    /// Whether standard output is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// Decides whether links are written from now on.
    pub(super) fn links(&mut self, when: Styling) -> bool {
        let coloured = self.stream.current_choice() != ColorChoice::Never;
        match when {
            Styling::Never => return false,
            Styling::Auto => {
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                return self.terminal && coloured && !dumb;
            }
            Styling::Always => {}
        }
        if !coloured {
            // The stream strips every escape sequence; from now on we strip all except links.
            let writer = std::mem::replace(&mut self.stream, Out::silent().stream).into_inner();
            self.stream = AutoStream::always_ansi(writer);
            self.only_links = true;
        }
        true
    }

    /// One line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) -> io::Result<()> {
        if self.only_links {
            self.stream.write_all(only_links(line.as_ref()).as_bytes())?;
        } else {
            self.stream.write_all(line.as_ref().as_bytes())?;
        }
        self.stream.write_all(b"\n")?;
        self.stream.flush()
    }

    /// An empty line, before each part but the first.
    pub(super) fn part(&mut self, i: usize) -> io::Result<()> {
        if i > 0 { self.line("") } else { Ok(()) }
    }

    /// Text as it is, without an added line end.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(text.as_bytes())?;
        self.stream.flush()
    }

    /// A value as JSON on one line, or indented for a person.
    pub(super) fn json(&mut self, value: &serde_json::Value) -> io::Result<()> {
        let text = if self.terminal { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        self.line(printable_json(&text?))
    }

    /// A paragraph, wrapped, with a margin before each line.
    pub(super) fn wrapped(&mut self, margin: &str, text: &str) -> io::Result<()> {
        for range in wrap(text, self.width.saturating_sub(margin.width())) {
            self.line(format!("{margin}{}", &text[range]))?;
        }
        Ok(())
    }

    /// A name and its value, which is wrapped in a separate column.
    pub(super) fn row(&mut self, margin: &str, name: &str, column: usize, value: &str) -> io::Result<()> {
        let indent = margin.width() + column;
        // If the column would be too narrow for words, the value gets whole lines.
        let (indent, room) = match self.width.saturating_sub(indent) {
            room if room >= MIN_WIDTH => (indent, room),
            _ => (margin.width(), self.width.saturating_sub(margin.width())),
        };
        let mut name = format!("{margin}{}", padded(name, column));
        if indent == margin.width() {
            self.line(name.trim_end())?;
            name = margin.to_owned();
        }
        for range in wrap(value, room) {
            self.line(format!("{name}{}", &value[range]))?;
            name = " ".repeat(indent);
        }
        Ok(())
    }
}

/// Columns of the terminal on standard error; `None` if it is not a terminal.
pub(super) fn said_width() -> Option<usize> {
    let stderr = io::stderr();
    stderr.is_terminal().then(|| width(terminal_size_of(stderr)))
}

fn width(size: Option<(Width, Height)>) -> usize {
    let columns = size.map_or(0, |(Width(columns), _)| usize::from(columns));
    if columns == 0 { 80 } else { columns.clamp(MIN_WIDTH, MAX_WIDTH) }
}

/// Columns that a text takes.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// Byte ranges of the lines that a text makes at a width: broken between words, and within a word only if it does not
/// fit on one line. Line ends in the text are kept.
pub(super) fn wrap(text: &str, width: usize) -> Vec<Range<usize>> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut begin = 0;
    for line in text.split('\n') {
        wrap_line(text, begin..begin + line.len(), width, &mut lines);
        begin += line.len() + 1;
    }
    lines
}

fn wrap_line(text: &str, line: Range<usize>, width: usize, lines: &mut Vec<Range<usize>>) {
    let (mut start, mut end, mut used) = (line.start, line.start, 0);
    // Not the same as `used > 0`: a mark that stands alone is a word of no width.
    let mut begun = false;
    for word in words(&text[line.clone()]) {
        let (from, position) = (line.start + word.start, line.start + word.end);
        let word = &text[from..position];
        let gap = text[end..from].width();
        if begun && used + gap + word.width() > width {
            lines.push(start..end);
            (start, used, begun) = (from, 0, false);
        } else if begun {
            used += gap;
        } else {
            // White space before the first word of a line is indentation and stays if there is room.
            let indent = text[start..from].width();
            if indent + word.width() <= width {
                used += indent;
            } else {
                start = from;
            }
        }
        let mut from = from;
        for cluster in word.graphemes(true) {
            if begun && used + cluster.width() > width {
                lines.push(start..from);
                (start, used) = (from, 0);
            }
            begun = true;
            used += cluster.width();
            from += cluster.len();
        }
        end = position;
    }
    lines.push(start..end.max(start));
}

/// The pieces that a line is not broken within: what is between white space, or single words where characters are wide
/// (Chinese, Japanese, …). `$0.42`, `--since` and a comma stay with what they belong to.
fn words(line: &str) -> Vec<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let is_wide = |c: Option<char>| c.and_then(UnicodeWidthChar::width).is_some_and(|width| width > 1);
    for (at, piece) in line.split_word_bound_indices().filter(|(_, piece)| !piece.trim().is_empty()) {
        let end = at + piece.len();
        match words.last_mut() {
            Some(word)
                if word.end == at && !is_wide(line[..at].chars().next_back()) && !is_wide(piece.chars().next()) =>
            {
                word.end = end;
            }
            _ => words.push(at..end),
        }
    }
    words
}

/// At most `width` columns of a text, with `…` where it was cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for cluster in text.graphemes(true) {
        if used + cluster.width() + 1 > width {
            break;
        }
        used += cluster.width();
        out.push_str(cluster);
    }
    out.push('…');
    out
}

/// The last `width` columns of a text, with `…` where it was cut: the end of a path says more.
pub(super) fn cut_front(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut used, mut from) = (1, text.len());
    for (at, cluster) in text.grapheme_indices(true).rev() {
        if used + cluster.width() > width {
            break;
        }
        used += cluster.width();
        from = at;
    }
    format!("…{}", &text[from..])
}

/// A title and the headings below it in `width` columns: ` › ` before each heading; if not all fit, the innermost ones.
pub(super) fn headings(title: &str, path: &[String], width: usize) -> (String, String) {
    let title = printable(title).into_owned();
    // The title of a note is often its first heading: once is enough.
    let below = path.iter().map(|heading| printable(heading)).skip_while(|heading| *heading == title);
    let below: String = below.flat_map(|heading| [" › ".into(), heading]).collect();
    let title = cut(&title, width);
    let room = width.saturating_sub(columns(&title));
    if columns(&below) <= room {
        return (title, below);
    }
    if room < 8 {
        return (title, String::new());
    }
    let inner = format!(" › {}", cut_front(below.trim_start_matches(" › "), room - 3));
    (title, inner)
}

/// `text` followed by spaces up to `width` columns.
pub(super) fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// The pieces of `text[line]`, and whether each is marked. A mark that does not fit this text is skipped rather than
/// trusted.
pub(super) fn pieces(
    text: &str,
    line: Range<usize>,
    marks: impl IntoIterator<Item = Range<usize>>,
) -> impl Iterator<Item = (&str, bool)> {
    let mut pieces = Vec::new();
    let mut at = line.start;
    for mark in marks {
        let (from, to) = (mark.start.max(at), mark.end.min(line.end));
        if from < to && text.is_char_boundary(from) && text.is_char_boundary(to) {
            pieces.extend([(&text[at..from], false), (&text[from..to], true)]);
            at = to;
        }
    }
    pieces.push((&text[at..line.end], false));
    pieces.into_iter()
}

/// Marks byte ranges of `text[line]` with `paint`.
pub(super) fn highlighted(text: &str, line: Range<usize>, marks: &[(u32, u32)], paint: fn(&str) -> String) -> String {
    let marks = marks.iter().map(|(from, to)| *from as usize..*to as usize);
    pieces(text, line, marks).map(|(piece, marked)| if marked { paint(piece) } else { piece.to_owned() }).collect()
}

macro_rules! paints {
    ($($name:ident = $style:ident;)+) => {
        $(pub(super) fn $name(text: impl AsRef<str>) -> String {
            text.as_ref().$style().to_string()
        })+
    };
}

paints! { bold = bold; dim = dimmed; cyan = cyan; green = green; yellow = yellow; red = red; }

/// How a link begins (OSC 8), and how it ends.
const LINK: (&str, &str) = ("\u{1b}]8;;", "\u{1b}\\");

/// Text that a terminal opens when it is clicked. `url` holds nothing that could end the sequence.
pub(super) fn link(url: &str, text: &str) -> String {
    let (begin, end) = LINK;
    format!("{begin}{url}{end}{text}{begin}{end}")
}

/// A line without any escape sequences except links.
fn only_links(line: &str) -> String {
    let (begin, end) = LINK;
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(begin) {
        let Some((url, after)) = after.split_once(end) else { break };
        out.push_str(&anstream::adapter::strip_str(before).to_string());
        out.extend([begin, url, end]);
        rest = after;
    }
    out.push_str(&anstream::adapter::strip_str(rest).to_string());
    out
}

/// Paints what matches a query.
pub(super) fn mark(text: &str) -> String {
    text.bold().yellow().to_string()
}

/// A number with its thousands separated.
pub(super) fn grouped(n: u64) -> String {
    indicatif::HumanCount(n).to_string()
}

/// `1 note`, `2 notes`, `3 queries`, `4 watches`.
pub(super) fn counted(n: u64, noun: &str) -> String {
    let (stem, end) = match noun.strip_suffix('y') {
        _ if n == 1 => (noun, ""),
        Some(stem) if !stem.ends_with('a') => (stem, "ies"),
        _ if noun.ends_with("ch") => (noun, "es"),
        _ => (noun, "s"),
    };
    format!("{} {stem}{end}", grouped(n))
}

/// Milliseconds as a person says them.
pub(super) fn millis(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms if ms < 1000.0 => format!("{ms:.0} ms"),
        ms if ms < 60_000.0 => format!("{:.1} s", ms / 1e3),
        ms => format!("{} min {} s", (ms / 60_000.0) as u64, (ms / 1000.0) as u64 % 60),
    }
}

/// Bytes as a person says them.
pub(super) fn bytes(n: u64) -> String {
    let n = n as f64;
    match n {
        n if n < 1000.0 => format!("{n} B"),
        n if n < 1e6 => format!("{:.1} kB", n / 1e3),
        n if n < 1e9 => format!("{:.1} MB", n / 1e6),
        n => format!("{:.1} GB", n / 1e9),
    }
}

/// How long ago a time was; both in seconds since 1970.
pub(super) fn age(now: i64, then: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    match now.saturating_sub(then) {
        s if s < MINUTE => "now".to_owned(),
        s if s < HOUR => format!("{} min", s / MINUTE),
        s if s < DAY => format!("{} h", s / HOUR),
        s if s < 14 * DAY => format!("{} d", s / DAY),
        s if s < 60 * DAY => format!("{} wk", s / (7 * DAY)),
        s if s < 730 * DAY => format!("{} mo", s / (30 * DAY)),
        s => format!("{} y", s / (365 * DAY)),
    }
}

/// `3 h ago`, `just now`.
pub(super) fn ago(now: i64, then: i64) -> String {
    match age(now, then).as_str() {
        "now" => "just now".to_owned(),
        age => format!("{age} ago"),
    }
}

/// A time, in seconds since 1970, on the clock of this machine.
pub(super) fn local(at: i64) -> Option<jiff::Zoned> {
    Some(jiff::Timestamp::from_second(at).ok()?.to_zoned(jiff::tz::TimeZone::system()))
}

/// Seconds since 1970 now.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
mod tests;
