//! Elements that the converter would write as Markdown where none can stand: in code, in headings, around blocks; and
//! elements that no reader sees.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::{Element, HtmlToMarkdownBuilder};

use super::source;

/// Code on a line.
const CODE: [&str; 4] = ["code", "kbd", "samp", "tt"];

/// Elements that stand for marks around their words.
const MARKING: [&str; 14] = ["a", "b", "strong", "i", "em", "cite", "del", "s", "u", "ins", "mark", "sup", "sub", "q"];

const HEADINGS: [&str; 6] = ["h1", "h2", "h3", "h4", "h5", "h6"];

/// What the elements of a page share while it is converted.
#[derive(Default)]
pub(super) struct Inline {
    /// Open elements of code.
    code: AtomicUsize,
    /// Open blocks of code.
    blocks: AtomicUsize,
    title: OnceLock<String>,
}

/// What stands around the language of code within its block.
const LANGUAGE: char = '\u{1A}';

impl Inline {
    /// Adds the handlers to a converter of a page with elements of these names.
    pub(super) fn handle(
        shared: &Arc<Inline>,
        converter: HtmlToMarkdownBuilder,
        mut names: BTreeSet<String>,
    ) -> HtmlToMarkdownBuilder {
        // A page that hides itself as a whole shows itself by a script.
        names.retain(|name| name != "html" && name != "body");
        // A converter takes no empty list.
        names.insert("div".to_owned());

        let own = |handle: fn(&Inline, &dyn Handlers, Element<'_>) -> Option<HandlerResult>| {
            let shared = Arc::clone(shared);
            move |handlers: &dyn Handlers, element: Element<'_>| handle(&shared, handlers, element)
        };
        converter
            .add_handler(vec!["title"], own(Inline::titled))
            .add_handler(MARKING.to_vec(), own(Inline::marked))
            .add_handler(vec!["img"], image)
            .add_handler(HEADINGS.to_vec(), own(Inline::heading))
            .add_handler(CODE.to_vec(), own(Inline::code))
            .add_handler(vec!["pre"], own(Inline::block))
            .add_handler(vec!["br"], own(Inline::line_break))
            .add_handler(names.iter().map(String::as_str).collect(), unless_hidden)
    }

    /// What the page's `<title>` says.
    pub(super) fn title(&self) -> Option<String> {
        self.title.get().cloned()
    }

    fn is_in_code(&self) -> bool {
        self.code.load(Ordering::Relaxed) > 0
    }

    /// The first title is the page's; others are those of pictures.
    fn titled(&self, handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
        let title = source::plain(&handlers.walk_children(element.node).content).replace('\\', "");
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        if !title.is_empty() {
            self.title.get_or_init(|| title);
        }
        None
    }

    /// A link or marked words: the words alone in code, and around blocks, which no mark can stand around.
    fn marked(&self, handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
        if self.is_in_code()
            || element.tag == "a" && named(&element, "href").is_some_and(|address| holds_file(&address))
        {
            return Some(handlers.walk_children(element.node));
        }
        let is_link = element.tag == "a";
        let marked = handlers.fallback(element)?.content;
        let inner = marked.trim().trim_start_matches(['*', '[', '~']);
        let mark = &marked.trim()[..marked.trim().len() - inner.len()];
        if let Some((level, words)) = inner.split_once(' ').filter(|(level, _)| level.bytes().all(|b| b == b'#'))
            && !words.contains("\n\n")
        {
            return Some(format!("\n\n{level} {mark}{words}\n\n").into());
        }
        if !inner.contains("\n\n") {
            return Some(marked.into());
        }
        let end = if is_link { inner.rfind("](") } else { None };
        let inner = end.map_or_else(|| inner.trim_end_matches(['*', '~']), |end| &inner[..end]);
        Some(format!("\n\n{}\n\n", inner.trim()).into())
    }

    /// A heading on one line, without the marks of blocks within it.
    fn heading(&self, handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
        if self.is_in_code() {
            return Some(handlers.walk_children(element.node));
        }
        let heading = handlers.fallback(element)?.content;
        let (level, text) = heading.trim().split_once(' ')?;
        // Number signs of the page itself are not written yet: these are marks of headings.
        let words = text.lines().map(|line| line.trim().trim_start_matches('#').trim_start());
        let line = words.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        Some(format!("\n\n{level} {line}\n\n").into())
    }

    /// Code on a line, or that of a block.
    fn code(&self, handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
        let language = language(&element);
        let in_block = self.blocks.load(Ordering::Relaxed) > 0;
        self.code.fetch_add(1, Ordering::Relaxed);
        let code = if in_block { Some(handlers.walk_children(element.node)) } else { handlers.fallback(element) };
        self.code.fetch_sub(1, Ordering::Relaxed);
        let code = source::plain(&code?.content);
        Some(match language.filter(|_| in_block) {
            Some(language) => format!("{LANGUAGE}{language}{LANGUAGE}{code}").into(),
            None => code.into(),
        })
    }

    fn line_break(&self, handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
        if self.is_in_code() { Some("\n".into()) } else { handlers.fallback(element) }
    }

    /// A block whose lines stay as they are: code, or what else no Markdown is.
    fn block(&self, handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
        for count in [&self.code, &self.blocks] {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let content = handlers.walk_children(element.node).content;
        for count in [&self.code, &self.blocks] {
            count.fetch_sub(1, Ordering::Relaxed);
        }
        let content = source::plain(&content);
        let mut parts = content.splitn(3, LANGUAGE);
        let (before, own, rest) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let language = language(&element).or_else(|| own.map(str::to_owned)).unwrap_or_default();
        let code = rest.map_or_else(|| content.clone(), |rest| [before, rest].concat()).replace(LANGUAGE, "");
        // The converter takes a first backtick for a fence.
        let code = code.strip_prefix('\\').filter(|code| code.starts_with(['`', '~'])).unwrap_or(&code);
        let code = code.trim_end().trim_start_matches('\n');
        let runs = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat((runs + 1).max(3));
        (!code.trim().is_empty()).then(|| format!("\n\n{fence}{language}\n{code}\n{fence}\n\n").into())
    }
}

fn unless_hidden(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    if is_hidden(&element) { None } else { handlers.fallback(element) }
}

/// A picture; of one that the page holds itself, only what stands for it.
fn image(handlers: &dyn Handlers, element: Element<'_>) -> Option<HandlerResult> {
    if named(&element, "src").is_some_and(|address| holds_file(&address)) {
        return named(&element, "alt").map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ").into());
    }
    handlers.fallback(element)
}

/// An attribute of an element.
fn named(element: &Element<'_>, name: &str) -> Option<String> {
    element.attrs.iter().find(|own| &*own.name.local == name).map(|own| own.value.to_string())
}

/// Whether an address holds a whole file.
fn holds_file(address: &str) -> bool {
    address.trim_start().get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// The language of code, by its class.
fn language(element: &Element<'_>) -> Option<String> {
    let classes = named(element, "class")?;
    let language = classes.split_whitespace().find_map(|class| class.strip_prefix("language-"))?;
    language.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.')).then(|| language.to_owned())
}

/// Whether the page itself hides the element, without a style sheet.
fn is_hidden(element: &Element<'_>) -> bool {
    let style: String = named(element, "style").unwrap_or_default().to_ascii_lowercase().split_whitespace().collect();
    style.split(';').any(|rule| rule.starts_with("display:none"))
        || named(element, "hidden").is_some_and(|value| !value.eq_ignore_ascii_case("until-found"))
}
