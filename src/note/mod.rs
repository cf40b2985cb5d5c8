//! One note understood. Parsing cannot fail: any byte string gives a [`Note`], oddities become
//! [`Warning`]s. Pure: bytes in, structure out.

mod decode;
mod frontmatter;
mod links;
mod markdown;
mod outline;

use std::ops::Range;

use crate::fingerprint::{SectionKey, StructureHash, TextHash};
use crate::vault::VaultPath;

pub use frontmatter::FrontMatter;

/// A parsed note. All spans are byte ranges of [`Note::text`].
#[derive(Clone, Debug)]
pub struct Note {
    /// Where it lies in its vault.
    pub path: VaultPath,
    /// The note as text. For UTF-8 without a byte order mark these are exactly the file's bytes.
    pub text: String,
    /// Hash of the file's bytes as read.
    pub hash: TextHash,
    /// What the bytes were.
    pub encoding: Encoding,
    /// The front matter, empty if there is none.
    pub front: FrontMatter,
    /// Where the body starts in `text`: after byte order mark and front matter.
    pub body: usize,
    /// From front matter, else the only level-1 heading if it comes first, else the file name.
    pub title: String,
    /// Kind of note (`"daily"`, `"project"`, …): front matter, else [`NoteRules`].
    pub kind: Option<String>,
    /// The day the note is about or was made: front matter, else a date in the file name.
    pub date: Option<jiff::civil::Date>,
    /// The headings in order.
    pub outline: Vec<Heading>,
    /// The text cut at the headings, in order; they cover `body..` without gaps.
    pub sections: Vec<Section>,
    /// The top-level blocks in order: where a chunk may be cut.
    pub blocks: Vec<Block>,
    /// Links and embeds in order.
    pub links: Vec<Link>,
    /// Tags of front matter and text, without `#`, each once, in order of appearance.
    pub tags: Vec<String>,
    /// `^block-ids` without the caret, with the byte position.
    pub block_ids: Vec<(String, usize)>,
    /// Dataview fields of the text (`key:: value`).
    pub fields: Vec<(String, String)>,
    /// Spans not to be indexed: `%%comments%%` and HTML comments.
    pub hidden: Vec<Range<usize>>,
    /// What was odd.
    pub warnings: Vec<Warning>,
}

/// How the bytes of a note were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-16, little or big endian, told by its byte order mark.
    Utf16,
    /// None of these: invalid sequences were replaced by U+FFFD.
    Lossy,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading.
    Heading,
    /// A paragraph (or anything not named below).
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

/// What decides a note's kind when its front matter does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteRules {
    /// `(folder or glob, kind)`, first match wins.
    pub folders: Vec<(String, String)>,
}

/// Understands a note. Never fails, never panics, linear in the length of `bytes`.
pub fn parse(path: &VaultPath, bytes: &[u8], rules: &NoteRules) -> Note {
    markdown::parse(path, bytes, rules)
}

impl Note {
    /// The hash that decides whether contexts must be written anew.
    pub fn structure(&self) -> StructureHash {
        crate::fingerprint::structure_hash(self.outline.iter().map(|h| (h.level, h.text.as_str())))
    }

    /// The 1-based line of a byte position.
    pub fn line_of(&self, position: usize) -> u32 {
        let end = position.min(self.text.len());
        1 + self.text.as_bytes()[..end].iter().filter(|b| **b == b'\n').count() as u32
    }

    /// The heading texts of a section's path, outermost first.
    pub fn heading_path(&self, section: &Section) -> Vec<&str> {
        section.path.iter().map(|h| self.outline[*h].text.as_str()).collect()
    }
}
