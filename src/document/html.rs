//! Web pages, as Markdown.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use htmd::HtmlToMarkdown;

use crate::{Unreadable, front_matter};

/// Elements whose text nobody reads on the page.
const SKIPPED: [&str; 9] = ["script", "style", "noscript", "template", "svg", "iframe", "object", "title", "nav"];

/// The deepest nesting of elements that is converted; the converter recurses as deep.
const DEEPEST: usize = 500;

/// How far into a page its encoding may be declared, in bytes (HTML, 4.2.5.5).
const ENCODING_WITHIN: usize = 1024;

/// A whole web page as Markdown, with its title.
pub(super) fn page(bytes: &[u8]) -> Result<String, Unreadable> {
    let text = decoded(bytes);
    Ok(front_matter(title(&text).as_deref(), None) + &markdown(&text)?)
}

/// The text of a page.
pub(super) fn markdown(html: &str) -> Result<String, Unreadable> {
    let broken = |why: String| Unreadable::Broken { format: "web page", why };
    if depth(html) > DEEPEST {
        return Err(broken(format!("its elements stand more than {DEEPEST} deep in each other")));
    }
    let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build();
    let markdown = converter.convert(html).map_err(|error| broken(error.to_string()))?;
    Ok(markdown + "\n")
}

/// The most elements that are open at once, counting those that are never closed: a bound, no exact number.
fn depth(html: &str) -> usize {
    const CLOSED_BY_THEMSELVES: [&str; 12] =
        ["br", "hr", "img", "input", "meta", "link", "p", "li", "td", "tr", "option", "col"];
    let (mut open, mut most) = (0usize, 0usize);
    for tag in html.split('<').skip(1) {
        let name_end = |rest: &str| rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if let Some(rest) = tag.strip_prefix('/') {
            let name = &rest[..name_end(rest)];
            open = open.saturating_sub(usize::from(!CLOSED_BY_THEMSELVES.contains(&name)));
        } else if tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let name = tag[..name_end(tag)].to_ascii_lowercase();
            let is_whole = tag.split('>').next().is_some_and(|tag| tag.ends_with('/'));
            open += usize::from(!is_whole && !CLOSED_BY_THEMSELVES.contains(&name.as_str()));
            most = most.max(open);
        }
    }
    most
}

/// Decodes a text: by its byte order mark, as UTF-8, as the page declares, else as browsers guess.
pub(super) fn decoded(bytes: &[u8]) -> String {
    let encoding = if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { said(bytes).unwrap_or(WINDOWS_1252) };
    // A byte order mark overrides this.
    encoding.decode(bytes).0.into_owned()
}

/// The encoding that a page declares by `charset=` at its beginning.
fn said(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(ENCODING_WITHIN)]).to_ascii_lowercase();
    let (_, rest) = start.split_once("charset=")?;
    let rest = rest.trim_start_matches(['"', '\'', ' ']);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c))).unwrap_or(rest.len());
    Encoding::for_label(&rest.as_bytes()[..end])
}

/// What the page's `<title>` says.
pub(super) fn title(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let open = lower.find("<title")?;
    let start = open + lower[open..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    // Entities are resolved by the converter.
    let shown = HtmlToMarkdown::new().convert(&html[start..end]).ok()?;
    let shown = shown.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ");
    (!shown.is_empty()).then_some(shown)
}
