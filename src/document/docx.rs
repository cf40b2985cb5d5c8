//! Word's documents (ECMA-376, WordprocessingML): paragraphs, headings by the level of their style, lists and tables.

use std::collections::HashMap;

use roxmltree::Node;

use crate::package::Package;
use crate::{Unreadable, front_matter};

const FORMAT: &str = "Word document";

/// The styles of headings: id → level, 1 to 6.
type Levels = HashMap<String, usize>;

/// The document as Markdown.
pub(super) fn markdown(bytes: &[u8], most: usize) -> Result<String, Unreadable> {
    let mut package = Package::open(bytes, FORMAT, most)?;
    let levels = match package.part("word/styles.xml")? {
        Some(styles) => {
            let styles = super::html::decoded(&styles);
            levels(package.xml("word/styles.xml", &styles)?.root_element())
        }
        None => Levels::new(),
    };
    let core = package.part("docProps/core.xml")?.map(|core| super::html::decoded(&core));
    let (title, author) = match &core {
        Some(core) => {
            let core = package.xml("docProps/core.xml", core)?;
            let said = |name: &str| {
                core.descendants().find(|n| n.has_tag_name_local(name)).and_then(|n| n.text()).map(str::to_owned)
            };
            (said("title"), said("creator"))
        }
        None => (None, None),
    };
    let text = package.text("word/document.xml")?;
    let document = package.xml("word/document.xml", &text)?;
    let mut out = front_matter(title.as_deref(), author.as_deref());
    let body = document.descendants().find(|node| node.has_tag_name_local("body"));
    body.into_iter().for_each(|body| blocks(body, &levels, &mut out));
    Ok(out)
}

/// Names without their namespace: strict and transitional documents have different ones.
trait Local {
    fn has_tag_name_local(&self, name: &str) -> bool;
    fn child(&self, name: &str) -> Option<Self>
    where
        Self: Sized;
    fn value(&self) -> Option<&str>;
}

impl Local for Node<'_, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }

    fn child(&self, name: &str) -> Option<Self> {
        self.children().find(|child| child.has_tag_name_local(name))
    }

    /// The attribute `val`.
    fn value(&self) -> Option<&str> {
        self.attributes().find(|attribute| attribute.name() == "val").map(|attribute| attribute.value())
    }
}

fn levels(styles: Node<'_, '_>) -> Levels {
    let style = |style: Node<'_, '_>| {
        let id = style.attributes().find(|a| a.name() == "styleId")?.value().to_owned();
        // The name of a built-in style is English in every language; its id is not.
        let name = style.child("name").and_then(|name| name.value().map(str::to_lowercase)).unwrap_or_default();
        let by_name =
            if name == "title" { Some(1) } else { name.strip_prefix("heading ").and_then(|n| n.parse().ok()) };
        let outline = || {
            let level = style.child("pPr")?.child("outlineLvl")?.value()?.parse::<usize>().ok()?;
            (level < 9).then_some(level + 1)
        };
        by_name.or_else(outline).map(|level| (id, level.clamp(1, 6)))
    };
    styles.children().filter(|node| node.has_tag_name_local("style")).filter_map(style).collect()
}

/// Writes paragraphs and tables in order, whatever they are wrapped in.
fn blocks(parent: Node<'_, '_>, levels: &Levels, out: &mut String) {
    // No recursion: content controls may be nested to any depth.
    let mut waiting: Vec<Node<'_, '_>> = parent.children().rev().collect();
    while let Some(node) = waiting.pop() {
        match node.tag_name().name() {
            "p" => paragraph(node, levels, out),
            "tbl" => table(node, out),
            "sdt" | "sdtContent" | "customXml" | "smartTag" => waiting.extend(node.children().rev()),
            _ => {}
        }
    }
}

fn paragraph(node: Node<'_, '_>, levels: &Levels, out: &mut String) {
    let text = text(node);
    let text = text.trim();
    if text.is_empty() {
        return;
    }
    let about = node.child("pPr");
    let style = about.and_then(|about| about.child("pStyle")).and_then(|style| style.value().map(str::to_owned));
    let own =
        about.and_then(|about| about.child("outlineLvl")?.value()?.parse::<usize>().ok()).filter(|level| *level < 9);
    let level = style.and_then(|style| levels.get(&style).copied()).or_else(|| own.map(|level| (level + 1).min(6)));
    let is_item = level.is_none() && about.is_some_and(|about| about.child("numPr").is_some());
    if !is_item {
        end_list(out);
    }
    match level {
        Some(level) => {
            out.push_str(&"#".repeat(level));
            out.push(' ');
            out.push_str(&text.replace('\n', " "));
        }
        None if is_item => {
            out.push_str("- ");
            out.push_str(&text.replace('\n', "\n  "));
        }
        None => out.push_str(text),
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
    let rows = node.descendants().filter(|node| node.has_tag_name_local("tr"));
    for (n, row) in rows.enumerate() {
        let cells = row.children().filter(|node| node.has_tag_name_local("tc"));
        let cells: Vec<String> = cells.map(|cell| text(cell).replace(['\n', '|'], " ").trim().to_owned()).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
        if n == 0 {
            out.push_str(&format!("|{}\n", "---|".repeat(cells.len())));
        }
    }
    out.push('\n');
}

/// The text that readers see: neither deleted text nor the code of fields.
fn text(node: Node<'_, '_>) -> String {
    let mut out = String::new();
    for part in node.descendants().filter(Node::is_element) {
        match part.tag_name().name() {
            "t" => out.push_str(part.text().unwrap_or_default()),
            "tab" if part.parent_element().is_some_and(|run| run.has_tag_name_local("r")) => out.push('\t'),
            "br" | "cr" => out.push('\n'),
            "noBreakHyphen" => out.push('-'),
            // Paragraphs of a table's cell.
            "p" if !out.is_empty() => out.push('\n'),
            _ => {}
        }
    }
    out
}
