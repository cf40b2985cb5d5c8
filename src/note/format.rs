//! What a file is by its name: a note, a document that can be read as one, or an attachment that is found by its name.

use strum::{EnumString, IntoStaticStr, VariantArray};

/// The format of a file in a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Format {
    /// Markdown.
    Markdown,
    /// Plain text, which is read as Markdown without HTML and comments.
    Text,
    /// Emacs's Org mode.
    Org,
    /// reStructuredText.
    Rst,
    /// A view of Obsidian's: YAML.
    Base,
    /// A canvas of Obsidian's (JSON Canvas).
    Canvas,
    /// A web page.
    Html,
    /// An electronic book.
    Epub,
    /// A document of Word's.
    Docx,
    /// A PDF.
    Pdf,
    /// A picture, a recording, a spreadsheet: its name is searched.
    Attachment,
}

/// How a file becomes the text that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It is that text.
    AsItIs,
    /// Another program's format, which has to be converted to Markdown, or for [`Format::Pdf`] to one line for each page.
    Converted,
    /// It has none.
    NameOnly,
}

/// Endings in lower case, with what they stand for.
const ENDINGS: [(&str, Format); 21] = [
    (".md", Format::Markdown),
    (".markdown", Format::Markdown),
    (".mdown", Format::Markdown),
    (".mkdn", Format::Markdown),
    (".mdwn", Format::Markdown),
    (".mkd", Format::Markdown),
    (".mdx", Format::Markdown),
    (".qmd", Format::Markdown),
    (".rmd", Format::Markdown),
    (".txt", Format::Text),
    (".org", Format::Org),
    (".rst", Format::Rst),
    (".base", Format::Base),
    (".canvas", Format::Canvas),
    (".html", Format::Html),
    (".htm", Format::Html),
    (".xhtml", Format::Html),
    (".epub", Format::Epub),
    (".docx", Format::Docx),
    (".docm", Format::Docx),
    (".pdf", Format::Pdf),
];

/// Endings of files that people put into notes and look for by name. Any other file, such as those in a program's own
/// folder, is no part of a vault.
const ATTACHMENTS: &str = ".png .jpg .jpeg .gif .svg .webp .avif .heic .bmp .tif .tiff .psd .mp3 .m4a .wav .ogg .oga .opus .flac .3gp .mp4 \
    .m4v .mov .mkv .webm .ogv .avi .doc .odt .rtf .pages .xls .xlsx .ods .numbers .csv .tsv .ppt .pptx .odp .key \
    .mobi .djvu .zip .7z .drawio .excalidraw .ics .eml .vcf";

impl Format {
    /// The format of a file by its name or path, in any case; `None` for what is no part of a vault.
    pub fn of(name: &str) -> Option<Format> {
        Format::of_bytes(name.as_bytes())
    }

    /// The same, of a name as the file system has it.
    pub fn of_bytes(name: &[u8]) -> Option<Format> {
        let known = ENDINGS.iter().find(|(ending, _)| ends(name, ending)).map(|(_, format)| *format);
        known.or_else(|| ATTACHMENTS.split(' ').any(|ending| ends(name, ending)).then_some(Format::Attachment))
    }

    /// How it becomes text.
    pub fn reading(self) -> Reading {
        match self {
            Format::Markdown | Format::Text | Format::Org | Format::Rst | Format::Base => Reading::AsItIs,
            Format::Canvas | Format::Html | Format::Epub | Format::Docx | Format::Pdf => Reading::Converted,
            Format::Attachment => Reading::NameOnly,
        }
    }

    /// Whether its text is Markdown, as written or as converted.
    pub fn is_markdown(self) -> bool {
        matches!(self, Format::Markdown | Format::Text | Format::Canvas | Format::Html | Format::Epub | Format::Docx)
    }

    /// Whether a file of this name or path has to be converted.
    pub fn is_converted(name: &str) -> bool {
        Format::of(name).is_some_and(|format| format.reading() == Reading::Converted)
    }

    /// Whether the user writes it as text, line by line: such a note can be opened at a line.
    pub fn has_lines(self) -> bool {
        self.reading() == Reading::AsItIs
    }

    /// What it is called on the command line of the program that converts.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Whether a name is longer than `ending` and ends in it, in upper or lower case.
pub(super) fn ends(name: &[u8], ending: &str) -> bool {
    let split = name.len().saturating_sub(ending.len());
    split > 0 && name[split..].eq_ignore_ascii_case(ending.as_bytes())
}

/// The endings of all that a vault may hold, in lower case.
pub fn endings() -> impl Iterator<Item = &'static str> {
    ENDINGS.iter().map(|(ending, _)| *ending).chain(ATTACHMENTS.split(' '))
}

/// A path without its ending, if its name may be written without it: that of Markdown and of other texts.
pub fn without_ending(path: &str) -> &str {
    let is_text = |format| matches!(format, Format::Markdown | Format::Text | Format::Org | Format::Rst);
    let texts = ENDINGS.iter().filter(|(_, format)| is_text(*format));
    texts
        .map(|(ending, _)| ending)
        .find(|ending| ends(path.as_bytes(), ending))
        .map_or(path, |e| &path[..path.len() - e.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_formats_in_any_case() {
        for (name, format) in [
            ("a.md", Some(Format::Markdown)),
            ("A.MD", Some(Format::Markdown)),
            ("intro.mdx", Some(Format::Markdown)),
            ("Report.Rmd", Some(Format::Markdown)),
            ("Paper.PDF", Some(Format::Pdf)),
            ("board.canvas", Some(Format::Canvas)),
            ("photo.JPG", Some(Format::Attachment)),
            (".md", None),
            ("Makefile", None),
            ("main.rs", None),
            ("a.md.bak", None),
        ] {
            assert_eq!(Format::of(name), format, "{name}");
        }
        assert!(Format::VARIANTS.iter().all(|format| format.name().parse() == Ok(*format)));
    }

    #[test]
    fn notes_may_be_named_without_their_ending() {
        for (path, short) in
            [("a/b.md", "a/b"), ("b.Org", "b"), ("b.pdf", "b.pdf"), ("i.mdx", "i"), ("md", "md"), ("ä.txt", "ä")]
        {
            assert_eq!(without_ending(path), short);
        }
    }
}
