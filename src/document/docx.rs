//! Word's documents (ECMA-376, WordprocessingML): paragraphs, headings by the level of their style, lists and tables.

use std::collections::HashMap;

use roxmltree::Node;

use crate::package::{self, Package};
use crate::{Unreadable, front_matter, table_of};

const FORMAT: &str = "Word document";

/// What stands outside the text and belongs to a place in it: the kind of part and the element that hold it, the element
/// at that place, and what tells the numbers apart.
const NOTES: [(&str, &str, &str, &str); 3] = [
    ("footnotes", "footnote", "footnoteReference", ""),
    ("endnotes", "endnote", "endnoteReference", "e"),
    ("comments", "comment", COMMENT, "c"),
];

/// The place of a comment, where the page shows no number.
const COMMENT: &str = "commentReference";

/// Notes by their numbers: Markdown that follows the paragraph or the table where each belongs.
type Notes = HashMap<String, String>;

/// The most styles that a style is based on, one on the other.
const MOST_BASES: usize = 16;

/// The styles of headings: id → level, 1 to 6; [`TITLE`] is that of the document's title.
type Levels = HashMap<String, usize>;

/// The level of the document's title, which stands above all headings.
const TITLE: usize = 0;

/// The document as Markdown.
pub(super) fn markdown(bytes: &[u8], most: usize) -> Result<String, Unreadable> {
    if is_encrypted(bytes) {
        return Err(Unreadable::Encrypted);
    }
    let mut package = Package::open(bytes, FORMAT, most)?;
    let main = related(&mut package, "", "officeDocument", "word/document.xml").swap_remove(0);
    let styles = related(&mut package, &main, "styles", "word/styles.xml").swap_remove(0);
    // Parts other than the text may lack, or be broken.
    let levels = package.with_xml(&styles, |styles| levels(styles.root_element())).unwrap_or_default();
    let told = package.with_xml("docProps/core.xml", |core| {
        ["title", "creator"].map(|name| core.descendants().find(|node| is(node, name))?.text().map(str::to_owned))
    });
    let [title, author] = told.unwrap_or_default();
    let document = package.text(&main)?;
    let document = package.xml(&main, &document)?;
    let body = document.descendants().find(|node| is(node, "body"));
    let title = title.filter(|title| !title.trim().is_empty()).or_else(|| written_title(body?, &levels));
    let mut notes = Notes::new();
    for (kind_of_part, kind, _, of_kind) in NOTES {
        for part in related(&mut package, &main, kind_of_part, &format!("word/{kind_of_part}.xml")) {
            package.with_xml(&part, |part| {
                let parts = part.root_element().children().filter(|node| is(node, kind));
                notes.extend(parts.filter_map(|node| note(node, of_kind)));
            });
        }
    }
    let mut out = String::new();
    for kind in ["header", "footer"] {
        for part in related(&mut package, &main, kind, "") {
            let text = package.with_xml(&part, |part| {
                let mut text = String::new();
                blocks(part.root_element(), &levels, &mut Notes::new(), &mut text);
                end_list(&mut text);
                text
            });
            // Each section names its own, which mostly say the same; or only the number of a page.
            out.extend(text.filter(|text| text.contains(char::is_alphabetic) && !out.contains(text.as_str())));
        }
    }
    out.insert_str(0, &front_matter(title.as_deref(), author.as_deref()));
    body.into_iter().for_each(|body| blocks(body, &levels, &mut notes, &mut out));
    Ok(out)
}

/// Whether a document is encrypted by a password: then it is no archive, but a file of the older format.
fn is_encrypted(bytes: &[u8]) -> bool {
    let name: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes.starts_with(b"\xd0\xcf\x11\xe0") && bytes.windows(name.len()).any(|part| part == name)
}

/// A note's number and Markdown; `None` without text.
fn note(node: Node<'_, '_>, of_kind: &str) -> Option<(String, String)> {
    let text = text(node).split_whitespace().collect::<Vec<_>>().join(" ");
    let number = format!("{of_kind}{}", attribute(node, "id").unwrap_or_default());
    let shown = if is(&node, "comment") { begun(&text) } else { format!("[^{number}]: {text}") };
    (!text.is_empty()).then(|| (number, format!("{shown}\n\n")))
}

/// The number of the note that belongs to this place.
fn place(node: Node<'_, '_>) -> Option<String> {
    let (.., of_kind) = NOTES.into_iter().find(|(_, _, place, _)| is(&node, place))?;
    Some(format!("{of_kind}{}", attribute(node, "id").unwrap_or_default()))
}

/// The names of the parts that another one, or the package itself, relates to as that kind; `usual` if it says none.
fn related(package: &mut Package<'_>, from: &str, kind: &str, usual: &str) -> Vec<String> {
    let (folder, name) = from.rsplit_once('/').unwrap_or(("", from));
    let of_kind = |node: &Node<'_, '_>| {
        attribute(*node, "Type").and_then(|full| full.rsplit('/').next()) == Some(kind)
            && attribute(*node, "TargetMode") != Some("External")
    };
    let targets = package.with_xml(&package::within(folder, &format!("_rels/{name}.rels")), |list| {
        let targets = list.descendants().filter(of_kind).filter_map(|own| attribute(own, "Target"));
        targets.map(|target| package::within(folder, target)).collect::<Vec<_>>()
    });
    targets.filter(|targets| !targets.is_empty()).unwrap_or_else(|| vec![usual.to_owned()])
}

/// The document's title as its first paragraphs show it.
fn written_title(body: Node<'_, '_>, levels: &Levels) -> Option<String> {
    let is_title = |node: &Node<'_, '_>| style(*node).and_then(|style| levels.get(style)) == Some(&TITLE);
    let mut told = body.children().filter(|node| is(node, "p")).filter(is_title);
    told.find_map(|node| Some(words(node)).filter(|words| !words.is_empty()))
}

/// The style of a paragraph.
fn style<'a>(paragraph: Node<'a, '_>) -> Option<&'a str> {
    value(child(paragraph, "pPr")?, "pStyle")
}

/// The words of a paragraph, as they are written.
fn words(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(|part| is(part, "t")).filter_map(|part| part.text());
    texts.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

// Names are compared without their namespace: strict and transitional documents have different ones.

fn is(node: &Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| is(child, name))
}

/// The nearest element of that name around a node.
fn within<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.ancestors().skip(1).find(|node| is(node, name))
}

fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.attributes().find(|own| own.name() == name).map(|own| own.value())
}

/// The attribute `val` of an element that a node has.
fn value<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    attribute(child(node, name)?, "val")
}

fn levels(styles: Node<'_, '_>) -> Levels {
    let styles = styles.children().filter(|node| is(node, "style"));
    let styles: HashMap<&str, Node<'_, '_>> =
        styles.filter_map(|style| Some((attribute(style, "styleId")?, style))).collect();
    let level = |id: &&str| {
        let based_on = |style: &Node<'_, '_>| styles.get(value(*style, "basedOn")?).copied();
        let mut line = std::iter::successors(styles.get(*id).copied(), based_on).take(MOST_BASES);
        line.find_map(own_level)
    };
    styles.keys().filter_map(|id| Some(((*id).to_owned(), level(id)?))).filter(|(_, level)| *level <= 6).collect()
}

/// The level of headings that a style says itself; one over 6 says that they are none.
fn own_level(style: Node<'_, '_>) -> Option<usize> {
    // The name of a built-in style is English in every language; its id is not.
    let name = value(style, "name").map(str::to_lowercase).unwrap_or_default();
    if name == "title" {
        return Some(TITLE);
    }
    let by_name = name.strip_prefix("heading ").and_then(|n| n.parse::<usize>().ok());
    let outline = || {
        let level = value(child(style, "pPr")?, "outlineLvl")?.parse::<usize>().ok()?;
        Some(if level < 9 { (level + 1).min(6) } else { usize::MAX })
    };
    by_name.map(|level| level.clamp(1, 6)).or_else(outline)
}

/// Writes paragraphs and tables in order, whatever they are wrapped in, each followed by its notes.
fn blocks(parent: Node<'_, '_>, levels: &Levels, notes: &mut Notes, out: &mut String) {
    // No recursion: content controls may be nested to any depth.
    let mut waiting: Vec<Node<'_, '_>> = parent.children().rev().collect();
    while let Some(node) = waiting.pop() {
        match node.tag_name().name() {
            "p" => paragraph(node, levels, out),
            "tbl" => table(node, out),
            "sdt" | "sdtContent" | "customXml" | "smartTag" => {
                waiting.extend(node.children().rev());
                continue;
            }
            _ => continue,
        }
        for number in node.descendants().filter_map(place) {
            if let Some(note) = notes.remove(&number) {
                end_list(out);
                out.push_str(&note);
            }
        }
    }
}

fn paragraph(node: Node<'_, '_>, levels: &Levels, out: &mut String) {
    let text = text(node);
    let text = text.trim().lines().map(begun).collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        return;
    }
    let about = child(node, "pPr");
    let own = about.and_then(|about| value(about, "outlineLvl")?.parse::<usize>().ok()).filter(|level| *level < 9);
    let own = own.map(|level| (level + 1).min(6));
    let level = style(node).and_then(|style| levels.get(style).copied()).or(own);
    let is_item = level.is_none() && about.is_some_and(|about| child(about, "numPr").is_some());
    if !is_item {
        end_list(out);
    }
    match level {
        Some(level) => {
            out.push_str(&"#".repeat(level.max(1)));
            out.push(' ');
            out.push_str(&text.replace('\n', " "));
        }
        None if is_item => {
            out.push_str("- ");
            out.push_str(&text.replace('\n', "\n  "));
        }
        None => out.push_str(&text),
    }
    out.push_str(if is_item { "\n" } else { "\n\n" });
}

/// Ends a list, so that what follows is not part of its last item.
fn end_list(out: &mut String) {
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
}

fn table(node: Node<'_, '_>, out: &mut String) {
    end_list(out);
    // Tables within its cells are read with the cells.
    let is_own = |row: &Node<'_, '_>| is(row, "tr") && within(*row, "tbl") == Some(node);
    // A content control may be wrapped around a cell.
    let cells = |row: Node<'_, '_>| {
        let is_own = |cell: &Node<'_, '_>| is(cell, "tc") && within(*cell, "tr") == Some(row);
        row.descendants().filter(is_own).map(text).collect()
    };
    out.push_str(&table_of(node.descendants().filter(is_own).map(cells).collect()));
    out.push('\n');
}

/// The text that readers see, as Markdown: neither deleted or moved text, nor the code of fields, nor what takes the place
/// of a text box where a program knows none.
fn text(node: Node<'_, '_>) -> String {
    let mut out = String::new();
    let mut paragraph = None;
    let mut waiting = vec![node];
    while let Some(part) = waiting.pop() {
        match part.tag_name().name() {
            "Fallback" | "moveFrom" | "rt" => continue,
            "r" if is_vanished(part) => continue,
            "t" => {
                // Paragraphs of a cell or a text box.
                let own = within(part, "p");
                if own != paragraph.replace(own).unwrap_or(own) && !out.is_empty() {
                    out.push('\n');
                }
                push_escaped(&mut out, part.text().unwrap_or_default());
            }
            "tab" if part.parent_element().is_some_and(|run| is(&run, "r")) => out.push('\t'),
            "br" | "cr" => out.push('\n'),
            "noBreakHyphen" => out.push('-'),
            COMMENT => {}
            _ => out.extend(place(part).map(|number| format!("[^{number}]"))),
        }
        waiting.extend(part.children().rev());
    }
    out
}

/// Whether a run is hidden text.
fn is_vanished(run: Node<'_, '_>) -> bool {
    let vanish = child(run, "rPr").and_then(|about| child(about, "vanish"));
    vanish.is_some_and(|vanish| !matches!(attribute(vanish, "val"), Some("0" | "false" | "off")))
}

/// Appends text that is no Markdown, with a backslash before what would be some.
fn push_escaped(out: &mut String, text: &str) {
    let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    for (at, c) in text.char_indices() {
        let (before, rest) = (out.chars().next_back(), &text[at + c.len_utf8()..]);
        let after = rest.chars().next();
        let is_mark = match c {
            '\\' | '`' | '[' | '$' => true,
            '*' | '_' | '~' => !(is_space(before) && is_space(after) || c == '_' && is_word(before) && is_word(after)),
            '#' => !is_space(after) && !is_word(before),
            '<' => after.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')),
            '&' => rest.trim_start_matches(|c: char| c == '#' || c.is_ascii_alphanumeric()).starts_with(';'),
            _ => false,
        };
        if is_mark {
            out.push('\\');
        }
        out.push(c);
    }
}

/// A line with a backslash where it would begin a heading, a quote, a list or the like.
fn begun(line: &str) -> String {
    let first = line.chars().next().unwrap_or_default();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let after = |at: usize| line.get(at..).and_then(|rest| rest.chars().next());
    let ends = |at: usize| after(at).is_none_or(|next| next.is_whitespace() || next == first);
    match first {
        '#' | '>' | '=' => format!("\\{line}"),
        '-' | '+' | '*' if ends(1) => format!("\\{line}"),
        '0'..='9' if matches!(after(digits), Some('.' | ')')) && ends(digits + 1) => {
            format!("{}\\{}", &line[..digits], &line[digits..])
        }
        _ => line.to_owned(),
    }
}
