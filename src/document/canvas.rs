//! Obsidian's canvases (JSON Canvas 1.0, <https://jsoncanvas.org/spec/1.0/>): the text of cards, the names of groups, the
//! files and addresses that stand on it, and what is written on the arrows; in reading order, groups one by one. A card's
//! heading would go on into the card that follows: cards without headings come first.

use std::fmt::Write as _;

use note::chunk::visible;
use note::{BlockKind, Note, NoteRules, VaultPath};
use serde::Deserialize;

use crate::{Unreadable, html};

/// The level of a group's heading. None is a title: a canvas is called by its name.
const GROUP: usize = 2;

#[derive(Deserialize)]
struct Canvas {
    #[serde(default)]
    nodes: Vec<Node>,
    #[serde(default)]
    edges: Vec<Edge>,
}

/// A card, a file, a link or a group. Missing fields are not needed.
#[derive(Deserialize)]
struct Node {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    x: f64,
    #[serde(default)]
    y: f64,
    #[serde(default)]
    width: f64,
    #[serde(default)]
    height: f64,
    text: Option<String>,
    file: Option<String>,
    subpath: Option<String>,
    url: Option<String>,
    label: Option<String>,
}

#[derive(Deserialize)]
struct Edge {
    label: Option<String>,
}

/// The canvas as Markdown.
pub(super) fn markdown(bytes: &[u8]) -> Result<String, Unreadable> {
    // A new canvas is an empty file.
    let json = html::decoded(bytes);
    if json.trim().is_empty() {
        return Ok(String::new());
    }
    let broken = |error: serde_json::Error| Unreadable::Broken { format: "canvas", why: error.to_string() };
    let Canvas { mut nodes, edges } = serde_json::from_str(&json).map_err(broken)?;
    nodes.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
    let (mut groups, cards): (Vec<Node>, Vec<Node>) = nodes.into_iter().partition(|node| node.kind == "group");
    groups.retain(|group| group.label.as_deref().is_some_and(|label| !label.trim().is_empty()));
    // A card is in the smallest group that holds its middle.
    let group_of = |card: &Node| {
        let holding = groups.iter().enumerate().filter(|(_, group)| group.holds(card));
        holding.min_by(|(_, a), (_, b)| a.area().total_cmp(&b.area())).map(|(n, _)| n)
    };
    // Of each group: the cards without headings, and those with some.
    let mut in_groups = vec![[String::new(), String::new()]; groups.len()];
    let [mut plain, mut headed] = [String::new(), String::new()];
    for card in &cards {
        let Some((text, has_headings)) = card.text().filter(|(text, _)| !text.is_empty()) else { continue };
        let out = match group_of(card) {
            Some(group) => &mut in_groups[group][usize::from(has_headings)],
            None if has_headings => &mut headed,
            None => &mut plain,
        };
        out.push_str(&text);
        out.push_str("\n\n");
    }
    let labels = edges.iter().filter_map(|edge| edge.label.as_deref()).map(one_line);
    let labels: Vec<String> = labels.filter(|label| !label.is_empty()).map(|label| format!("- {label}\n")).collect();
    let mut out = plain + &labels.concat();
    if !labels.is_empty() {
        out.push('\n');
    }
    out.push_str(&headed);
    for (group, [plain, headed]) in groups.iter().zip(in_groups) {
        let label = one_line(group.label.as_deref().unwrap_or_default());
        // Writing to a string cannot fail.
        let _ = write!(out, "{} {label}\n\n{plain}{headed}", "#".repeat(GROUP));
    }
    Ok(out)
}

/// A card's Markdown so that nothing of it goes on into another card, its headings below that of a group and its comments
/// left out; and whether it has headings.
fn alone(text: &str) -> Option<(String, bool)> {
    let path = VaultPath::parse("card.md")?;
    let parsed = |text: &str| note::parse(&path, text.as_bytes(), &NoteRules::default());
    let note = parsed(text);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for heading in &note.outline {
        out.push_str(&visible(&note, &(at..heading.span.start)));
        let level = "#".repeat((usize::from(heading.level) + GROUP).min(6));
        let shown = visible(&note, &heading.span);
        let shown = shown.trim();
        // The last line of the other form is drawn.
        let shown =
            if shown.starts_with('#') { shown } else { shown.rsplit_once('\n').map_or(shown, |(text, _)| text) };
        let _ = writeln!(out, "{level} {}", one_line(shown.trim_start_matches('#')));
        at = heading.span.end;
    }
    out.push_str(&visible(&note, &(at..note.text.len())));
    Some((closed(out.trim(), &parsed), !note.outline.is_empty()))
}

/// The text with an end for the code or the HTML that it leaves open: that takes a word behind it into itself.
fn closed(text: &str, parsed: &dyn Fn(&str) -> Note) -> String {
    let note = parsed(&format!("{text}\n\nx"));
    match note.blocks.last() {
        Some(open) if open.kind == BlockKind::Code && open.span.end == note.text.len() => {
            let fence = note.text[open.span.start..].trim_start();
            let mark = fence.chars().next().unwrap_or('`');
            let length = fence.len() - fence.trim_start_matches(mark).len();
            format!("{text}\n{}", mark.to_string().repeat(length))
        }
        Some(open) if open.kind == BlockKind::Html && open.span.end == note.text.len() => {
            let (before, html) = text.split_at(open.span.start.min(text.len()));
            format!("{before}{}", html.replacen('<', "\\<", 1))
        }
        _ => text.to_owned(),
    }
}

impl Node {
    fn holds(&self, other: &Node) -> bool {
        let (x, y) = (other.x + other.width / 2.0, other.y + other.height / 2.0);
        (self.x..=self.x + self.width).contains(&x) && (self.y..=self.y + self.height).contains(&y)
    }

    fn area(&self) -> f64 {
        self.width * self.height
    }

    /// The Markdown of a card, and whether it has headings.
    fn text(&self) -> Option<(String, bool)> {
        match (&self.text, &self.file, &self.url) {
            (Some(text), ..) => alone(text.trim()),
            (_, Some(file), _) => {
                Some((format!("[[{}{}]]", one_line(file), self.subpath.as_deref().unwrap_or_default()), false))
            }
            (.., Some(url)) => Some((format!("<{}>", one_line(url)), false)),
            _ => None,
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
