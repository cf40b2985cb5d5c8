//! Parses a note. Parsing cannot fail: any byte string gives a [`Note`], oddities become [`Warning`]s. Pure: bytes in,
//! structure out.

pub mod chunk;
mod dates;
mod decode;
mod fields;
pub mod fingerprint;
pub mod format;
mod frontmatter;
mod guard;
mod ids;
mod kind;
mod lenient;
mod links;
mod markdown;
mod marks;
mod org;
mod outline;
pub mod path;
mod periodic;
mod plain;
mod private;
mod render;
mod rst;
mod spans;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::Range;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::fingerprint::{SectionKey, StructureHash, TextHash};
use crate::guard::Guard;
use crate::markdown::Pass;

pub use format::Format;
pub use frontmatter::FrontMatter;
pub use frontmatter::{FIELDS, dates_note};
pub use ids::{BY_ID, ids};
pub use links::{IN_VAULT, percent_decoded};
pub use path::{FileStat, VaultPath};
pub use periodic::{LOGSEQ as LOGSEQ_SETTINGS, Periodic, SETTINGS as PERIODIC_SETTINGS, journals, read as periodic};
pub use private::{Private, TAG as PRIVATE_TAG};
pub use render::{BETWEEN_CELLS, HeadingLine, PARTED, Rendered, render};

/// A parsed note. All spans are byte ranges of [`Note::text`].
#[derive(Clone, Debug)]
pub struct Note {
    /// Its path in its vault.
    pub path: VaultPath,
    /// The note as text. For UTF-8 without a byte order mark these are exactly the file's bytes, but that a carriage return
    /// alone is a line feed.
    pub text: String,
    /// Hash of the file's bytes as read.
    pub hash: TextHash,
    /// The front matter, empty if there is none.
    pub front: FrontMatter,
    /// Where the body starts in `text`: after byte order mark and front matter.
    pub body: usize,
    /// From front matter, else the only level-1 heading if its reader sees no words before it, else the name of the page or
    /// file.
    pub title: String,
    /// Kind of note (`"daily"`, `"project"`, …): front matter, else [`NoteRules`].
    pub kind: Option<String>,
    /// The days that it names.
    pub days: OwnDays,
    /// The headings in order.
    pub outline: Vec<Heading>,
    /// The text cut at the headings, in order; they cover `body..` without gaps.
    pub sections: Vec<Section>,
    /// The top-level blocks in order: where a chunk may be cut.
    pub blocks: Vec<Block>,
    /// Links and embeds in order.
    pub links: Vec<Link>,
    /// Tags of front matter, of properties at the top and of the text, without `#`, each once, in order of appearance.
    pub tags: Vec<String>,
    /// `^block-ids` without the caret, with its byte position, and Logseq's ids of blocks, with that of the block.
    pub block_ids: Vec<(String, usize)>,
    /// Where front matter, or the beginning of one, is that cannot be read. Its words are found, but no model sees it.
    pub unread: Option<Range<usize>>,
    /// Spans not to be indexed: `%%comments%%`, HTML comments, files that are written into addresses, and what programs keep
    /// in a note for themselves.
    pub hidden: Vec<Range<usize>>,
    /// Footnote references and tags between the words of a text, in order: `[^1]`, `<b>`. A reader sees no words there.
    pub between: Vec<Range<usize>>,
    /// An HTML comment that is never closed, which is read as text, with what a reader of the note does not see because of it.
    pub unclosed: Option<Range<usize>>,
    /// What was odd.
    pub warnings: Vec<Warning>,
}

/// A heading, ATX or setext.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// 1..=6.
    pub level: u8,
    /// Text without inline markup, white space folded, NFC; may be empty.
    pub text: String,
    /// The whole heading in [`Note::text`].
    pub span: Range<usize>,
}

/// A heading with its own text, up to the next heading of any level; or the text before the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its heading in [`Note::outline`]; `None` for the text before the first heading.
    pub heading: Option<usize>,
    /// The outline indices of its heading path, outermost first, its own heading last.
    pub path: Vec<usize>,
    /// Identifies the section in the note.
    pub key: SectionKey,
    /// From the start of its heading to the start of the next one.
    pub span: Range<usize>,
    /// Its own text, without the heading.
    pub content: Range<usize>,
}

/// A top-level block of Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Where it is; begins at a line's start.
    pub span: Range<usize>,
    /// Line starts inside `span` where the block may be cut if it is too long: the starts of items, rows,
    /// code lines, quoted lines. For a table the header's rows come first and may be repeated.
    pub cuts: Vec<usize>,
}

/// Kinds of [`Block`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading.
    Heading,
    /// A paragraph (or anything not named below).
    #[default]
    Paragraph,
    /// A list, ordered or not, tasks included.
    List,
    /// A table.
    Table,
    /// Fenced or indented code, or display math.
    Code,
    /// A block quote or callout.
    Quote,
    /// Raw HTML.
    Html,
}

/// A link or embed as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// `[[wikilink]]` or `[markdown](link)`.
    pub kind: LinkKind,
    /// Whether it embeds its target (`![[…]]`, `![…](…)`).
    pub embed: bool,
    /// The vault of its target, as Dendron names it: mostly a folder of that name.
    pub vault: Option<String>,
    /// The target note or file as written, percent-decoded for Markdown links, without heading and block
    /// part; empty for a link within the note.
    pub target: String,
    /// The part after `#`, without it.
    pub heading: Option<String>,
    /// The part after `#^` or `^`, without it.
    pub block: Option<String>,
    /// The text shown, if it differs from the target.
    pub alias: Option<String>,
    /// Where it is.
    pub span: Range<usize>,
}

/// Kinds of [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// `[[target]]`.
    Wiki,
    /// `[text](target)` whose target is no URL.
    Markdown,
    /// A link with a scheme (`https:`, `mailto:`).
    Url,
}

/// Something odd in a note. Shown by `situated status` and `get`; never fatal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// 1-based line in the note.
    pub line: u32,
    /// What is odd and what was done about it, without note text.
    pub message: String,
}

/// The days that a note names, by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnDays {
    /// The day it is about: the property `date`, or a date in its file's name. Such a note stays at that day.
    pub about: Option<jiff::civil::Date>,
    /// When it was made, as a property says.
    pub created: Option<jiff::civil::Date>,
    /// When it was changed, as a property says.
    pub modified: Option<jiff::civil::Date>,
}

impl OwnDays {
    /// The days of the note at `path` with these properties, a JSON object; anything else counts as no properties.
    pub fn read(path: &VaultPath, properties: &str, rules: &NoteRules) -> OwnDays {
        let properties = serde_json::from_str(properties).unwrap_or_default();
        frontmatter::own_days(kind::named(path, rules), &properties)
    }

    /// The day that it is about, else that on which it was made.
    pub fn day(&self) -> Option<jiff::civil::Date> {
        self.about.or(self.created)
    }

    /// The day on which it was made, else that which it is about.
    pub fn made(&self) -> Option<jiff::civil::Date> {
        self.created.or(self.about)
    }
}

/// What decides a note's kind when its front matter does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteRules {
    /// `(folder or glob, kind)`, first match wins.
    pub folders: Vec<(String, String)>,
    /// Notes that an application names by days.
    pub periodic: Vec<Periodic>,
    /// How Logseq calls the pages of days, if it is not as usual.
    pub journals: Option<String>,
    /// Whether Markdown comments are read as text.
    pub comments: bool,
    /// Whether Logseq keeps the vault: there a tag is a link to the page of its name.
    pub logseq: bool,
}

impl NoteRules {
    /// Names how notes are read by these rules: see [`READING`].
    pub fn reading(&self) -> String {
        let folders = self.folders.iter().map(|(place, kind)| format!(" {kind}={place:?}"));
        let periodic = self.periodic.iter().map(|one| format!(" {}:{}/{}", one.kind, one.folder, one.written));
        let comments = if self.comments { " comments" } else { "" };
        let journals = self.journals.iter().map(|format| format!(" journals:{format}"));
        let logseq = if self.logseq { " logseq" } else { "" };
        READING.to_owned() + comments + logseq + &folders.chain(periodic).chain(journals).collect::<String>()
    }
}

/// The version of how notes are read, as part of how they are cut. Notes that another version read are read again,
/// which buys no contexts, whatever became of their outlines, and embeds only what reads differently. 2: broken front
/// matter and Logseq's `tags::` can be private. 3: names that are dates in words, and of weeks, months and quarters. 4:
/// wikilinks whose text may stand first. 5: embeds too; links whose text has brackets. 6: texts that are shown have no
/// comments either. 7: Logseq's properties, `key:: value` in texts, names of files that stand for others, entities and
/// marks within words, Org's quotes; comments in Markdown alone. 8: references of Logseq and Org by ids, a file's own
/// drawer in Org. 9: days in properties. 10: Org's headlines without the states of tasks, all of Org's lines of tags;
/// titles of Org and reStructuredText without marks; files within addresses; numbers in lists of properties. 11: targets
/// of wikilinks, footnote references and tags behind the words that they stand between; more of the links of Dendron,
/// Logseq, Denote and Org. 12: a file's tags within drawers and blocks of Org; private tags of
/// reStructuredText; ids of blocks in lines of their own alone. 13: front matter in TOML and JSON; such as cannot be read
/// is not embedded; links with colons, days in linked properties, titles below comments and imports, what callouts,
/// admonitions and tabs hold, and nothing of what Logseq, Excalidraw and web pages keep for programs. 14: long lines are
/// cut between words; paragraphs above rows of dashes in plain text; paths from the root of a repository or of Obsidian's
/// vault above the vault.
const READING: &str = "notes/14";

/// The warning about a note that is private because its front matter cannot be read.
pub const GUARDED: &str = "front matter cannot be read and names a private tag: the note is private until it can";

/// Most bytes between a note's properties and the heading that is its title, except for comments.
const MOST_ABOVE_TITLE: usize = 2000;

/// Parses a note. Never fails, never panics, linear in the length of `bytes`.
pub fn parse(path: &VaultPath, bytes: &[u8], rules: &NoteRules) -> Note {
    let decode::Decoded { text, start, warning } = decode::decode(bytes);
    let mut warnings: Vec<Warning> = warning.into_iter().collect();
    let format = path.format();
    let Structure { pass, mut front, guard, body } = Structure::read(format, &text, start, &mut warnings);
    let Pass { headings, mut blocks, mut found } = pass;
    let mut hidden = found.hidden(has_comments(path, rules), &text, &mut warnings);
    let shown = |at: usize| {
        let next = hidden.partition_point(|span| span.end <= at);
        hidden.get(next).is_none_or(|span| at < span.start)
    };

    let mut outline = Vec::with_capacity(headings.len());
    for (heading, block) in headings {
        // A heading that is commented out is not part of the note's structure.
        if shown(heading.span.start) {
            outline.push(heading);
        } else {
            blocks[block].kind = BlockKind::Paragraph;
        }
    }
    found.links.retain(|link| shown(link.span.start));
    let in_text = found.tags.iter().filter(|tag| shown(tag.start)).map(|tag| &text[tag.clone()]);
    let fields: Vec<_> = found.fields.into_iter().filter(|(key, _)| shown(key.start)).collect();
    let top = fields::top(&text, body, &fields);
    fields::add(&mut front, &text, top, &fields);
    let at_top = fields::tags(&text, top, &fields);
    let mut tags = distinct_tags(front.tags.iter().chain(&at_top).map(String::as_str).chain(in_text));
    if let Some(tag) = guard.tag.filter(|_| !tags.iter().any(|tag| private::is_private(tag))) {
        if guard.unread.is_some() {
            warnings.push(Warning { line: 1, message: GUARDED.to_owned() });
        }
        tags.push(tag);
    }
    let block_ids = found.block_ids.iter().filter(|id| shown(id.start));
    let block_ids: Vec<_> = block_ids.map(|id| (text[id.clone()].to_owned(), id.start - 1)).collect();
    if format == Format::Markdown {
        hidden = spans::in_order(hidden.into_iter().chain(fields::unseen(&text, &fields)).collect());
    }
    let named = kind::named(path, rules);
    let mut note = Note {
        hash: crate::fingerprint::text_hash(bytes),
        body,
        title: String::new(),
        kind: front.kind.clone().or_else(|| kind::by_place(path, rules, named)),
        days: frontmatter::own_days(named, &front.properties),
        sections: outline::sections(&text, body, &outline),
        tags,
        block_ids: block_ids.into_iter().chain(fields::block_ids(&text, body, &fields)).collect(),
        path: path.clone(),
        links: found.links,
        unread: guard.unread,
        front,
        // In plain text they are text.
        between: if format == Format::Text { Vec::new() } else { found.between },
        unclosed: found.unclosed,
        outline,
        blocks,
        hidden,
        warnings,
        text,
    };
    note.title = title(&note, top, rules);
    note
}

/// Whether comments are left out. Where nobody writes Markdown, in plain text and in documents that are converted (a
/// canvas without the comments of its cards), their marks are text.
fn has_comments(path: &VaultPath, rules: &NoteRules) -> bool {
    match path.format() {
        Format::Markdown => !rules.comments,
        format => matches!(format, Format::Org | Format::Rst),
    }
}

/// What a text has besides its words.
#[derive(Default)]
struct Structure {
    pass: Pass,
    front: FrontMatter,
    guard: Guard,
    /// Where the body starts.
    body: usize,
}

impl Structure {
    fn read(format: Format, text: &str, start: usize, warnings: &mut Vec<Warning>) -> Structure {
        let none = Structure { body: start, ..Structure::default() };
        match format {
            Format::Markdown | Format::Text | Format::Canvas | Format::Html | Format::Epub | Format::Docx => {
                let mut read = Structure::of_markdown(text, start, warnings);
                if format == Format::Text {
                    read.pass.headings.retain(|(heading, block)| {
                        let is_heading = plain::is_heading(text, read.body, &heading.span);
                        if !is_heading {
                            read.pass.blocks[*block].kind = BlockKind::Paragraph;
                        }
                        is_heading
                    });
                }
                read
            }
            Format::Org => {
                let (pass, keywords) = org::pass(text, start);
                Structure { pass, front: frontmatter::typed(keywords), ..none }
            }
            Format::Rst => Structure { pass: rst::pass(text, start), guard: guard::look_in_rst(text), ..none },
            Format::Base => Structure { pass: plain::settings(text, start), ..none },
            Format::Pdf | Format::Attachment => Structure { pass: plain::pages(text, start), ..none },
        }
    }

    fn of_markdown(text: &str, start: usize, warnings: &mut Vec<Warning>) -> Structure {
        let cut = frontmatter::read(text, start, warnings);
        let guard = guard::look(text, start, &cut);
        let frontmatter::Cut { front, yaml, body, .. } = cut;
        let mut found = links::Found::default();
        found.properties(text, yaml);
        let mut pass = markdown::pass(text, body, found);
        if front.property("excalidraw-plugin").is_some() {
            pass.hide_drawing(text);
        }
        Structure { pass, front, guard, body }
    }
}

/// The text of a note's bytes, as [`parse`] reads it.
pub fn text(bytes: &[u8]) -> String {
    decode::decode(bytes).text
}

/// What a model may see of the text that the note at `path` begins with: all but front matter that cannot be read.
pub fn shown_to_models<'a>(path: &VaultPath, text: &'a str) -> &'a str {
    if !path.format().is_markdown() {
        return text;
    }
    let cut = frontmatter::read(text, 0, &mut Vec::new());
    let unread = guard::look(text, 0, &cut).unread;
    unread.and_then(|unread| text.get(unread.end..)).unwrap_or(text)
}

/// In lower case and without accents, as words of dates are compared.
pub fn fold(text: &str) -> String {
    dates::words::fold(text)
}

/// The month, 1 to 12, that a word names in any language whose words are stemmed: by its whole name, or by at least the
/// first three letters of it.
pub fn month(word: &str) -> Option<i8> {
    dates::words::month(&dates::words::fold(word))
}

/// The weekday, 1 (Monday) to 7, that a word names in the same way.
pub fn weekday(word: &str) -> Option<i8> {
    let word = dates::words::fold(word);
    dates::words::weekday(&word).filter(|_| word.chars().nth(2).is_some())
}

/// The whole names of months, folded: the language (`en`), the name, and which month it is.
pub fn months() -> impl Iterator<Item = (&'static str, &'static str, i8)> {
    dates::words::months()
}

/// The whole names of weekdays, in the same way.
pub fn weekdays() -> impl Iterator<Item = (&'static str, &'static str, i8)> {
    dates::words::weekdays()
}

/// The day that the value of a property names, in any of the forms that people write.
pub fn day(value: &serde_json::Value) -> Option<jiff::civil::Date> {
    dates::from_value(value)
}

/// The day that a whole name is, in any of these forms, with or without its weekday.
pub fn day_named(name: &str) -> Option<jiff::civil::Date> {
    let of_day = || dates::in_name(name).filter(|named| named.kind == Some(dates::DAILY)).map(|named| named.date);
    dates::in_figures(name).or_else(of_day)
}

/// The link that a whole text is, as notes have it in any format: `[[Note#Heading|text]]`, `[text](Note.md)`,
/// `[[file:note.org][text]]`, `((id))`.
pub fn link(text: &str) -> Option<Link> {
    let read = |format| {
        let links = Structure::read(format, text, 0, &mut Vec::new()).pass.found.links;
        links.into_iter().find(|link| link.span == (0..text.len()))
    };
    let between_notes = |link: &Link| link.kind != LinkKind::Url;
    let markdown = read(Format::Markdown).filter(|_| !text.contains("]["));
    markdown.clone().filter(between_notes).or_else(|| read(Format::Org)).or(markdown)
}

/// The day that a whole text is, written in digits: `2026-11-20`, `2026/11/20`, `20.11.2026`; not `3/8/2026`, which
/// some read as March.
pub fn day_in_figures(text: &str) -> Option<jiff::civil::Date> {
    dates::in_figures(text)
}

/// What the note is called. Properties end at `top`.
fn title(note: &Note, top: usize, rules: &NoteRules) -> String {
    let (path, format) = (&note.path, note.path.format());
    let journal = path.journal().filter(|_| path.folder().ends_with("journals"));
    let called = journal.zip(rules.journals.as_ref()).map(|(day, format)| dates::in_logseq(day, format));
    // A headline of a day in Org is an entry of that day.
    let heading = outline::title(&note.outline).filter(|_| format != Format::Org || path.journal().is_none());
    let heading = heading.filter(|first| shows_nothing(note, top..first.span.start)).map(|heading| &heading.text);
    // An attachment is called by its whole name.
    let name = if format == Format::Attachment { Some(path.file_name().to_owned()) } else { path.page() };
    let told = note.front.title.as_ref().or(heading).cloned();
    told.or(called).or(name).unwrap_or_else(|| path.stem().to_owned())
}

/// Whether a reader of the note sees no words there: white space, a comment, tags, a rule.
fn shows_nothing(note: &Note, span: Range<usize>) -> bool {
    let written = chunk::visible(note, &span);
    let written = written.trim();
    // So much that is no comment says something.
    written.len() < MOST_ABOVE_TITLE && !render(note.path.format(), written).text.contains(char::is_alphanumeric)
}

/// Tags in NFC, each once whatever its case, as first written.
fn distinct_tags<'a>(tags: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = HashSet::new();
    tags.filter(|tag| seen.insert(tag.to_lowercase().nfc().collect::<String>()))
        .map(|tag| if is_nfc(tag) { tag.to_owned() } else { tag.nfc().collect() })
        .collect()
}

/// The 1-based line that comes after `before`.
fn line_at(before: &[u8]) -> u32 {
    before.split(|b| *b == b'\n').count() as u32
}

impl Note {
    /// The hash that decides whether contexts must be written anew.
    pub fn structure(&self) -> StructureHash {
        crate::fingerprint::structure_hash(self.outline.iter().map(|h| (h.level, h.text.as_str())))
    }

    /// The 1-based line of a byte position, found by counting.
    pub fn line_of(&self, position: usize) -> u32 {
        let end = position.min(self.text.len());
        line_at(&self.text.as_bytes()[..end])
    }

    /// The heading texts of a section's path, outermost first.
    pub fn heading_path(&self, section: &Section) -> Vec<&str> {
        section.path.iter().map(|h| self.outline[*h].text.as_str()).collect()
    }
}
