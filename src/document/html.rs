//! Web pages, as Markdown.

mod inline;
mod source;

use std::rc::Rc;
use std::sync::Arc;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use htmd::element_handler::{HandlerResult, Handlers};
use htmd::{Element, HtmlToMarkdown, Node};

use crate::{Bounded, Remark, Unreadable, front_matter, table_of};
use inline::Inline;

/// Elements whose text nobody reads on the page; of text with its pronunciation above it, that.
const SKIPPED: [&str; 10] = ["script", "style", "noscript", "template", "svg", "iframe", "object", "nav", "rt", "rp"];

/// The deepest nesting of elements that is converted; the converter recurses as deep.
const DEEPEST: usize = 500;

/// What stands before a row, a heading cell and any other cell while a table is converted: ASCII's separators, which no
/// page shows.
const ROW: char = '\u{1D}';
const HEAD: char = '\u{1E}';
const CELL: char = '\u{1F}';

/// The most elements that a page may leave open at once, by its tags: the parser looks at all of them at every tag.
const MOST_OPEN: usize = 10_000;

/// How far into a page its encoding may be declared, in bytes (HTML, 4.2.5.5).
const ENCODING_WITHIN: usize = 1024;

/// Writes a whole web page as Markdown, with its title.
pub(super) fn write(bytes: &[u8], out: &mut Bounded<'_>) -> Result<Remark, Unreadable> {
    let text = decoded(bytes);
    let (title, text) = converted(&text, source::is_xml(&text))?;
    out.text(&(front_matter(title.as_deref(), None) + &text))?;
    // Pages that a program fills in where they are shown, such as a TiddlyWiki.
    let is_empty = !text.contains(char::is_alphanumeric);
    Ok(is_empty.then(|| "it has no text; a program may show some. Its name is searched".to_owned()))
}

/// The text of a page of a book, which is XML.
pub(super) fn markdown(xhtml: &str) -> Result<String, Unreadable> {
    converted(xhtml, true).map(|(_, text)| text)
}

/// The title and the text of a page.
fn converted(html: &str, is_xml: bool) -> Result<(Option<String>, String), Unreadable> {
    let broken = |why: String| Unreadable::Broken { format: "web page", why };
    let too_deep = || broken(format!("its elements stand more than {DEEPEST} deep in each other"));
    let html = source::prepared(html, is_xml);
    if most_open(&html) > MOST_OPEN {
        return Err(too_deep());
    }
    let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec());
    let converter = converter.add_handler(vec!["tr", "th", "td"], marked).add_handler(vec!["table"], table);
    let inline = Arc::new(Inline::default());
    let names = tags(&html).map(|tag| tag.name.to_ascii_lowercase()).collect();
    let converter = Inline::handle(&inline, converter, names).build();
    let tree = converter.html_to_tree(&html).map_err(|error| broken(error.to_string()))?;
    if depth(&tree) > DEEPEST {
        return Err(too_deep());
    }
    let text = source::finished(&converter.tree_to_markdown(&tree).replace([ROW, HEAD, CELL], ""));
    Ok((inline.title(), text + "\n"))
}

/// A row or a cell, marked for [`table`].
fn marked(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let mark = match element.tag {
        "tr" => ROW,
        "th" => HEAD,
        _ => CELL,
    };
    let content = handlers.fallback(element)?.content;
    Some(format!("\n\n{mark}{}\n\n", content.trim_matches('\n')).into())
}

/// A table with all its cells, which the converter's own leaves out where rows have cells of both kinds. One without
/// heading cells only arranges the page: it becomes blocks.
fn table(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    let content = handlers.walk_children(element.node).content;
    if !content.contains(HEAD) {
        let blocks = content.split([ROW, CELL]).map(|block| block.trim_matches('\n'));
        let blocks: Vec<&str> = blocks.filter(|block| !block.is_empty()).collect();
        return Some(format!("\n\n{}\n\n", blocks.join("\n\n")).into());
    }
    let (caption, rows) = content.split_once(ROW).unwrap_or(("", &content));
    let cells = |row: &str| row.split([HEAD, CELL]).skip(1).map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = rows.split(ROW).map(cells).filter(|row: &Vec<_>| !row.is_empty()).collect();
    Some(format!("\n\n{}\n\n{}\n\n", caption.trim(), table_of(rows)).into())
}

/// How deep the elements of a page stand in each other.
fn depth(tree: &Rc<Node>) -> usize {
    let (mut level, mut depth) = (vec![Rc::clone(tree)], 0);
    while !level.is_empty() {
        level = level.iter().flat_map(|node| node.children.borrow().clone()).collect();
        depth += 1;
    }
    depth
}

/// A tag, or what only looks like one.
struct Tag<'h> {
    name: &'h str,
    closes: bool,
    /// It is closed where it is opened.
    is_whole: bool,
}

fn tags(html: &str) -> impl Iterator<Item = Tag<'_>> {
    html.split('<').skip(1).filter_map(|tag| {
        let (closes, tag) = tag.strip_prefix('/').map_or((false, tag), |tag| (true, tag));
        let name = tag.split(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>')).next()?;
        let is_whole = tag.split('>').next().is_some_and(|tag| tag.ends_with('/'));
        name.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(Tag { name, closes, is_whole })
    })
}

/// The most elements that are open at once, counting those that are never closed: a bound, no exact number.
fn most_open(html: &str) -> usize {
    const CLOSED_BY_THEMSELVES: [&str; 26] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
        "colgroup", "dd", "dt", "li", "option", "p", "tbody", "td", "tfoot", "th", "thead", "tr",
    ];
    let (mut open, mut most) = (0usize, 0usize);
    for Tag { name, closes, is_whole } in tags(html) {
        if CLOSED_BY_THEMSELVES.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            continue;
        }
        open = if closes { open.saturating_sub(1) } else { open + usize::from(!is_whole) };
        most = most.max(open);
    }
    most
}

/// Decodes a text: by its byte order mark, as UTF-8, as the page declares, else as browsers guess.
pub(super) fn decoded(bytes: &[u8]) -> String {
    let encoding = if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { said(bytes).unwrap_or(WINDOWS_1252) };
    // A byte order mark overrides this.
    encoding.decode(bytes).0.into_owned()
}

/// The encoding that a page declares at its beginning, by `charset=`, or as XML does.
fn said(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(ENCODING_WITHIN)]).to_ascii_lowercase();
    let declaration = start.trim_start().strip_prefix("<?xml").and_then(|rest| rest.split_once("?>"));
    let by_xml = declaration.and_then(|(declaration, _)| declaration.split_once("encoding"));
    let (_, rest) = by_xml.or_else(|| start.split_once("charset="))?;
    let rest = rest.trim_start_matches(['"', '\'', ' ', '=']);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).unwrap_or(rest.len());
    Encoding::for_label(&rest.as_bytes()[..end])
}
